/** Worlds in which a person renews the key of the credential, or changes how long to wait. */
import { seeded } from '../../../../simulator/seed.mjs';
import type { Action, World } from '../world.mjs';

/** Its random numbers are drawn apart: the other worlds of the same seeds stay what they are. */
const STREAM = 77_000_000;
const SHARE = 0.25;

type Pick = <T>(...choices: [T, ...T[]]) => T;

/** The same world; every fourth one with one of these besides. */
export function withMore(one: World): World {
	const random = seeded(one.seed + STREAM);
	const pick: Pick = (...choices) => choices[Math.floor(random() * choices.length)]!;
	return random() < SHARE ? pick(renewed, waitedFor)(one, pick) : one;
}

/** The key stops working midway, or not at all, and is renewed. */
function renewed(one: World, pick: Pick): World {
	const { flow } = one;
	const [first, second] = one.actions as [Action, ...Action[]];
	const refusesKeyAfter = pick(1, 2, 3, 4, 6, 8, 12, undefined);
	const refusesOldKey = pick(true, false);
	// Calls of a tool that are made at once would find another key while they run.
	if (pick(true, false) && !(flow.together && flow.as.endsWith('Tool'))) {
		const action: Action = { ...first, refusesKeyAfter, renewsKey: 'midway', refusesOldKey };
		return {
			...one,
			flow: { ...flow, tries: pick(1, 2, 3) },
			actions: [action, ...one.actions.slice(1)],
		};
	}
	// Another account has nothing of what was begun with the old key.
	const isOwn = second?.kind === 'retryEdited' && second.edit !== 'account';
	const again: Action = isOwn ? second : { kind: 'retry', edit: 'prompt' };
	return retriedOnce(one, { refusesKeyAfter }, { ...again, renewsKey: 'before', refusesOldKey });
}

/** What was not waited for long enough is waited for longer. */
function waitedFor(one: World, pick: Pick): World {
	const { flow, service } = one;
	const maxWait = pick(flow.maxWait, 1, 5);
	const made = { ...one, flow: { ...flow, maxWait } };
	const again: Action = { kind: 'retryEdited', edit: 'wait' };
	if (pick(true, false)) return retriedOnce(made, {}, again);
	const taskSeconds: [number, number] = [3, 30];
	return retriedOnce({ ...made, service: { ...service, taskSeconds } }, {}, again);
}

function retriedOnce(one: World, changes: Partial<Action>, again: Action): World {
	const [first] = one.actions as [Action, ...Action[]];
	const calm = { ...first, stopAfter: undefined, crashAfter: undefined, ...changes };
	return { ...one, flow: { ...one.flow, onError: 'stopWorkflow' }, actions: [calm, again] };
}
