import { errorFor } from '../../../gateway/errors/errorMessages';
import { taskError } from '../../../gateway/errors/taskErrors';
import type { PollResult } from '../../../gateway/client/poller';
import { birth, isGone, staysEmpty, type Sightings } from '../../../gateway/client/missingTasks';
import { backoffMs, isRateLimited, isTransient } from '../../../gateway/client/retryPolicy';
import { isUnknownTask } from '../../../gateway/protocol/errorBody';
import { requestedPauseMs, isGood, type Outcome } from '../../../gateway/protocol/outcome';
import {
	planTaskQuery,
	type RequestPlan,
	type TaskType,
} from '../../../gateway/protocol/requestPlan';
import {
	otherTaskId,
	readTaskState,
	type TaskRef,
	type TaskState,
} from '../../../gateway/protocol/task';
import { GatewayError, withDetails } from '../../../gateway/util/gatewayError';
import { excerpt, quote } from '../../../gateway/util/text';
import type { Run } from '../run/runContext';
import { ageOf, type SubmittedTask } from './taskReference';

/**
 * A task that is polled, and what earlier polls have shown; its type is filled in once it is known.
 */
export interface PolledTask extends TaskRef, Sightings {}

/** What a poll uses of its run. */
export interface Polling {
	/** The clock of the run, in milliseconds. */
	now: () => number;
	query: (plan: RequestPlan) => Promise<Outcome>;
	/** Whether the run polls a task with this ID, too. */
	isPolled: (taskId: string) => boolean;
}

/**
 * Polls a task once, at the endpoint of its type, and after a 404 at that of the other type.
 *
 * @param task updated with what the poll shows
 * @returns its state; an error that may pass, with `soon` if another poll decides whether it does;
 *   or a final error
 */
export async function pollTask(
	task: PolledTask,
	{ now, query, isPolled }: Polling,
): Promise<PollResult> {
	// Its age counts from here: the response may take half a minute.
	const sentAt = now();
	const poll = async (taskType: TaskType) => {
		const plan = planTaskQuery(taskType, task.taskId);
		const outcome = await query(plan);
		const otherId = isGood(outcome) ? otherTaskId(task.taskId, outcome.json) : undefined;
		const isOther = otherId !== undefined && isPolled(otherId);
		const result = isOther
			? wrongTask(task.taskId, otherId, outcome)
			: readResult(plan, outcome, task, taskType);
		return { outcome, result };
	};
	const { taskType: known } = task;
	const taskType = known ?? 'generation';
	const own = await poll(taskType);
	const isUnknown = isUnknownTask(own.outcome);
	// If the type is known, only the gateway's own 404 is a reason to try the other type.
	const triesOther = known === undefined ? isNotFound(own.outcome) : isUnknown;
	if (!triesOther) return noted(task, own.result, sentAt);

	const otherType = taskType === 'generation' ? 'edit' : 'generation';
	const other = await poll(otherType);
	const isThere = other.result.kind === 'state';
	if (!isUnknown) return noted(task, isThere ? other.result : own.result, sentAt);
	if (known === undefined && !isUnknownTask(other.outcome)) {
		return noted(task, other.result, sentAt);
	}
	const error = isThere ? wrongKind(task.taskId, taskType, otherType) : noSuchTask(task);
	if (isGone(task, sentAt)) return { kind: 'final', error };
	return { kind: 'passing', error, pauseMs: askedPause(own.outcome), soon: true };
}

/** Updates a task by its state. A completed task without an image may list it a moment later. */
function noted(task: PolledTask, result: PollResult, now: number): PollResult {
	if (result.kind !== 'state') return result;
	const { state, pauseMs } = result;
	Object.assign(task, { taskType: state.taskType, seen: true, missingSince: undefined, misses: 0 });
	const error = state.group === 'success' ? taskError(state) : undefined;
	if (error === undefined || staysEmpty(task, now)) return result;
	return { kind: 'passing', error, pauseMs, soon: true };
}

/** Reads the response of one endpoint. */
function readResult(
	plan: RequestPlan,
	outcome: Outcome,
	task: PolledTask,
	taskType: TaskType,
): PollResult {
	const pauseMs = askedPause(outcome);
	// The known type only: a retry with the type that was just tried would not try the other.
	const ofTask = { taskId: task.taskId, taskType: task.taskType };
	if (isGood(outcome)) {
		const state = readTaskState({ taskId: task.taskId, taskType }, outcome.json);
		if (state.status !== '') return { kind: 'state', state, pauseMs };
	}
	const error = withDetails(errorFor(plan, outcome), ofTask);
	if (isNotFound(outcome)) return { kind: 'passing', error, pauseMs, soon: true };
	if (!isTransient(outcome) && !isGood(outcome)) return { kind: 'final', error };
	const rateLimited = isRateLimited(outcome);
	return { kind: 'passing', error, pauseMs: requestedPauseMs(outcome, Date.now()), rateLimited };
}

const isNotFound = (outcome: Outcome): boolean =>
	outcome.kind === 'response' && outcome.httpCode === 404;

/** The longest pause by a `Retry-After` on a status or a 404. */
const LONGEST_ASKED_PAUSE_MS = 30_000;

/** The pause by the `Retry-After` of a response that isn't a rate limit. */
function askedPause(outcome: Outcome): number | undefined {
	const asked = requestedPauseMs(outcome, Date.now());
	return asked === undefined ? undefined : Math.min(asked, LONGEST_ASKED_PAUSE_MS);
}

const article = (taskType: TaskType): string => (taskType === 'edit' ? 'an edit' : 'a generation');

const wrongKind = (taskId: string, taskType: TaskType, found: TaskType): GatewayError =>
	new GatewayError({
		message: `Task ${quote(taskId)} is ${article(found)} task, not ${article(taskType)} task`,
		description: `Set 'Task Type' to '${found === 'edit' ? 'Edit' : 'Generation'}' or to 'Automatic'.`,
		httpCode: 404,
		taskId,
		taskType: found,
	});

const noSuchTask = ({ taskId, taskType }: TaskRef): GatewayError =>
	new GatewayError({
		message: `The gateway has no ${taskType === undefined ? '' : `${taskType} `}task ${quote(taskId)} (404)`,
		description:
			"The task doesn't exist, or it belongs to another account. Use the credential that submitted it.",
		httpCode: 404,
		taskId,
		taskType,
	});

/**
 * The error of a response about another task of this run, whose images belong to another prompt.
 */
function wrongTask(taskId: string, otherId: string, outcome: Outcome): PollResult {
	const error = new GatewayError({
		message: `The gateway's response is about task ${quote(otherId)}, not task ${quote(taskId)}`,
		description: "The images of another task aren't used. Ask the gateway's operator about it.",
		taskId,
		response: outcome.kind === 'response' ? excerpt(outcome.text) : undefined,
	});
	return { kind: 'passing', error, pauseMs: askedPause(outcome), soon: true };
}

/** Adds a hint if the response names another task, whose images may belong to another prompt. */
export function hintOtherTask({ hints }: Pick<Run, 'hints'>, state: TaskState): void {
	const otherId = otherTaskId(state.taskId, state.response);
	if (otherId === undefined) return;
	hints.add(
		`The gateway's response about task ${quote(state.taskId)} names another task, ${quote(otherId)}. Check whether its images match the prompt.`,
	);
}

/** The most attempts while no response is about the task. */
const MOST_ATTEMPTS = 5;
const LONGEST_PAUSE_MS = 8000;

/**
 * Gets the state of a task, with retries.
 *
 * @returns the state, finished or not
 * @throws GatewayError with the ID of the task
 */
export async function queryTask(
	run: Run,
	wanted: SubmittedTask,
	isPolled: Polling['isPolled'],
): Promise<TaskState> {
	const { clock, client } = run;
	const { taskId, taskType } = wanted;
	const task: PolledTask = { taskId, taskType, bornAt: birth(clock.now(), ageOf(wanted)) };
	for (let round = 1; ; round += 1) {
		let attempts = round;
		const query = async (plan: RequestPlan): Promise<Outcome> => {
			const sent = await client.request(plan);
			attempts = Math.max(attempts, sent.attempts);
			return sent.outcome;
		};
		const result = await pollTask(task, { now: () => clock.now(), query, isPolled });
		if (result.kind === 'state') {
			hintOtherTask(run, result.state);
			return result.state;
		}
		// `pollTask` decides how long a task may be missing, or without an image.
		const isAboutTask = task.missingSince !== undefined || task.emptySince !== undefined;
		const mayPass = result.kind === 'passing' && result.soon === true;
		if (!mayPass || (!isAboutTask && round >= MOST_ATTEMPTS)) {
			const { message } = result.error.problem;
			const tried = attempts > 1 && result.kind === 'passing' ? ` (tried ${attempts} times)` : '';
			const error = withDetails(result.error, { message: message + tried });
			return await Promise.reject(aboutTask(error, taskId));
		}
		const own = Math.min(LONGEST_PAUSE_MS, backoffMs(round, clock.random()));
		await clock.sleep(Math.max(result.pauseMs ?? 0, own));
	}
}

/** The same error with the ID of the task in its text, if it isn't there already. */
export function aboutTask(error: GatewayError, taskId: string): GatewayError {
	const { message, description } = error.problem;
	const named = `${message} ${description}`.includes(taskId);
	return withDetails(error, {
		taskId,
		description: named ? description : `${description} This is about task ${quote(taskId)}.`,
	});
}
