/** Of invariant 4: what a user has set, and the gateway has asked for, holds. */
import type { Played, Step } from '../execution/step.mjs';
import { isTool, survives } from '../execution/workflow.mjs';
import type { Flow } from '../plan/world.mjs';
import type { Received } from '../service/books.mjs';
import { MOVED } from '../service/spoilt-responses.mjs';
import { concurrencyOf, isRetry, runsOf, type Breach, type NodeRun } from './evidence.mjs';
import { offRhythm } from './items/rhythm.mjs';
import { waits } from './waiting.mjs';

const SHORTEST_PAUSE_MS = 1000;
/** A longer one is an end. */
const LONGEST_PAUSE_MS = 300_000;
/** What the way to the gateway takes. */
const TOLERANCE_MS = 50;

export function manners(played: Played): Breach[] {
	const texts = played.steps.flatMap((step, index) => {
		const concurrency = concurrencyOf(step.flow);
		const own = played.service.books.requests.filter((request) => request.step === step.number);
		const runs = runsOf(step, played.steps[index - 1]);
		return [
			...(step.mostOpen > concurrency + (own.some(isListing) ? 1 : 0)
				? [`${step.mostOpen} requests were under way at once, of ${concurrency}`]
				: []),
			...(step.parks > 0 ? tooFastInRounds(step, own) : []),
			...runs.flatMap((run) => ofRun(played, step, run, own)),
			...tooLate(step, own),
			...inVain(step, own),
			...postedAgain(own),
		];
	});
	return texts.map((text) => ({ invariant: 4, text }));
}

/** The listing is asked for beside the others: what it says of its rate must not hold them back. */
const isListing = ({ call }: Received): boolean => call === 'listing';

function ofRun(played: Played, step: Step, run: NodeRun, own: Received[]): string[] {
	const { flow, parks } = step;
	// Each try of Retry On Fail begins anew.
	if (flow.tries > 1 || parks > 0 || isTool(flow)) return [];
	// What is sent in the millisecond in which it ends is of the next round: it waits for no response.
	const requests = own.filter(({ at }) => at >= run.startedAt && at < run.endedAt);
	// Of two waits for one task, neither knows of the other.
	const { books } = played.service;
	const ofOne = requests.filter((request) => !books.isShared(request));
	// Each item of a chain has a model of its own, which does not hear what another one was told.
	const hasSeveral = flow.make === 'chat' && run.input.length > 1;
	return [
		...(hasSeveral ? [] : tooSoon(requests)),
		...tooSoonAgain(run.startedAt + longestWaitMs(flow), ofOne),
		...tooFast(flow, requests),
		...(waits(flow, run) ? [...tooOften(ofOne), ...offRhythm(played, run, flow, ofOne)] : []),
	];
}

/** Until a deadline, or until the execution is suspended: just before either, a task is polled once more. */
export const longestWaitMs = (flow: Flow): number =>
	Math.min(flow.maxWait, survives(flow) ? flow.parkAfter! : Infinity) * 1000;

/** Where a redirect leads: the rest of a request that is under way. */
const isRedirected = ({ call, path }: Received): boolean => call === 'other' || MOVED.test(path);

/** After a 429 with Retry-After the whole run waits for so long; after that of an image, who asks its host. */
function tooSoon(requests: Received[]): string[] {
	const inTurn = requests.filter((request) => !isListing(request) && !isRedirected(request));
	return inTurn.flatMap(({ pause, goneAt, origin }) => {
		// Whoever has given up a request does not hear what it says.
		if (pause === undefined || goneAt !== undefined || pause.to - pause.from > LONGEST_PAUSE_MS)
			return [];
		const early = inTurn.find(
			(one) =>
				one.at > pause.from + TOLERANCE_MS &&
				one.at < pause.to - TOLERANCE_MS &&
				// A host of images asks for itself, and so does the gateway.
				one.origin === origin,
		);
		if (early === undefined) return [];
		return [`a ${early.call} was sent within the time of a Retry-After`];
	});
}

/** After a 503 with Retry-After the same question waits for so long, but for the one at its deadline. */
function tooSoonAgain(deadline: number, requests: Received[]): string[] {
	const unknown = unknownIn(requests);
	return requests.flatMap((request) => {
		const { call, path, at, taskId, goneAt } = request;
		const again = goneAt === undefined ? (request.again ?? 0) : 0;
		if (call === 'poll' && (again > deadline - 2000 || unknown.has(taskId))) return [];
		// A source belongs to all items that take it.
		if (path.includes('/sources/')) return [];
		const early = requests.find(
			(one) => one.path === path && one.at > at && one.at < again - TOLERANCE_MS,
		);
		if (early === undefined || call === 'listing') return [];
		return [`a ${call} was repeated ${early.at - at} ms after a 503, of ${again - at} ms`];
	});
}

/** Tasks that are unknown under their kind: they are looked for under the other, where one may be another's. */
function unknownIn(requests: Received[]): Set<string | undefined> {
	// One that was sent elsewhere may get its 404 there.
	const missed = requests.filter(
		({ call, status = 0 }) =>
			call === 'poll' && (status === 404 || (status >= 300 && status < 400)),
	);
	return new Set(missed.map(({ taskId }) => taskId));
}

/** A rate that a user has set holds in any ten seconds. */
function tooFast({ options, make, as }: Flow, requests: Received[]): string[] {
	const perSecond = Number(options.requestsPerSecond ?? 0);
	if (perSecond <= 0 || make === 'chat' || as === 'loop') return [];
	const sent = requests.filter((request) => !isListing(request) && !isRedirected(request));
	const most = 10 * perSecond + 2;
	const early = sent.find((last, place) => {
		const first = sent[place - most];
		return first !== undefined && last.at - first.at < 10_000 - TOLERANCE_MS;
	});
	return early === undefined ? [] : [`over ${most} requests were sent within 10 s`];
}

/** From one round of checks to the next it takes longer than this; a new run begins with each. */
const ROUND_MS = 4000;

/** The same of one that was suspended: of what is sent within a round. */
function tooFastInRounds({ flow, restarts }: Step, own: Received[]): string[] {
	const perSecond = Number(flow.options.requestsPerSecond ?? 0);
	if (perSecond <= 0 || flow.tries > 1 || restarts > 0 || flow.as === 'loop') return [];
	const sent = own.filter((one) => ['poll', 'download'].includes(one.call) && !isRedirected(one));
	const most = (ROUND_MS / 1000) * perSecond + 2;
	const early = sent.find((last, place) => {
		const first = sent[place - most];
		return first !== undefined && last.at - first.at < ROUND_MS - TOLERANCE_MS;
	});
	return early === undefined ? [] : [`over ${most} requests were sent within one round`];
}

/** A run can do without the list of models: it doesn't wait for it any longer. */
const LISTING_MS = 10_000 + TOLERANCE_MS;

/** A request that a user does not want to wait for any longer is given up. */
function tooLate({ flow }: Step, own: Received[]): string[] {
	const timeoutMs = Number(flow.options.timeout ?? Infinity) * 1000;
	const late = own.find(({ at, goneAt = at }) => goneAt - at > timeoutMs + TOLERANCE_MS);
	const held = own.find((one) => isListing(one) && (one.goneAt ?? one.at) - one.at > LISTING_MS);
	if (held !== undefined && flow.make !== 'models') {
		return [`the list of models was waited for ${held.goneAt! - held.at} ms`];
	}
	if (late === undefined) return [];
	return [`a ${late.call} was given up after ${late.goneAt! - late.at} ms, of ${timeoutMs} ms`];
}

/** By these redirects the same request is meant; by the others, a page to look at. */
const SAME_REQUEST = /^30[78] to/;

/** What is paid for is not sent to another place by a redirect that does not mean it. */
function postedAgain(own: Received[]): string[] {
	const again = own.filter(({ call, method }) => call === 'other' && method === 'POST');
	const meant = own.filter(({ method, fate }) => method === 'POST' && SAME_REQUEST.test(fate));
	return again.length <= meant.length ? [] : ['a request was sent again after a 301 or 302'];
}

/** An agent gets addresses: what was downloaded for it would be dropped. */
function inVain(step: Step, own: Received[]): string[] {
	// n8n's Retry runs the tool on its own, without its agent.
	if (!isTool(step.flow) || isRetry(step)) return [];
	const loaded = own.find(({ call, path }) => call === 'download' && path.includes('/pictures/'));
	return loaded === undefined ? [] : [`a tool downloaded ${loaded.path}`];
}

/** A task is polled once a second at the most. */
function tooOften(requests: Received[]): string[] {
	const last = new Map<string, Received>();
	const unknown = unknownIn(requests);
	return requests.flatMap((request) => {
		const { call, kind, taskId, at } = request;
		if (call !== 'poll' || unknown.has(taskId)) return [];
		const name = `${kind} task ${taskId}`;
		const before = last.get(name);
		last.set(name, request);
		if (before === undefined || before.status === 429) return [];
		return at - before.at >= SHORTEST_PAUSE_MS - TOLERANCE_MS
			? []
			: [`the ${name} was polled again after ${at - before.at} ms`];
	});
}
