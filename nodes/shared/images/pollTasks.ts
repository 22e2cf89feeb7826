import { errorFor } from '../../../gateway/errors/errorMessages';
import { quote } from '../../../gateway/util/text';
import { birth, carried, isGone, type Sightings } from '../../../gateway/client/missingTasks';
import { isUnknownTask } from '../../../gateway/protocol/errorBody';
import { isGood, retryAfterMs, type Outcome } from '../../../gateway/protocol/outcome';
import {
	planTaskQuery,
	type RequestPlan,
	type TaskType,
} from '../../../gateway/protocol/requestPlan';
import {
	DeadlineError,
	GatewayError,
	NotCheckedError,
	withDetails,
} from '../../../gateway/util/gatewayError';
import { backoffMs, isTransient, isRateLimited } from '../../../gateway/client/retryPolicy';
import { readTaskState, taskName, type TaskState } from '../../../gateway/protocol/task';
import { taskError } from '../../../gateway/errors/taskErrors';
import { Poller, type PollResult, type Settled } from '../../../gateway/client/poller';
import type { Run } from '../run/runContext';
import { durationsOf } from './durationMemory';

/** A task as the user names it: the kind may have to be found out. */
export interface TaskReference {
	taskId: string;
	taskType: TaskType | 'auto';
}

/** For how long a task is waited for; all in milliseconds. */
export interface WaitLimits {
	/** From now on. */
	maxWaitMs: number;
	/** Since it was submitted; where that is not known it is polled at once. */
	ageMs?: number;
	/** Since its ID was first heard of: it is at least so old. */
	heldMs?: number;
	/** What the user chose, where `maxWaitMs` is only a part of it. */
	chosenMs?: number;
	/** What earlier waits have seen of it, by the wall clock; this one adds to it. */
	sightings?: Sightings;
}

/** Waits for the tasks of one run. */
export interface TaskPoller {
	/**
	 * @param model that makes the images, where it is known: how long its tasks take is remembered
	 * @returns the finished task, with at least one image
	 * @throws DeadlineError, or GatewayError; always with the ID of the task
	 */
	wait(task: TaskReference, limits: WaitLimits, model?: string): Promise<TaskState>;
}

/** A task that is polled, and what was found out about it. Each wait has its own. */
interface PolledTask extends TaskReference, Sightings {
	/** The kind at whose endpoint the gateway has told its status. */
	foundAs?: TaskType;
}

/**
 * @param intervalMs about how often each task is polled
 * @param expected how many tasks the run may have to wait for
 * @see TaskPoller
 */
export function createTaskPoller(run: Run, intervalMs: number, expected: number): TaskPoller {
	const { clock, limits, client } = run;
	const poller = new Poller<PolledTask>({
		clock,
		intervalMs,
		expected,
		pollOnce: async (task, timeLeftMs) => {
			const sentAt = clock.now();
			const timeoutMs = (): number => Math.min(timeLeftMs(), limits.timeoutMs);
			const result = await checkTask(task, async (plan) => await client.sendOnce(plan, timeoutMs));
			return judge(task, result, sentAt);
		},
	});

	return {
		wait: async (
			{ taskId, taskType },
			{ maxWaitMs, ageMs, heldMs, chosenMs = maxWaitMs, sightings = {} },
			model,
		) => {
			const bornAt = birth(clock.now(), ageMs, heldMs);
			const wallMs = Date.now() - clock.now();
			const task: PolledTask = { taskId, taskType, bornAt, ...carried(sightings, -wallMs) };
			const durations = durationsOf(run, model, taskType);
			const settled = await poller.wait(task, maxWaitMs, ageMs, durations);
			Object.assign(sightings, carried(task, wallMs));
			const known = task.foundAs ?? (taskType === 'auto' ? undefined : taskType);
			return stateOf(settled, taskId, known, chosenMs);
		},
	};
}

/**
 * What a check means for whoever checks again: a 404 is final only if it stays.
 *
 * @param sentAt when the poll was sent: a response may take half a minute, or the poll of the other
 * kind may, and the task was younger when the gateway said that it does not know it
 */
function judge(task: PolledTask, result: CheckResult, sentAt: number): PollResult {
	if (result.kind === 'state') {
		task.foundAs = result.state.taskType;
		task.seen = true;
		task.missingSince = undefined;
		task.misses = 0;
	}
	if (result.kind !== 'missing') return result;
	const { error, pauseMs } = result;
	return isGone(task, sentAt)
		? { kind: 'final', error }
		: { kind: 'passing', error, pauseMs, soon: true };
}

/** So often a single query is repeated after a 404 that is not the gateway's. */
const MOST_FOREIGN_404 = 5;
const LONGEST_PAUSE_MS = 8000;

/**
 * Queries the state of a task once, again where a fault may pass.
 *
 * @param ageMs how long ago it was submitted, in milliseconds; undefined if that is not known
 * @returns the state, finished or not
 * @throws GatewayError with the ID of the task
 */
export async function queryTask(
	run: Run,
	wanted: TaskReference,
	ageMs?: number,
): Promise<TaskState> {
	const { clock, client } = run;
	const task: PolledTask = { ...wanted, bornAt: birth(clock.now(), ageMs) };
	for (let round = 1; ; round += 1) {
		let attempts = round;
		const sentAt = clock.now();
		const asked = await checkTask(task, async (plan) => {
			const sent = await client.sendWithRetry(plan);
			attempts = Math.max(attempts, sent.attempts);
			return sent.outcome;
		});
		const result = judge(task, asked, sentAt);
		if (result.kind === 'state') return result.state;
		const isForeign = asked.kind === 'passing' && asked.error.problem.httpCode === 404;
		const mayPass = asked.kind === 'missing' || (isForeign && round < MOST_FOREIGN_404);
		if (result.kind === 'final' || !mayPass) {
			const { message } = result.error;
			const tried = attempts > 1 && asked.kind === 'passing' ? ` (tried ${attempts} times)` : '';
			const error = withDetails(result.error, { message: message + tried });
			return await Promise.reject(aboutTask(error, task.taskId));
		}
		const own = Math.min(LONGEST_PAUSE_MS, backoffMs(round, clock.random()));
		await clock.sleep(Math.max(result.pauseMs ?? 0, own));
	}
}

/** The same error with the ID of the task also in its words: who reads only those must find it. */
function aboutTask(error: GatewayError, taskId: string): GatewayError {
	const { message, description } = error.problem;
	const named = `${message} ${description}`.includes(taskId);
	return withDetails(error, {
		taskId,
		description: named ? description : `${description} This is about task ${quote(taskId)}.`,
	});
}

type CheckResult =
	| PollResult
	/** The gateway does not know the task, under neither kind. */
	| { kind: 'missing'; error: GatewayError; pauseMs?: number };

/** One poll, and where the endpoint of one kind knows nothing, one to the other (specification, 4.2, rule 1). */
async function checkTask(
	{ taskId, taskType: wanted, foundAs }: PolledTask,
	query: (plan: RequestPlan) => Promise<Outcome>,
): Promise<CheckResult> {
	const known = wanted === 'auto' ? foundAs : wanted;
	const taskType = known ?? 'generation';
	const plan = planTaskQuery(taskType, taskId);
	const outcome = await query(plan);
	const own = readResult(plan, outcome, { taskId, taskType }, known);
	const isForeign = isNotFound(outcome) && !isUnknownTask(outcome);
	// Where the kind is known, only the gateway's own 404 is a reason to look for it as the other.
	if (!isNotFound(outcome) || (isForeign && wanted !== 'auto')) return own;
	const otherType = taskType === 'generation' ? 'edit' : 'generation';
	const otherPlan = planTaskQuery(otherType, taskId);
	const other = await query(otherPlan);
	const found = readResult(otherPlan, other, { taskId, taskType: otherType }, known);
	if (isForeign) return found.kind === 'state' ? found : own;
	if (wanted === 'auto' && !isUnknownTask(other)) return found;
	const error =
		found.kind === 'state'
			? new GatewayError({
					message: `Task ${taskId} is ${article(otherType)} task, not ${article(taskType)} task`,
					description: `Set 'Task Type' to '${otherType === 'edit' ? 'Edit' : 'Generation'}' or to 'Automatic'.`,
					httpCode: 404,
					taskId,
					taskType: otherType,
				})
			: new GatewayError({
					message: `The gateway has no ${wanted === 'auto' ? '' : `${taskType} `}task ${taskId} (404)`,
					description:
						"The task doesn't exist, or it belongs to another account. Use the credential that submitted it.",
					httpCode: 404,
					taskId,
					taskType: wanted === 'auto' ? undefined : taskType,
				});
	return { kind: 'missing', error, pauseMs: askedPause(outcome) };
}

const article = (taskType: TaskType): string => (taskType === 'edit' ? 'an edit' : 'a generation');

const isNotFound = (outcome: Outcome): boolean =>
	outcome.kind === 'response' && outcome.httpCode === 404;

/** A status, or a 404, is no reason to stay away for longer than this. */
const LONGEST_ASKED_PAUSE_MS = 30_000;

/** The pause that a `Retry-After` on a response asks for that is no refusal. */
function askedPause(outcome: Outcome): number | undefined {
	const header = outcome.kind === 'response' ? outcome.headers['retry-after'] : undefined;
	const asked = retryAfterMs(header, Date.now());
	return asked === undefined ? undefined : Math.min(asked, LONGEST_ASKED_PAUSE_MS);
}

function readResult(
	plan: RequestPlan,
	outcome: Outcome,
	task: { taskId: string; taskType: TaskType },
	known: TaskType | undefined,
): CheckResult {
	if (isGood(outcome)) {
		const state = readTaskState(task, outcome.json);
		if (state.status !== '') return { kind: 'state', state, pauseMs: askedPause(outcome) };
	}
	// Not the kind that was only tried first: who takes it from the error would look for no other.
	const error = withDetails(errorFor(plan, outcome), { taskId: task.taskId, taskType: known });
	if (isNotFound(outcome)) {
		return { kind: 'passing', error, pauseMs: askedPause(outcome), soon: true };
	}
	if (!isTransient(outcome) && !isGood(outcome)) return { kind: 'final', error };
	const header = outcome.kind === 'response' ? outcome.headers['retry-after'] : undefined;
	return {
		kind: 'passing',
		error,
		pauseMs: retryAfterMs(header, Date.now()),
		rateLimited: isRateLimited(outcome),
	};
}

/** The finished task, or the error that says why there is none. */
function stateOf(
	settled: Settled,
	taskId: string,
	taskType: TaskType | undefined,
	maxWaitMs: number,
): TaskState {
	if (settled.kind === 'problem') throw aboutTask(settled.error, taskId);
	if (settled.kind === 'finished') {
		const error = taskError(settled.state);
		if (error !== undefined) throw error;
		return settled.state;
	}
	const { state, error } = settled;
	const seconds = Math.round(maxWaitMs / 1000);
	const name = taskType === undefined ? `task ${taskId}` : taskName({ taskId, taskType });
	if (state === undefined && error === undefined) {
		throw new NotCheckedError({
			message: `The ${name} couldn't be checked within ${seconds} s`,
			description:
				"Other requests took all the time, so the task may have finished. Nothing is lost: give its ID to Image Wait or Image Task later, or increase 'Max Wait' and 'Requests per Second'.",
			taskId,
			taskType,
		});
	}
	// Refused for its rate, nothing was said about this task.
	const hasNoResponse = state === undefined && error?.problem.httpCode === 429;
	const Kind = hasNoResponse ? NotCheckedError : DeadlineError;
	throw new Kind({
		message: `The ${name} was still open after ${seconds} s${lastSeen(state, error)}`,
		description:
			"The task continues at the gateway. Give its ID to Image Wait or Image Task later, or increase 'Max Wait'.",
		taskId,
		taskType: state?.taskType ?? taskType,
		status: state?.status,
	});
}

function lastSeen(state: TaskState | undefined, error: GatewayError | undefined): string {
	const status =
		state === undefined
			? ''
			: state.group === 'unknown'
				? `; its status "${state.status}" is unknown to this node`
				: `; its last status was "${state.status}"`;
	return status + (error === undefined ? '' : `; the last status check failed: ${error.message}`);
}
