/** Worlds in which a crash ends the run, and Retry finds the rows in another order, or a new one in front. */
import type { PlannedItem, Shift, World } from '../world.mjs';

/** The same world, with such a crash if it has one; its gateway knows payments by their keys. */
export function shifted(one: World): World {
	const { shift, flow, service, actions } = one;
	if (shift === undefined) return one;
	// What has come back to a node is known by its round, which another order of faults may change; a call of
	// a tool by its number, which a refused one has taken too (docs/errors-and-charges.md, "With an Idempotency Header").
	if (!['node', 'loop'].includes(flow.as)) return { ...one, shift: undefined };
	const [run, ...others] = actions;
	return {
		...one,
		actions: [
			{ ...run!, stopAfter: undefined, crashAfter: shift.crashAfter },
			{ kind: 'retryCrashed', edit: 'prompt', pause: shift.pause },
			...others,
		],
		flow: {
			...flow,
			make: flow.make === 'nothing' ? 'generation' : flow.make,
			// What n8n has stored in between, Retry finds as it was.
			savesProgress: false,
			isStored: false,
		},
		service: { ...service, keys: 'honored' },
	};
}

/** The rows as they are after the crash. */
export function rowsAfter(rows: PlannedItem[], { order, front }: Shift): PlannedItem[] {
	const moved = {
		same: rows,
		reversed: [...rows].reverse(),
		rotated: [...rows.slice(1), ...rows.slice(0, 1)],
	}[order];
	return front === undefined ? moved : [front, ...moved];
}
