/** Worlds with two executions at once: two accounts of one gateway, in one process of n8n. */
import type { World } from '../world.mjs';

/**
 * The same world, with another execution beside the first. To each, the gateway behaves in its own
 * way, and each has to end as if it were alone.
 *
 * @param other what runs beside it; every second one runs the same workflow with the same items
 */
export function besideAnother([one, other]: [World, World]): World {
	const isSame = other.seed % 2 > 0;
	// Both read one list of models.
	const { ids, isPricedByRequest } = one.service;
	const flow = isSame ? one.flow : other.flow;
	const service = { ...(isSame ? one.service : other.service), ids, isPricedByRequest };
	const account = one.flow.account === 0 ? 1 : 0;
	const second = { ...other, flow: { ...flow, account }, service } as World;
	return { ...alone(one), beside: { ...alone(second), begins: one.begins } };
}

/**
 * An execution that is suspended would set the time forward for the other one, and a process that is
 * killed takes both along.
 */
function alone(one: World): World {
	const [run] = one.acts;
	return {
		...one,
		flow: { ...one.flow, parkAfter: undefined, trouble: 'none' },
		acts: [{ ...run!, crashAfter: undefined }],
		checks: [],
	};
}
