/** Invariants 5 to 7: nothing happens after the end or a Stop, the key stays at home, every run ends. */
import type { Played, Step } from '../execution/step.mjs';
import { keyFor, keyIn, SECRETS } from '../service/accounts-of-world.mjs';
import type { Received } from '../service/books.mjs';
import { KEY_HEADER } from '../service/keys-of-world.mjs';
import { ELSEWHERE } from '../service/spoilt-responses.mjs';
import type { Breach } from './evidence.mjs';
import { textOf } from '../execution/text-of.mjs';

/** What an execution may take from a Stop to its end; the engine still pauses between its tries. */
const LONGEST_END_MS = 1000;

/** Invariants 5 and 7. */
export function afterwards({ steps, unhandled, service }: Played): Breach[] {
	const { requests } = service.books;
	const left = steps.flatMap((step): string[] => {
		if (step.ended === 'crashed') return [];
		const { number, leftTimers, leftRequests, lateRequests } = step;
		return [
			...afterStop(step, requests),
			...(leftTimers > 0 ? [`action ${number} left ${leftTimers} timers`] : []),
			...(leftRequests > 0 ? [`action ${number} left ${leftRequests} requests`] : []),
			...(lateRequests > 0 ? [`${lateRequests} requests were sent after action ${number}`] : []),
		];
	});
	if (unhandled.length > 0) left.push(`unhandled: ${unhandled[0]}`);
	const endless = steps
		.filter(({ ended }) => ['deadlock', 'deadline', 'tooManyRequests'].includes(ended))
		.map((step) => ({ invariant: 7, text: `action ${step.number} never ends: ${step.ended}` }));
	return [...left.map((text) => ({ invariant: 5, text })), ...endless];
}

/** From a Stop on no request begins, and the run ends at once. */
function afterStop(step: Step, requests: Received[]): string[] {
	const { number, stoppedAt, endedAt, suspensions, restarts, flow } = step;
	if (stoppedAt === undefined) return [];
	// Who checks tasks for a suspended execution finds out at its next check.
	if (suspensions > 0) return restarts > 0 ? [] : afterNextCheck(step, requests);
	const late = requests.filter((request) => request.step === number && request.at > stoppedAt);
	return [
		...(late.length > 0 ? [`action ${number} sent ${late.length} requests after its Stop`] : []),
		...(endedAt > stoppedAt + flow.tries * LONGEST_END_MS
			? [`action ${number} went on after its Stop`]
			: []),
	];
}

/** One check has polled everything by then, however slowly the gateway responds. */
const LONGEST_CHECK_MS = 45_000;

function afterNextCheck({ number, stoppedAt = 0 }: Step, requests: Received[]): string[] {
	const own = requests.filter((request) => request.step === number);
	const late = own.filter(({ call, at }) => call === 'poll' && at > stoppedAt + LONGEST_CHECK_MS);
	// Whoever is told to wait finds out later.
	const isSlow = own.some(({ status }) => status === 429);
	return isSlow || late.length === 0 ? [] : [`action ${number} still polled long after its Stop`];
}

/** What may be at another place than the gateway; the key is shown to all else at the gateway itself. */
const ANYWHERE = ['download', 'listing'];

/** Invariant 6. */
export function secrets(played: Played): Breach[] {
	const { service, steps } = played;
	const { requests } = service.books;
	const home = new URL(service.origin).origin;
	// Where the list of models lies apart, it may send its readers on.
	const lists = requests.filter(({ call }) => call === 'listing').map(({ origin }) => origin);
	const sent = requests.flatMap((request) => {
		const { origin, call, method, path, headers, number, spills } = request;
		const names = Object.entries(headers)
			.filter(([, value]) => SECRETS.some((key) => value.includes(key)))
			.map(([name]) => name);
		const isHome = origin === home;
		const allowed = isHome && !ANYWHERE.includes(call) ? ['authorization', 'x-api-key'] : [];
		// Also where a paid request was redirected to.
		const isPaid = method === 'POST' && isHome;
		const { flow } = steps.find((step) => step.number === request.step)!;
		const mayLeave =
			ANYWHERE.includes(call) || path === ELSEWHERE || (call === 'other' && lists.includes(origin));
		const wrong = [
			...(names.every((name) => allowed.includes(name)) ? [] : ['carries a key']),
			...(names.length === 0 || keyIn(headers) === keyFor(flow) ? [] : ['has the key of another']),
			...(spills ? ['has a key in its address or body'] : []),
			...(isHome || mayLeave ? [] : ['has left the gateway']),
			...(KEY_HEADER in headers && !isPaid ? ['carries the key of a payment'] : []),
		];
		return wrong.map((what) => `request ${number} (${call} to ${origin}) ${what}`);
	});
	const shown = steps.flatMap((step) =>
		showsKey(step) ? [`action ${step.number} shows a key`] : [],
	);
	return [...sent, ...shown].map((text) => ({ invariant: 6, text }));
}

/** Whether a key is in what is shown of an action, or stored. */
function showsKey({ result, saved }: Step): boolean {
	const { data, error, workflow } = result ?? {};
	const text = [textOf([data, error, workflow?.staticData]), ...saved]
		.join('\n')
		.replace(/\\+u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
	return SECRETS.some((key) => text.includes(key));
}
