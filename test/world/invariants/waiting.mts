/** Of invariants 4 and 7: what fails has a reason, and nobody waits too long or too short. */
import type { Played, Step } from '../execution/step.mjs';
import { COLLECT, isTool, MAKE } from '../execution/workflow.mjs';
import { UNPUBLISHED } from '../plan/more-settings.mjs';
import { passes } from '../plan/special/passing.mjs';
import type { Flow } from '../plan/world.mjs';
import type { Received } from '../service/books.mjs';
import { KEY_REFUSED } from '../service/accounts-of-world.mjs';
import { PRICE } from '../service/published-models.mjs';
import { pricesAreTrue } from './accounting.mjs';
import {
	callsOf,
	concurrencyOf,
	hasArrived,
	historyOf,
	isFailed,
	isRetry,
	runsOf,
	shownBy,
	triesOf,
	type Breach,
	type NodeRun,
} from './evidence.mjs';
import { extraOf, isSound } from './wanted.mjs';
import { neverTold } from './items/rhythm.mjs';

/** A task that was submitted less than this ago may only not be visible yet. */
const YOUNG_MS = 25_000;
const LEAD_MS = 3000;
/** So long after its deadline a poll may still be sent that had to wait for its turn. */
const LATE_TURN_MS = 32_000;

export function waiting(played: Played): Breach[] {
	return played.steps.flatMap((step, index) => {
		if (step.ended !== 'done') return [];
		const runs = runsOf(step, played.steps[index - 1]);
		return [
			...runs.flatMap((run) => [
				...tooShort(played, step, run),
				...tooLong(played, step, run),
				...notAtTheEnd(played, step, run),
				...(waits(step.flow, run) ? neverTold(played, step, run) : []).map((text) => ({
					invariant: 4,
					text,
				})),
			]),
			...withoutReason(played, step, runs),
			...neverAgain(played, step),
		];
	});
}

/** Whether this run of a node waits for its tasks. */
export function waits(flow: Flow, { node }: NodeRun): boolean {
	return node === COLLECT ? flow.collect === 'imageWait' : flow.mode === 'wait' && node === MAKE;
}

/** A wait for a paid task ends before its deadline only if the gateway has said that it is over. */
function tooShort(played: Played, step: Step, run: NodeRun): Breach[] {
	const { service } = played;
	const { flow } = step;
	if (!waits(flow, run) || wasParked(played, step)) return [];
	const deadline = run.startedAt + flow.maxWait * 1000 - LEAD_MS;
	if (run.endedAt >= deadline) return [];
	// What an earlier try has seen of a task, a later one does not know.
	const { count, lastAt } = triesOf(step, run);
	const since = count > 1 ? lastAt : run.startedAt;
	const failed = run.outputs.flat().filter(isFailed);
	const details = failed.map(({ json }) => json.details as Details | undefined);
	const context = (run.error as { context?: { details?: Details } } | undefined)?.context;
	return [...details, context?.details].flatMap((one): Breach[] => {
		const { taskId, taskType } = one ?? {};
		if (taskId === undefined || service.books.isAmbiguous(taskId)) return [];
		const polls = service.books.requests.filter(
			(request) =>
				request.call === 'poll' &&
				request.taskId === taskId &&
				request.step === step.number &&
				(taskType === undefined || request.kind === taskType) &&
				request.at >= since &&
				request.at <= run.endedAt,
		);
		const last = polls.at(-1);
		// What was there a moment ago, as far as the node could hear, is not gone because of one 404.
		const before = polls.at(-2);
		const wasHeard = before?.meaning === 'open' && hasArrived(before);
		const wasThere = taskType !== undefined && wasHeard;
		const task = service.books.task(String(taskType ?? last?.kind), taskId);
		if (last?.meaning === undefined || task === undefined) return [];
		// Where it is missing as what it was asked for, the error names the kind as which it was found.
		const isOther = played.input.some(
			({ taskId: id, taskType: as }) =>
				id === taskId && as !== undefined && as !== 'auto' && as !== taskType,
		);
		if (isOther && last.meaning === 'open') return [];
		// One that has been seen is no longer one that may not be visible yet.
		const wasSeen = polls.some(({ meaning }) => meaning === 'open');
		const isYoung = last.at - task.createdAt < YOUNG_MS && !wasSeen;
		const isOfUnknownAge = played.input.some(
			(item) => item.taskId === taskId && item.submittedAt === undefined,
		);
		const mayPass =
			['passing', 'open'].includes(last.meaning) ||
			(last.meaning === 'missing' && (wasThere || (isYoung && !isOfUnknownAge)));
		if (!mayPass) return [];
		const after = Math.round((run.endedAt - run.startedAt) / 1000);
		const text = `${run.node} gave up task ${taskId} after ${after} s of ${flow.maxWait} s, when the gateway said: ${last.fate}`;
		return [{ invariant: 4, text }];
	});
}

/** n8n's Retry execution of one that has failed after a park only repeats its error. */
function wasParked(played: Played, step: Step): boolean {
	return historyOf(played, step).some(({ parks }) => parks > 0);
}

interface Details {
	taskId?: string;
	taskType?: string;
}

const isPoll = ({ call }: Received): boolean => call === 'poll';

/** Nobody asks about a task after its deadline. */
function tooLong(played: Played, step: Step, run: NodeRun): Breach[] {
	const { flow } = step;
	if (!waits(flow, run) || wasParked(played, step) || flow.tries > 1) return [];
	const { charges, requests } = played.service.books;
	const { requestsPerSecond = 20 } = flow.options;
	const own = requests.filter(
		({ at, step: of }) => of === step.number && at >= run.startedAt && at <= run.endedAt,
	);
	// A poll waits for its turn behind others that take long, or that the gateway has asked to pause:
	// an execution knows of the limits that an earlier one has found.
	const known = requests.filter(({ at }) => at <= run.endedAt);
	const isSlow = Number(requestsPerSecond) % 20 > 0 || known.some(({ status }) => status === 429);
	const isBehind = isSlow || step.mostOpen >= concurrencyOf(flow);
	const lead = isBehind ? LATE_TURN_MS : LEAD_MS;
	const late = own.find(({ call, at, taskId, kind }) => {
		if (call !== 'poll') return false;
		const ofTask = charges.filter((one) => one.taskId === taskId);
		// One that is unknown under its kind is looked for under the other.
		const charge = ofTask.find((one) => one.kind === kind) ?? ofTask[0];
		// What an earlier try or execution has submitted is waited for once the listing has come.
		const { heardAt = 0 } = charge ?? {};
		const heard = heardAt > run.startedAt ? heardAt : own.find(isPoll)?.at;
		const since = (run.node === COLLECT ? undefined : heard) ?? run.startedAt;
		return at > Math.max(since, run.startedAt) + flow.maxWait * 1000 + lead;
	});
	if (late === undefined) return [];
	return [{ invariant: 7, text: `${run.node} asked about ${late.taskId} after its deadline` }];
}

/** Whoever gives up a task has asked about it just before. */
function notAtTheEnd({ world, service }: Played, step: Step, run: NodeRun): Breach[] {
	const { flow } = step;
	const { requestsPerSecond = 20, concurrency = 10 } = flow.options;
	const isQuick =
		Number(requestsPerSecond) % 20 === 0 &&
		Number(concurrency) >= 10 &&
		service.books.requests.every(({ status }) => status !== 429) &&
		world.service.faults.every(({ call }) => call === 'paid' || call === 'listing');
	if (!isQuick || run.node !== COLLECT || flow.collect !== 'imageWait') return [];
	if (flow.tries > 1 || step.parks > 0 || isTool(flow)) return [];
	const lastFrom = run.startedAt + flow.maxWait * 1000 - LEAD_MS;
	if (run.endedAt < lastFrom) return [];
	return run.outputs.flat().flatMap((item): Breach[] => {
		const details = item.json.details as Details | undefined;
		const isOpen = isFailed(item) ? details?.taskId !== undefined : item.json.url === undefined;
		const { taskId } = { ...item.json, ...details } as Details;
		const polls = service.books.requests.filter(
			({ call, taskId: of, at, step: when }) =>
				call === 'poll' &&
				of === taskId &&
				when === step.number &&
				at >= run.startedAt &&
				at <= run.endedAt,
		);
		const last = polls.at(-1);
		if (!isOpen || last?.meaning !== 'open' || last.at >= lastFrom) return [];
		const seconds = Math.round((run.endedAt - last.at) / 1000);
		const text = `${run.node} gave up task ${taskId}, which it had not asked about for ${seconds} s`;
		return [{ invariant: 4, text }];
	});
}

/** Where nothing goes wrong, or only what passes, everything succeeds. */
function withoutReason(played: Played, step: Step, runs: NodeRun[]): Breach[] {
	const { world, input } = played;
	const { service, checks } = world;
	const { requests } = played.service.books;
	const { result, number, flow } = step;
	const { timeout, budget, requestsPerSecond } = flow.options;
	const calm =
		isSound(flow) &&
		// Two numbers of images that differ are refused.
		extraOf(flow)?.count === undefined &&
		// What has failed after it was suspended, a retry only repeats.
		requests.every(
			({ step: of, fate }) => fate !== KEY_REFUSED || (of !== number && !wasParked(played, step)),
		) &&
		flow.more?.size !== UNPUBLISHED &&
		input.every(({ prompt }) => prompt !== '') &&
		!checks.includes('stop') &&
		passes(world) &&
		service.failPercent === 0 &&
		flow.trouble === 'none' &&
		flow.maxWait === 600 &&
		service.lateSeconds < YOUNG_MS / 1000 &&
		service.taskSeconds[1] < flow.maxWait &&
		(timeout === undefined || Number(timeout) >= 30) &&
		(!budget || (budget === 100 && PRICE.has(flow.model) && pricesAreTrue(service))) &&
		// Who sets a higher rate than the gateway's is refused again and again.
		(!requestsPerSecond || (requestsPerSecond === 20 && service.perSecond === 0));
	if (!calm || result === undefined) return [];
	const failed = runs.flatMap(({ outputs }) => outputs.flat().filter(isFailed));
	const isCalm = service.faults.length === 0;
	const answer = isCalm ? callsOf(step).find((call) => call.failed)?.answer : undefined;
	const said = result.error?.message ?? failed[0]?.json.error ?? answer;
	if (result.status === 'success' && said === undefined) return [];
	return [
		{ invariant: 4, text: `act ${number} failed, but nothing was wrong for long: ${String(said)}` },
	];
}

/** A person who retries has looked, and decided: what had an unknown outcome is sent again. */
function neverAgain(played: Played, step: Step): Breach[] {
	const { service } = played;
	if (!isRetry(step) || isTool(step.flow)) return [];
	const last = step.result?.data.resultData.lastNodeExecuted;
	if (last !== MAKE || step.result?.status !== 'error') return [];
	const sent = service.books.requests.some(
		({ step: of, call }) => of === step.number && ['submit', 'sync', 'message'].includes(call),
	);
	if (sent || !/outcome is unknown/i.test(shownBy(step))) return [];
	return [{ invariant: 1, text: `act ${step.number}: what a person asked for again was not sent` }];
}
