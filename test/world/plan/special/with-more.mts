/**
 * Worlds in which a person renews the key of the credential, changes how long to wait, or opens the
 * nodes in the editor before a retry; a gateway that brings more or fewer images than were asked for, or says in a 200 why it refuses.
 */
import { seeded } from '../../../../simulator/seed.mjs';
import { SAYS_ERROR } from '../../service/response-shapes.mjs';
import type { Action, World } from '../world.mjs';

/** Its random numbers are drawn apart: the other worlds of the same seeds stay what they are. */
const STREAM = 77_000_000;
const SHARE = 0.25;

type Pick = <T>(...choices: [T, ...T[]]) => T;

/** The same world; every fourth one with one of these besides. */
export function withMore(one: World): World {
	const random = seeded(one.seed + STREAM);
	const pick: Pick = (...choices) => choices[Math.floor(random() * choices.length)]!;
	return random() < SHARE
		? pick(renewed, waitedFor, miscounted, refusedInWords, opened)(one, pick)
		: one;
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

/** The nodes are opened and saved before the retry, and each try has another seed. */
function opened(one: World): World {
	const seeded = one.flow.make === 'generation' || one.flow.make === 'edit';
	const flow = { ...one.flow, seeded, extra: undefined };
	return retriedOnce({ ...one, flow }, {}, { kind: 'retryEdited', edit: 'opened' });
}

function retriedOnce(one: World, changes: Partial<Action>, again: Action): World {
	const [first] = one.actions as [Action, ...Action[]];
	const calm = { ...first, stopAfter: undefined, crashAfter: undefined, ...changes };
	return { ...one, flow: { ...one.flow, onError: 'stopWorkflow' }, actions: [calm, again] };
}

/** Of each request, the gateway brings so many images more. */
function miscounted(one: World, pick: Pick): World {
	const surplus = pick([-1], [1], [3], [-2, 0, 2], [0, -1, 1]);
	const isPricedByRequest = pick(true, false);
	const flow = {
		...one.flow,
		items: one.flow.items.map((item) => ({ ...item, n: pick(1, 2, 3) })),
	};
	return { ...one, flow, service: { ...one.service, surplus, isPricedByRequest } };
}

/** `{ error: { message } }`, with the status 200. */
function refusedInWords(one: World, pick: Pick): World {
	const fault = {
		call: pick('paid' as const, 'paid' as const, 'poll' as const, 'listing' as const),
		kind: 'shape' as const,
		skip: pick(0, 0, 1, 2),
		times: pick(1, 3, 1000),
		variant: SAYS_ERROR,
	};
	return { ...one, service: { ...one.service, faults: [fault, ...one.service.faults] } };
}
