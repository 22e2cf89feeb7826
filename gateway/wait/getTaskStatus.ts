import { afterTries } from '../../util/tries';
import {
	backoffMs,
	LONGEST_RETRY_AFTER_MS,
	MOST_FREE_TRIES,
	MOST_RATE_REFUSALS,
} from '../pace/retryPolicy';
import { withMentioned } from '../errors/taskErrors';
import { withDetails } from '../protocol/gatewayError';
import { ageOf, type Task, type TaskState } from '../responses/task';
import { submitTime } from './pollHistory';
import {
	aboutTask,
	hintOtherTask,
	pollTask,
	type OpenResult,
	type PolledTask,
	type SendQuery,
	type WaitContext,
} from './pollTask';
import type { TasksOfRun } from './taskQueries';

/**
 * Gets the state of a task, with retries.
 *
 * @returns the state, finished or not
 * @throws GatewayError with the ID of the task
 */
export async function getTaskStatus(
	context: WaitContext,
	wanted: Task,
	tasks: TasksOfRun,
	signal?: AbortSignal,
): Promise<TaskState> {
	const { clock, client } = context;
	const { taskId, taskType, statusUrl, sent } = wanted;
	const submittedAtMs = submitTime(clock.now(), ageOf(wanted));
	const task: PolledTask = { taskId, taskType, statusUrl, sent, submittedAtMs };
	let refusals = 0;
	for (let attempts = 1; ; attempts += 1) {
		const send: SendQuery = async (plan) => await client.attempt({ ...plan, signal });
		const result = await pollTask(context, task, tasks, send);
		if (result.kind === 'state') {
			hintOtherTask(context, result.state);
			return result.state;
		}
		if (result.kind === 'transient' && result.rateLimited === true) refusals += 1;
		const failures = attempts - refusals;
		const inARow = Math.max(refusals, client.pausesInARow);
		if (result.kind === 'final' || isEnough(result, task, { failures, refusals: inARow })) {
			const { message } = result.error.problem;
			const tried = result.kind === 'transient' ? afterTries(attempts) : '';
			const error = withDetails(result.error, { message: message + tried });
			throw withMentioned(aboutTask(error, taskId), wanted);
		}
		// After a refusal for the rate, the rate limiter makes the pause.
		if (result.rateLimited === true) continue;
		await clock.sleep(Math.max(result.pauseMs ?? 0, backoffMs(failures, clock.random())), signal);
	}
}

/**
 * Whether a single look at a task is given up: while no response is about it, by the tries of the retry
 * rules, of which those refused for the rate count apart. `pollTask` decides how long a task may be missing.
 */
function isEnough(
	{ rateLimited, soon, pauseMs = 0 }: Extract<OpenResult, { kind: 'transient' }>,
	{ notFoundSince, noImageSince }: PolledTask,
	{ failures, refusals }: { failures: number; refusals: number },
): boolean {
	if (pauseMs > LONGEST_RETRY_AFTER_MS) return true;
	if (rateLimited === true) return refusals >= MOST_RATE_REFUSALS;
	const isMissing = soon === true && (notFoundSince ?? noImageSince) !== undefined;
	return failures >= MOST_FREE_TRIES && !isMissing;
}
