/** Worlds whose gateway does not know its own tasks: now and then, or not any more. */
import { SAYS_404 } from '../likelier.mjs';
import type { Flow, World } from '../world.mjs';

/** One world in so many is of either kind. */
const ONE_IN = 16;
const LOST_AT = 4;
const LAGS_AT = 5;

/** Seconds after which nobody expects a task any more. */
export const LOST = 1_000_000;

/** A 404 is followed by a poll as the other kind: an even rhythm would meet a single task always. */
const RHYTHMS = [3, 5, 7];

/** The same world; of some, the gateway loses what was submitted before, or lags behind itself. */
export function outOfSight(one: World): World {
	const { flow, service, seed } = one;
	const place = seed % ONE_IN;
	if (place === LOST_AT && flow.make === 'nothing') {
		return { ...one, service: { ...service, lateSeconds: LOST } };
	}
	if (place !== LAGS_AT || !waits(flow)) return one;
	const every = RHYTHMS[Math.floor(seed / ONE_IN) % RHYTHMS.length]!;
	return {
		...one,
		// Whoever begins anew has not seen a task yet.
		flow: { ...flow, maxWait: 600, tries: 1 },
		service: {
			...service,
			lateSeconds: 0,
			taskSeconds: [90, 400],
			faults: [{ call: 'poll', kind: 'status', skip: 1, times: 1000, every, variant: SAYS_404 }],
		},
	};
}

/** Whether a node of the flow waits for tasks. */
export const waits = ({ make, mode, collect }: Flow): boolean =>
	make === 'nothing'
		? collect === 'imageWait'
		: (make === 'generation' || make === 'edit') &&
			(mode === 'wait' || (mode === 'submit' && collect === 'imageWait'));
