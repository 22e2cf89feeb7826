import { errorFor, quote } from '../../gateway/errorMap';
import { isGood, retryAfterMs, type Outcome } from '../../gateway/outcome';
import { planTaskQuery, type RequestPlan, type TaskType } from '../../gateway/plan';
import { DeadlineError, GatewayError, withDetails } from '../../gateway/problem';
import { isPassing, isQuotaRefusal, isThrottle } from '../../gateway/retryPolicy';
import { readTaskState, taskError, taskName, type TaskState } from '../../gateway/task';
import { createWaiter, type PollAnswer, type Settled } from '../../gateway/waiter';
import type { Run } from './run';

/** A task as the user names it: the kind may have to be found out. */
export interface WantedTask {
	taskId: string;
	taskType: TaskType | 'auto';
}

/** For how long a task is waited for; all in milliseconds. */
export interface Patience {
	/** From now on. */
	maxWaitMs: number;
	/** Since it was submitted; where that is not known it is asked about at once. */
	ageMs?: number;
	/** What the user chose, where `maxWaitMs` is only a part of it. */
	chosenMs?: number;
}

/** Waits for the tasks of one run. */
export interface TaskWaiter {
	/**
	 * @returns the finished task, with at least one image
	 * @throws DeadlineError, or GatewayError; always with the ID of the task
	 */
	wait(task: WantedTask, patience: Patience): Promise<TaskState>;
}

/**
 * How long ago a task was submitted, in milliseconds, by the time that its item carries.
 *
 * @returns undefined if it carries none
 */
export function ageOf(submittedAt: unknown): number | undefined {
	const at = typeof submittedAt === 'string' ? Date.parse(submittedAt) : NaN;
	return Number.isNaN(at) ? undefined : Date.now() - at;
}

/**
 * @param intervalMs about how often each task is asked about
 * @param expected how many tasks the run may have to wait for
 * @see TaskWaiter
 */
export function createTaskWaiter(run: Run, intervalMs: number, expected: number): TaskWaiter {
	const kinds = new Map<string, TaskType | 'auto'>();
	const refusedForQuota = new Set<string>();

	const waiter = createWaiter({
		clock: run.clock,
		intervalMs,
		expected,
		ask: async ({ taskId, taskType }, timeoutMs) => {
			const wanted = { taskId, taskType: kinds.get(taskId) ?? taskType };
			const answer = await askAbout(
				wanted,
				async (plan) => await run.sender.attempt(plan, Math.min(timeoutMs, run.limits.timeoutMs)),
			);
			if (answer.kind === 'state') kinds.set(taskId, answer.state.taskType);
			if (answer.kind !== 'passing' || !answer.quota) return answer;
			// Money does not come back by itself as patience does: one more question, then the truth.
			if (refusedForQuota.has(taskId)) return { kind: 'final', error: answer.error };
			refusedForQuota.add(taskId);
			return answer;
		},
	});

	return {
		wait: async ({ taskId, taskType }, { maxWaitMs, ageMs, chosenMs = maxWaitMs }) => {
			if (!kinds.has(taskId)) kinds.set(taskId, taskType);
			const guess = taskType === 'auto' ? 'generation' : taskType;
			const settled = await waiter.wait({ taskId, taskType: guess }, maxWaitMs, ageMs);
			const known = kinds.get(taskId);
			return stateOf(settled, taskId, known === 'auto' ? undefined : known, chosenMs);
		},
	};
}

/**
 * Asks once what became of a task, again where a fault may pass.
 *
 * @returns the state, finished or not
 * @throws GatewayError with the ID of the task
 */
export async function queryTask(run: Run, task: WantedTask): Promise<TaskState> {
	let attempts = 1;
	const answer = await askAbout(task, async (plan) => {
		const delivered = await run.sender.deliver(plan);
		attempts = delivered.attempts;
		return delivered.outcome;
	});
	if (answer.kind === 'state') return answer.state;
	const { message } = answer.error;
	throw aboutTask(
		withDetails(answer.error, {
			message: attempts > 1 ? `${message} (tried ${attempts} times)` : message,
		}),
		task.taskId,
	);
}

/** The same error with the ID of the task also in its words: who reads only those must find it. */
function aboutTask(error: GatewayError, taskId: string): GatewayError {
	const { message, description } = error.problem;
	const named = `${message} ${description}`.includes(taskId);
	return withDetails(error, {
		taskId,
		description: named ? description : `${description} It was about task ${quote(taskId)}.`,
	});
}

type Answer = PollAnswer & { quota?: boolean };

/** One question, and where the endpoint of one kind knows nothing, one to the other (specification, 4.2, rule 1). */
async function askAbout(
	task: WantedTask,
	query: (plan: RequestPlan) => Promise<Outcome>,
): Promise<Answer> {
	const taskType = task.taskType === 'auto' ? 'generation' : task.taskType;
	const plan = planTaskQuery(taskType, task.taskId);
	const outcome = await query(plan);
	if (outcome.kind !== 'answer' || outcome.httpCode !== 404) {
		return readAnswer(plan, outcome, { taskId: task.taskId, taskType });
	}
	const otherType = taskType === 'generation' ? 'edit' : 'generation';
	const otherPlan = planTaskQuery(otherType, task.taskId);
	const other = await query(otherPlan);
	const found = readAnswer(otherPlan, other, { taskId: task.taskId, taskType: otherType });
	if (task.taskType === 'auto' && (found.kind !== 'final' || !isNotFound(other))) return found;
	if (found.kind === 'state') {
		return {
			kind: 'final',
			error: new GatewayError({
				message: `Task ${task.taskId} is ${article(otherType)} task, not ${article(taskType)} task`,
				description: `Set "Task Type" to "${otherType === 'edit' ? 'Edit' : 'Generation'}" or to "Automatic".`,
				httpCode: 404,
				taskId: task.taskId,
				taskType: otherType,
			}),
		};
	}
	return {
		kind: 'final',
		error: new GatewayError({
			message: `The gateway knows no ${task.taskType === 'auto' ? '' : `${taskType} `}task ${task.taskId} (404)`,
			description:
				'It does not exist, or it belongs to another account: ask with a key of the account that submitted it.',
			httpCode: 404,
			taskId: task.taskId,
			taskType: task.taskType === 'auto' ? undefined : taskType,
		}),
	};
}

const article = (taskType: TaskType): string => (taskType === 'edit' ? 'an edit' : 'a generation');

const isNotFound = (outcome: Outcome): boolean =>
	outcome.kind === 'answer' && outcome.httpCode === 404;

function readAnswer(
	plan: RequestPlan,
	outcome: Outcome,
	task: { taskId: string; taskType: TaskType },
): Answer {
	if (isGood(outcome)) {
		const state = readTaskState(task, outcome.json);
		if (state.status !== '') return { kind: 'state', state };
	}
	const error = withDetails(errorFor(plan, outcome), task);
	const passing = isPassing(outcome) || isGood(outcome);
	if (!passing) return { kind: 'final', error };
	const header = outcome.kind === 'answer' ? outcome.headers['retry-after'] : undefined;
	return {
		kind: 'passing',
		error,
		pauseMs: retryAfterMs(header, Date.now()),
		hasty: isThrottle(outcome),
		quota: isQuotaRefusal(outcome),
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
	const name = taskType === undefined ? `task ${taskId}` : taskName({ taskId, taskType });
	throw new DeadlineError({
		message: `The ${name} was still open after ${Math.round(maxWaitMs / 1000)} s${lastSeen(state, error)}`,
		description:
			'It goes on at the gateway and is not lost: give its ID to Image Wait or Image Task later, or raise "Max Wait".',
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
				? `; its status "${state.status}" is none that this node knows`
				: `; its last status was "${state.status}"`;
	return status + (error === undefined ? '' : `; the last question failed: ${error.message}`);
}
