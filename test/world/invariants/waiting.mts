/** Of invariant 4: what fails has a reason, and no wait ends too soon. */
import type { Played, Step } from '../execution/step.mjs';
import { COLLECT, isTool, MAKE } from '../execution/workflow.mjs';
import { passes } from '../plan/special/passing.mjs';
import type { Flow } from '../plan/world.mjs';
import { KEY_REFUSED } from '../service/accounts-of-world.mjs';
import { PRICE } from '../service/published-models.mjs';
import { pricesAreTrue } from './budgets.mjs';
import {
	callsOf,
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

/** A task that was submitted less than this ago may only not be visible yet. */
const YOUNG_MS = 25_000;
const LEAD_MS = 3000;

export function waiting(played: Played): Breach[] {
	return played.steps.flatMap((step, index) => {
		if (step.ended !== 'done') return [];
		const runs = runsOf(step, played.steps[index - 1]);
		return [
			...runs.flatMap((run) => tooShort(played, step, run)),
			...withoutReason(played, step, runs),
			...neverAgain(played, step),
		];
	});
}

/** Whether this run of a node waits for its tasks. */
function waits(flow: Flow, { node }: NodeRun): boolean {
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
		// From a spoilt response of a finished task the images could be read, but not downloaded.
		const isRead = service.books.requests.some(
			({ call, step: of, at }) => call === 'download' && of === step.number && at >= last.at,
		);
		if (isRead && last.meaning === 'passing') return [];
		const after = Math.round((run.endedAt - run.startedAt) / 1000);
		const text = `${run.node} gave up task ${taskId} after ${after} s of ${flow.maxWait} s, when the gateway said: ${last.fate}`;
		return [{ invariant: 4, text }];
	});
}

/** n8n's Retry execution of one that has failed after a suspension only repeats its error. */
function wasParked(played: Played, step: Step): boolean {
	return historyOf(played, step).some(({ suspensions }) => suspensions > 0);
}

interface Details {
	taskId?: string;
	taskType?: string;
}

/** Where nothing goes wrong, or only what passes, everything succeeds. */
function withoutReason(played: Played, step: Step, runs: NodeRun[]): Breach[] {
	const { world } = played;
	const { service, checks } = world;
	const { requests } = played.service.books;
	const { result, number, flow } = step;
	const { timeout, budget, requestsPerSecond } = flow.options;
	const calm =
		isSound(flow) &&
		// Where the second call of a tool has failed, n8n's retry of it has no input for `$fromAI`.
		!(flow.as === 'engineTool' && isRetry(step)) &&
		// Two numbers of images that differ are refused.
		extraOf(flow)?.count === undefined &&
		// What has failed after it was suspended, a retry only repeats.
		requests.every(
			({ step: of, fate }) => fate !== KEY_REFUSED || (of !== number && !wasParked(played, step)),
		) &&
		!checks.includes('stop') &&
		passes(world) &&
		service.failPercent === 0 &&
		flow.trouble === 'none' &&
		flow.maxWait === 600 &&
		service.lateSeconds < YOUNG_MS / 1000 &&
		service.taskSeconds[1] < flow.maxWait &&
		(timeout === undefined || Number(timeout) >= 30) &&
		(budget === undefined ||
			(budget === 100 &&
				PRICE.has(extraOf(flow)?.model ?? flow.model) &&
				pricesAreTrue(service))) &&
		// Who sets a higher rate than the gateway's is refused again and again.
		(!requestsPerSecond || (requestsPerSecond === 20 && service.perSecond === 0));
	if (!calm || result === undefined) return [];
	const failed = runs.flatMap(({ outputs }) => outputs.flat().filter(isFailed));
	const isCalm = service.faults.length === 0;
	const answer = isCalm ? callsOf(step).find((call) => call.failed)?.answer : undefined;
	const said = result.error?.message ?? failed[0]?.json.error ?? answer;
	if (result.status === 'success' && said === undefined) return [];
	return [
		{
			invariant: 4,
			text: `action ${number} failed, but nothing was wrong for long: ${String(said)}`,
		},
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
	if (sent || !/\bthe outcome is unknown/i.test(shownBy(step))) return [];
	return [{ invariant: 1, text: `action ${step.number}: what was asked for again wasn't sent` }];
}
