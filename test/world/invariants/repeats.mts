/** Of invariants 1 and 7: nothing is sent again in vain, and nobody asks about what is gone. */
import type { Played, Step } from '../execution/step.mjs';
import { COLLECT, isTool, MAKE, survives } from '../execution/workflow.mjs';
import type { Flow } from '../plan/world.mjs';
import type { Received } from '../service/books.mjs';
import { hasArrived, runsOf, type Breach } from './evidence.mjs';

/** A request that is refused for its rate is sent so many times, any other one so many. */
const MOST_RATE_LIMITED = 15;
const MOST_ATTEMPTS = 6;
/** A balance that is empty stays so. */
const MOST_QUOTA = 2;
/** From here on, and after so many 404s in a row, nobody hopes for a task any more. */
const GONE_MS = 45_000;
const MANY_MISSES = 8;
/** Nobody waits for longer than this because the gateway says so. */
const LONGEST_PAUSE_MS = 300_000;
/** What a wait may take beyond its deadline: until n8n looks again for what is due, and its last response. */
const LEAD_MS = 40_000;
const LEAD_OF_PARKED_MS = 120_000;
const CRASH_MS = 90_000;
/** Whoever polls polls again within so long. */
const LONGEST_GAP_MS = 60_000;

export function repeats(played: Played): Breach[] {
	const { books } = played.service;
	return played.steps.flatMap((step, index) => {
		const own = books.requests.filter((request) => request.step === step.number);
		return [
			...tooManyTimes(
				step,
				own.filter((request) => !books.isShared(request)),
			),
			...waitedOut(step, own),
			...stretchesOf(step, played.steps[index - 1], own).flatMap((stretch) => [
				...afterItsEnd(played, stretch),
				...(mayPollAgain(step) ? [] : afterItsRefusal(played, stretch)),
			]),
			...pastItsDeadline(step, own),
		];
	});
}

/** Whether what one wait has read is no longer known, or another one may begin in its last millisecond. */
const mayPollAgain = ({ restarts, flow }: Step): boolean => restarts > 0 || flow.as === 'loop';

/** How often a flow may begin anew with the same thing. */
export function timesOf({ as, rounds, tries, again }: Flow): number {
	return tries * (as === 'loop' ? rounds : 1) * (as.endsWith('Tool') ? again + 1 : 1);
}

const isPaid = ({ call }: Received): boolean => ['submit', 'sync', 'message'].includes(call);

/** Refused for good: whatever is sent again gets the same. */
const isFinal = (request: Received): boolean => {
	const { status = 0 } = request;
	return status >= 400 && status < 500 && ![408, 425, 429].includes(status) && hasArrived(request);
};

function tooManyTimes(step: Step, own: Received[]): Breach[] {
	const { flow, restarts } = step;
	const times = timesOf(flow) * (restarts + 1);
	// A model that has called its tool is asked again.
	const asked = flow.make === 'chat' && flow.calls ? 2 : 1;
	const many = asked * times * Math.max(1, flow.items.length);
	const prompts = new Map<string, number>();
	const groups = new Map<string, { requests: Received[]; times: number }>();
	for (const request of own) {
		const prompt = String(request.prompt);
		if (isPaid(request) && request.fate.includes('quota')) {
			prompts.set(prompt, (prompts.get(prompt) ?? 0) + 1);
		}
		const isPicture = request.path.startsWith('/pictures/');
		const isCounted = isPicture || request.call === 'listing' || isPaid(request);
		if (!isCounted) continue;
		const name = isPaid(request) ? 'the paid request' : `${request.call} ${request.path}`;
		const group = groups.get(name) ?? { requests: [], times: isPicture ? times : many };
		group.requests.push(request);
		groups.set(name, group);
	}
	const spent = [...prompts].flatMap(([prompt, count]) => {
		const own = flow.items.filter((item) => prompt.endsWith(`${item.prompt}${step.edited}`)).length;
		const most = MOST_QUOTA * times * Math.max(1, own);
		return count > most ? [`"${prompt}" was sent ${count} times without a quota`] : [];
	});
	const tooMany = [...groups].flatMap(([name, group]): string[] => {
		const count = group.requests.length;
		const other = group.requests.filter(({ status }) => status !== 429).length;
		const final = group.requests.filter(isFinal).length;
		const said =
			count > MOST_RATE_LIMITED * group.times || other > MOST_ATTEMPTS * group.times
				? `${count} times`
				: final > group.times
					? 'again after it was refused for good'
					: undefined;
		return said === undefined ? [] : [`${name} was sent ${said}`];
	});
	return [...spent, ...tooMany].map((text) => ({ invariant: 7, text }));
}

/** A pause that is too long is an end. */
function waitedOut({ flow }: Step, own: Received[]): Breach[] {
	if (flow.tries > 1 || isTool(flow) || flow.as === 'loop') return [];
	return own.flatMap(({ pause, prompt, ...request }): Breach[] => {
		const isEndless = pause !== undefined && pause.to - pause.from > LONGEST_PAUSE_MS;
		if (!isEndless || prompt === undefined || !isPaid({ prompt, ...request })) return [];
		const late = own.find((one) => one.prompt === prompt && one.at >= pause.to - 1000);
		const text = `the paid request for "${prompt}" waited for hours, because the gateway said so`;
		return late === undefined ? [] : [{ invariant: 7, text }];
	});
}

/** The requests of one wait for each task. */
export function stretchesOf(step: Step, earlier: Step | undefined, own: Received[]): Received[][] {
	const { flow } = step;
	if (flow.tries > 1 || isTool(flow)) return [];
	if (step.parks > 0) return flow.as === 'loop' ? [] : [own];
	return runsOf(step, earlier)
		.filter(({ node }) => node === MAKE || node === COLLECT)
		.map((run) => own.filter(({ at }) => at >= run.startedAt && at < run.endedAt));
}

/** Of a task that the gateway does not know, and is old enough to be known, nobody hopes for more. */
function afterItsEnd({ service: { books } }: Played, requests: Received[]): Breach[] {
	const misses = new Map<string, { since: number; count: number }>();
	return requests.flatMap((request): Breach[] => {
		const { call, kind, taskId, at, meaning } = request;
		if (call !== 'poll' || taskId === undefined) return [];
		const task = books.task(String(kind), taskId);
		if (task === undefined || books.isAmbiguous(taskId)) return [];
		const name = `${kind} ${taskId}`;
		const before = misses.get(name) ?? { since: at, count: 0 };
		if (meaning !== 'missing') misses.delete(name);
		else if (hasArrived(request)) misses.set(name, { ...before, count: before.count + 1 });
		const isGone =
			before.count >= MANY_MISSES && at - Math.max(before.since, task.createdAt) >= GONE_MS;
		if (!isGone) return [];
		misses.delete(name);
		const seconds = Math.round((at - before.since) / 1000);
		const text = `the ${name} was still polled after ${seconds} s of 404`;
		return [{ invariant: 7, text }];
	});
}

/** A refusal that no time changes ends the wait, and so does the end of the task. */
function afterItsRefusal({ service: { books } }: Played, requests: Received[]): Breach[] {
	const refused = new Map<string, Received>();
	return requests.flatMap((request): Breach[] => {
		const { call, kind, taskId, status = 0 } = request;
		// What is refused where a task was only looked for says nothing about it.
		const isItsKind = books.kindsOf(taskId).join() === kind;
		if (call !== 'poll' || !isItsKind || books.isAmbiguous(taskId)) return [];
		const name = `${kind} task ${taskId}`;
		const before = refused.get(name);
		if (isFinal(request) && status !== 404) refused.set(name, request);
		const isOver = request.meaning === 'failed' || request.meaning === 'success';
		if (isOver && status === 200 && hasArrived(request)) refused.set(name, request);
		if (before === undefined) return [];
		return [{ invariant: 7, text: `the ${name} was polled again after ${before.fate}` }];
	});
}

/** All waits for a task together take no longer than they may. */
function pastItsDeadline(step: Step, own: Received[]): Breach[] {
	const { flow, parks, restarts } = step;
	const collects = flow.make === 'nothing' || flow.mode === 'submit';
	if (collects ? flow.collect !== 'imageWait' : flow.mode !== 'wait') return [];
	const { requestsPerSecond = 20 } = flow.options;
	// A question waits for its turn, and longer where the gateway has asked for a pause.
	const isSlow = Number(requestsPerSecond) % 20 > 0 || own.some(({ status }) => status === 429);
	if (isSlow && (parks > 0 || survives(flow))) return [];
	const lead = survives(flow) ? LEAD_OF_PARKED_MS + restarts * CRASH_MS : LEAD_MS;
	const each = flow.maxWait * 1000 + lead + (isSlow ? 60_000 : 0);
	// An agent that asks for the same again waits for the same task.
	const most = timesOf(flow) * (isTool(flow) ? flow.items.length : 1) * each;
	const spent = new Map<string, { last: number; ms: number }>();
	for (const { call, kind, taskId, at } of own) {
		if (call !== 'poll') continue;
		const name = `${kind} task ${taskId}`;
		const { last, ms: before } = spent.get(name) ?? { last: at, ms: 0 };
		// Between two tries, or two calls of a tool, it may wait for the requests of other items.
		const isNew = (timesOf(flow) > 1 || isTool(flow)) && at - last > LONGEST_GAP_MS;
		const ms = before + (isNew ? 0 : at - last);
		spent.set(name, { last: at, ms });
		if (ms <= most) continue;
		const text = `the ${name} was polled for ${Math.round(ms / 1000)} s, of ${flow.maxWait} s`;
		return [{ invariant: 7, text }];
	}
	return [];
}
