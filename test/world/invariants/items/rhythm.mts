/** Of invariant 4: a task is polled about as often as a user wants, and once more at its deadline. */
import type { Played, Step } from '../../execution/step.mjs';
import { COLLECT, isTool, survives } from '../../execution/workflow.mjs';
import type { Flow } from '../../plan/world.mjs';
import type { Received } from '../../service/books.mjs';
import { hasArrived, isFailed, isRetry, type NodeRun } from '../evidence.mjs';

/** Of what is set, a pause is between these shares, and no shorter than a second. */
const SHORTEST_SHARE = 2 / 3;
const LONGEST_SHARE = 5 / 3;
const SHORTEST_PAUSE_MS = 1000;
const TOLERANCE_MS = 50;
/** The last poll comes so long before the deadline. */
const LAST_LEAD_MS = 1100;
/** What is put off to the deadline, the response, and what goes out together. */
const LONGER_MS = 2500;
/** For so long after its deadline a task waits for its turn. */
const LATE_TURN_MS = 29_000;

/** @param requests of a run that waits */
export function offRhythm(
	{ service: { books }, world }: Played,
	{ startedAt }: NodeRun,
	flow: Flow,
	requests: Received[],
): string[] {
	const { requestsPerSecond = 20, concurrency = 10 } = flow.options;
	const isQuick =
		Number(requestsPerSecond) % 20 === 0 &&
		Number(concurrency) >= 10 &&
		books.requests.every(({ status }) => status !== 429) &&
		world.service.faults.every(({ call }) => call === 'paid' || call === 'listing');
	const interval = 1000 * flow.pollInterval;
	const shortest = Math.max(SHORTEST_PAUSE_MS, SHORTEST_SHARE * interval) - TOLERANCE_MS;
	const longest = isQuick ? LONGEST_SHARE * interval + LONGER_MS : Infinity;
	const window = survives(flow) ? flow.parkAfter! : Infinity;
	const last = startedAt + 1000 * Math.min(flow.maxWait, window) - LAST_LEAD_MS;
	const before = new Map<string, Received>();
	return requests.flatMap((request): string[] => {
		const { call, kind, taskId, at } = request;
		if (call !== 'poll' || books.isAmbiguous(taskId)) return [];
		const name = `${kind} task ${taskId}`;
		const earlier = before.get(name);
		before.set(name, request);
		if (earlier?.meaning !== 'open' || !hasArrived(earlier)) return [];
		const pause = at - earlier.at;
		if (pause > longest || (pause < shortest && at < last)) {
			return [`the ${name} was polled after ${pause} ms, every ${flow.pollInterval} s were set`];
		}
		return [];
	});
}

interface Details {
	taskId?: string;
	taskType?: string;
}

/** How much later than the deadline a response may come. */
const LATE_RESPONSE_MS = 2500;

/** A response that is on its way at the deadline is waited for a moment longer. */
function wasCutOff(poll: Received | undefined, deadline: number, { options }: Flow): boolean {
	const { at, goneAt, dueAt = Infinity } = poll ?? {};
	if (at === undefined || goneAt === undefined) return false;
	const isTimedOut = goneAt - at >= Number(options.timeout ?? Infinity) * 1000 - TOLERANCE_MS;
	return !isTimedOut && goneAt >= deadline - TOLERANCE_MS && dueAt < deadline + LATE_RESPONSE_MS;
}

/** Of a task that is given up, something was said, or it was polled once more at its deadline. */
export function neverTold(played: Played, step: Step, run: NodeRun): string[] {
	const { books } = played.service;
	const { flow, parks } = step;
	const isOnce = flow.tries === 1 && parks === 0 && !survives(flow) && !isTool(flow);
	if (!isOnce || flow.as === 'loop' || isRetry(step)) return [];
	const { outputs, error, startedAt, endedAt } = run;
	const all = [
		{ message: (error as Error | undefined)?.message, details: detailsOf(error) },
		...outputs
			.flat()
			.filter(isFailed)
			.map(({ json }) => ({ message: json.error, details: json.details as Details | undefined })),
	];
	return all.flatMap(({ message, details }) => {
		const { taskId } = details ?? {};
		const isOpen = /was still open after|couldn't be checked within/.test(String(message));
		if (!isOpen || taskId === undefined || books.isAmbiguous(taskId)) return [];
		const polls = books.requests.filter(
			(one) =>
				one.call === 'poll' &&
				one.taskId === taskId &&
				one.step === step.number &&
				one.at >= startedAt &&
				one.at <= endedAt,
		);
		const charge = books.charges.find((one) => one.taskId === taskId);
		const since = run.node === COLLECT ? startedAt : charge?.heardAt;
		if (since !== undefined && wasCutOff(polls.at(-1), since + 1000 * flow.maxWait, flow)) {
			return [`task ${taskId} was given up just before the response to its last poll`];
		}
		// A quota that is used up does not pass.
		const isTold = polls.some(
			({ status, goneAt, fate }) =>
				status !== 429 || goneAt !== undefined || fate.includes('quota'),
		);
		if (since === undefined || isTold || polls.length === 0) return [];
		const deadline = since + 1000 * flow.maxWait;
		const isOver = polls.at(-1)!.at >= deadline - TOLERANCE_MS;
		if (isOver || endedAt >= deadline + LATE_TURN_MS) return [];
		return [`task ${taskId} was given up, though its polls were only refused for the rate`];
	});
}

const detailsOf = (error: unknown): Details | undefined =>
	(error as { context?: { details?: Details } } | undefined)?.context?.details;
