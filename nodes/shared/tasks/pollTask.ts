import { errorFor } from '../../../gateway/errors/errorMessages';
import { taskError } from '../../../gateway/errors/taskErrors';
import type { PollResult } from '../../../gateway/client/poller';
import {
	submitTime,
	noteNotFound,
	noteNoImage,
	type PollHistory,
} from '../../../gateway/client/pollHistory';
import { backoffMs, isRateLimited, isTransient } from '../../../gateway/client/retryPolicy';
import { isGatewayError, isUnknownTask } from '../../../gateway/protocol/errorBody';
import { isGood, type Outcome } from '../../../gateway/protocol/outcome';
import { requestedPauseMs } from '../../../gateway/protocol/retryAfter';
import { TASK_PATHS, type RequestPlan } from '../../../gateway/protocol/requestPlan';
import {
	otherTaskId,
	readTaskState,
	withFullAddresses,
	type TaskRef,
	type TaskState,
} from '../../../gateway/protocol/task';
import {
	folderOf,
	kindAt,
	mayBeCounted,
	planTaskQueries,
} from '../../../gateway/protocol/taskQueries';
import { GatewayError, withDetails } from '../../../gateway/util/gatewayError';
import { excerpt, quote } from '../../../gateway/util/text';
import type { Run } from '../run/runContext';
import type { TaskPaths } from './taskPaths';
import { ageOf, type SubmittedTask } from './taskReference';

/**
 * A task that is polled, and what earlier polls have shown; its type is filled in once it is known.
 */
export interface PolledTask extends TaskRef, PollHistory {}

/** What a poll uses of its run. */
export interface Polling {
	/** The clock of the run, in milliseconds. */
	now: () => number;
	query: (plan: RequestPlan) => Promise<Outcome>;
	/** Whether the run polls a task with this ID, too. */
	isPolled: (taskId: string) => boolean;
	/** The gateway's address. */
	home: string;
	paths: TaskPaths;
}

/**
 * Polls a task once, and after a 404 at the other addresses at which it may be (`planTaskQueries`).
 * A response about the task is its result, wherever it comes from.
 *
 * @param task updated with what the poll shows
 * @returns its state; an error that may pass, with `soon` if another poll decides whether it does;
 *   or a final error
 */
export async function pollTask(task: PolledTask, polling: Polling): Promise<PollResult> {
	return await new TaskSearch(task, polling).poll();
}

/** One poll of a task, at one address after the other. */
class TaskSearch {
	private readonly tried: Array<{ plan: RequestPlan; isOwn: boolean; outcome: Outcome }> = [];

	/** The age of the task counts from here: a response may take half a minute. */
	private readonly sentAt: number;

	constructor(
		private readonly task: PolledTask,
		private readonly polling: Polling,
	) {
		this.sentAt = polling.now();
	}

	async poll(): Promise<PollResult> {
		const { task, polling } = this;
		return await polling.paths.inTurn(task, async (isFirst) => {
			const [own] = this.plansLeft();
			const atOwn = own && (await this.tryAt(own, false));
			if (atOwn !== undefined) return atOwn;
			// On a copy: the 404 counts once everything has been tried.
			const isLast = noteNotFound({ ...task }, this.sentAt);
			const left = this.plansLeft();
			const turn = (task.notFoundCount ?? 0) % left.length;
			// A task that isn't visible yet costs one more request, not one for each address.
			for (const plan of isFirst || isLast ? left : left.slice(turn, turn + 1)) {
				const found = await this.tryAt(plan, isLast);
				if (found !== undefined) return found;
			}
			return this.notFound();
		});
	}

	private plansLeft(): RequestPlan[] {
		const { home, paths } = this.polling;
		const tried = new Set(this.tried.map(({ plan }) => plan.path));
		return planTaskQueries(this.task, home, paths.of(this.task)).filter(
			({ path }) => !tried.has(path),
		);
	}

	/**
	 * @param isLast whether the task is given up if it isn't found now
	 * @returns undefined if the task isn't there
	 */
	private async tryAt(plan: RequestPlan, isLast: boolean): Promise<PollResult | undefined> {
		const { task, polling } = this;
		const folder = folderOf(plan);
		const isOwn = folder === (polling.paths.of(task) ?? TASK_PATHS[task.taskType ?? 'generation']);
		const outcome = await polling.query(plan);
		const result = readResult(plan, outcome, task, polling);
		// Elsewhere, a status that nobody knows may be that of something else, and an ID that may be
		// counted for each kind is that of another task if its own endpoint has it a moment later.
		const isOfKind = task.taskType === undefined || kindAt(folder) === undefined;
		const isCertain = isOfKind || isLast || !mayBeCounted(task.taskId);
		const isTask = result.kind === 'state' && result.state.group !== 'unknown' && isCertain;
		if (result.kind === 'state' && (isOwn || isTask)) {
			polling.paths.note(task, folder);
			return noted(task, result, this.sentAt);
		}
		// There, only a fault that may pass says nothing about where the task is.
		if (isOwn ? !isNotFound(outcome) : isBusy(outcome)) return result;
		this.tried.push({ plan, isOwn, outcome });
		return undefined;
	}

	private notFound(): PollResult {
		const { task, tried } = this;
		const foreign = tried.find(({ isOwn, outcome }) => isOwn && !isUnknownTask(outcome));
		const error =
			foreign === undefined
				? noSuchTask(
						task,
						tried.map(({ plan }) => plan.path),
					)
				: errorOf(foreign.plan, foreign.outcome, task);
		// Final only if each of these is the gateway's own response.
		const isSure = tried.every(({ outcome }) => isGatewayError(outcome));
		if (isSure && noteNotFound(task, this.sentAt)) return { kind: 'final', error };
		const [first] = tried;
		return { kind: 'passing', error, pauseMs: first && askedPause(first.outcome), soon: true };
	}
}

/** Whether an outcome says nothing about where the task is: no response, 429, or a server's error. */
const isBusy = (outcome: Outcome): boolean =>
	isTransient(outcome) && (outcome.kind === 'fault' || outcome.httpCode >= 300);

/** Updates a task by its state. A completed task without an image may list it a moment later. */
function noted(task: PolledTask, result: PollResult, now: number): PollResult {
	if (result.kind !== 'state') return result;
	const { state, pauseMs } = result;
	const { taskType, statusUrl } = state;
	Object.assign(task, {
		taskType,
		statusUrl,
		seen: true,
		notFoundSince: undefined,
		notFoundCount: 0,
	});
	const error = state.group === 'success' ? taskError(state) : undefined;
	if (error === undefined || noteNoImage(task, now)) return result;
	return { kind: 'passing', error, pauseMs, soon: true };
}

/** Reads the response to one query. */
function readResult(
	plan: RequestPlan,
	outcome: Outcome,
	task: PolledTask,
	{ isPolled, home }: Polling,
): PollResult {
	const pauseMs = askedPause(outcome);
	if (isGood(outcome)) {
		const otherId = otherTaskId(task.taskId, outcome.json);
		if (otherId !== undefined && isPolled(otherId)) return wrongTask(task.taskId, otherId, outcome);
		const state = readTaskState(foundAt(plan, task), outcome.json);
		const images = withFullAddresses(state.images, home);
		if (state.status !== '') return { kind: 'state', state: { ...state, images }, pauseMs };
	}
	const error = errorOf(plan, outcome, task);
	if (isNotFound(outcome)) return { kind: 'passing', error, pauseMs, soon: true };
	if (!isTransient(outcome) && !isGood(outcome)) return { kind: 'final', error };
	const rateLimited = isRateLimited(outcome);
	return { kind: 'passing', error, pauseMs: requestedPauseMs(outcome, Date.now()), rateLimited };
}

/** The task with its kind and, if that isn't enough to find it again, its address. */
function foundAt(plan: RequestPlan, { taskId, taskType, statusUrl }: TaskRef): TaskRef {
	const folder = folderOf(plan);
	const kind = taskType ?? kindAt(folder);
	const isUsual = kind !== undefined && folder === TASK_PATHS[kind];
	return { taskId, taskType: kind, statusUrl: isUsual ? statusUrl : plan.path };
}

/** The error of a query, with the kind only if it is known: a retry would not try the other. */
const errorOf = (plan: RequestPlan, outcome: Outcome, { taskId, taskType }: TaskRef) =>
	withDetails(errorFor(plan, outcome), { taskId, taskType });

const isNotFound = (outcome: Outcome): boolean =>
	outcome.kind === 'response' && outcome.httpCode === 404;

/** The longest pause by a `Retry-After` on a status or a 404. */
const LONGEST_ASKED_PAUSE_MS = 30_000;

/** The pause by the `Retry-After` of a response that isn't a rate limit. */
function askedPause(outcome: Outcome): number | undefined {
	const asked = requestedPauseMs(outcome, Date.now());
	return asked === undefined ? undefined : Math.min(asked, LONGEST_ASKED_PAUSE_MS);
}

const noSuchTask = ({ taskId, taskType }: TaskRef, paths: string[]): GatewayError =>
	new GatewayError({
		message: `The gateway has no ${taskType === undefined ? '' : `${taskType} `}task ${quote(taskId)} (404)`,
		description: `The task doesn't exist, or it belongs to another account. Use the credential that submitted it. It isn't at ${paths.map(quote).join(', ')}.`,
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
const LONGEST_QUERY_PAUSE_MS = 8000;

/**
 * Gets the state of a task, with retries.
 *
 * @returns the state, finished or not
 * @throws GatewayError with the ID of the task
 */
export async function queryTask(
	run: Run,
	wanted: SubmittedTask,
	polled: Pick<Polling, 'isPolled' | 'paths'>,
): Promise<TaskState> {
	const { clock, client } = run;
	const { taskId, taskType, statusUrl } = wanted;
	const submittedAtMs = submitTime(clock.now(), ageOf(wanted));
	const task: PolledTask = { taskId, taskType, statusUrl, submittedAtMs };
	for (let round = 1; ; round += 1) {
		let attempts = round;
		const query = async (plan: RequestPlan): Promise<Outcome> => {
			const sent = await client.request(plan);
			attempts = Math.max(attempts, sent.attempts);
			return sent.outcome;
		};
		const home = run.address.baseUrl;
		const result = await pollTask(task, { ...polled, now: () => clock.now(), query, home });
		if (result.kind === 'state') {
			hintOtherTask(run, result.state);
			return result.state;
		}
		// `pollTask` decides how long a task may be missing, or without an image.
		const isAboutTask = task.notFoundSince !== undefined || task.noImageSince !== undefined;
		const mayPass = result.kind === 'passing' && result.soon === true;
		if (!mayPass || (!isAboutTask && round >= MOST_ATTEMPTS)) {
			const { message } = result.error.problem;
			const tried = attempts > 1 && result.kind === 'passing' ? ` (tried ${attempts} times)` : '';
			const error = withDetails(result.error, { message: message + tried });
			return await Promise.reject(aboutTask(error, taskId));
		}
		const own = Math.min(LONGEST_QUERY_PAUSE_MS, backoffMs(round, clock.random()));
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
