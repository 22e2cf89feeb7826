import type { Client } from '../pace/client';
import type { Account } from '../protocol/account';
import type { Clock } from '../pace/stoppableClock';
import type { RunLimits } from '../wire/sendOnce';
import { errorFor } from '../errors/errorFor';
import { lostTaskError, taskError } from '../errors/taskErrors';
import { isLastMiss, noteNotFound, noteNoImage, type PollHistory } from './pollHistory';
import { isRateLimited, isTransient } from '../pace/retryPolicy';
import { isGatewayError, reasonIn } from '../responses/errorBody';
import { isGood, type Outcome } from '../protocol/outcome';
import { requestedPauseMs } from '../protocol/retryAfter';
import { planGet, type FreePlan } from '../protocol/requestPlan';
import { TASK_PATHS } from '../protocol/taskType';
import { isErrorCode, readResultAddress, stateIn, taskIdsIn } from '../responses/responseFields';
import { mergedFacts } from '../responses/resultFacts';
import { isErrorWord, isUnknownWord } from '../protocol/status';
import {
	namesOwn,
	otherTaskId,
	readTaskState,
	taskName,
	withFullAddresses,
	type TaskState,
	type Task,
} from '../responses/task';
import {
	folderOf,
	isUnique,
	kindAt,
	planTaskQueries,
	withKeyAgain,
	type TaskQuery,
	type TasksOfRun,
} from './taskQueries';
import { GatewayError, withDetails, type Problem } from '../protocol/gatewayError';
import { numberOf, type JsonObject } from '../../util/json';
import { excerpt, quote } from '../../util/text';
import { pathAtGateway } from '../protocol/url';

/** What all status checks of a run share. */
export interface WaitContext {
	account: Pick<Account, 'baseUrl' | 'key'>;
	clock: Clock;
	client: Pick<Client, 'attempt' | 'pausesInARow'>;
	limits: Pick<RunLimits, 'timeoutMs'>;
	/** Shows a message to a person who watches the run. */
	onProgress: (message: string) => void;
	/** What a person should know once the run is over. */
	hints: Set<string>;
}

/**
 * A task that is polled, and what earlier polls have shown; its type is filled in once it is known.
 */
export interface PolledTask extends Task, PollHistory {
	/** Ends its wait alone. */
	signal?: AbortSignal;
}

/** The result of a poll after which the task is polled again, unless it has finished. */
export type OpenResult =
	/** `pauseMs`: the gateway's `Retry-After`. */
	| { kind: 'state'; state: TaskState; pauseMs?: number }
	/**
	 * A fault that may pass. `rateLimited`: the poll was refused for the rate limit, which says
	 * nothing about the task. `soon`: another poll is needed to tell whether the fault passes.
	 */
	| {
			kind: 'transient';
			error: GatewayError;
			pauseMs?: number;
			rateLimited?: boolean;
			soon?: boolean;
	  };

/** The result of one poll. `final`: an error that another poll would not change. */
type PollResult = OpenResult | { kind: 'final'; error: GatewayError };

/** Sends a query for a task. */
export type SendQuery = (plan: FreePlan) => Promise<Outcome>;

type PolledState = Extract<PollResult, { kind: 'state' }>;

/** A query that didn't find its task. */
type Missed = TaskQuery & { outcome: Outcome };

/**
 * Polls a task once, and after a 404 at the other addresses at which it may be (`planTaskQueries`).
 * A response about the task is its result, wherever it comes from.
 *
 * @param task updated with what the poll shows
 * @param tasks those of the run
 * @returns its state; an error that may pass, with `soon` if another poll decides whether it does;
 *   or a final error
 */
export async function pollTask(
	{ account, clock, hints }: Pick<WaitContext, 'account' | 'clock' | 'hints'>,
	task: PolledTask,
	tasks: TasksOfRun,
	send: SendQuery,
): Promise<PollResult> {
	// The age of the task counts from here: a response may take half a minute.
	const sentAt = clock.now();
	const isLast = isLastMiss(task, sentAt);
	const missed: Missed[] = [];
	const foundPath = tasks.paths.get(task.taskType);
	const wanted = { ...task, statusUrl: withKeyAgain(task.statusUrl, account.key) };
	for (const query of planTaskQueries(wanted, account.baseUrl, foundPath, isLast)) {
		if (tasks.isOther(task, folderOf(query.plan))) continue;
		const outcome = withInnerCode(await send(query.plan), task);
		const result = readResult(query.plan, outcome, task, tasks.kinds);
		if (result.kind === 'state' && isAboutTask(query, result.state)) {
			tasks.foundAt(task, folderOf(query.plan));
			hintOtherKind(hints, task, folderOf(query.plan));
			const whole = await withResult(result, query.plan, account.baseUrl, send);
			if (noteOutage(whole, task, sentAt)) return whole;
			const { state } = whole.kind === 'state' ? whole : result;
			const images = withFullAddresses(state.images, account.baseUrl);
			return noted(task, { ...result, state: { ...state, images } }, sentAt);
		}
		if (!triesNext(query, outcome)) return result;
		missed.push({ ...query, outcome });
	}
	return notFound(task, missed, sentAt, account.baseUrl);
}

/**
 * The state of a task whose images are in a response of their own, to which the task's leads once it
 * has succeeded. It is requested at the gateway only, because it gets the key.
 */
async function withResult(
	found: PolledState,
	{ path }: FreePlan,
	home: string,
	send: SendQuery,
): Promise<PollResult> {
	const { state } = found;
	const isEmpty = state.group === 'success' && state.images.length === 0;
	const resultPath = isEmpty ? pathAtGateway(readResultAddress(state.response), home) : undefined;
	if (resultPath === undefined || resultPath === path) return found;
	const plan = planGet('poll', resultPath);
	const outcome = await send(plan);
	if (isTransient(outcome) && !isPage(outcome)) return passing(plan, outcome, state);
	if (!isGood(outcome)) return found;
	const result = readTaskState(state, outcome.json, outcome.headers);
	const { images, response } = result;
	return { ...found, state: { ...state, ...mergedFacts(result, state), images, response } };
}

/** In milliseconds: how long the address of a result may be out of reach. */
const LONGEST_OUTAGE_MS = 60_000;

/**
 * Records that the result of a task that has succeeded is out of reach, if it is. @returns whether it is
 * asked for again
 */
const noteOutage = (result: PollResult, task: PolledTask, now: number): boolean =>
	result.kind === 'transient' &&
	(result.rateLimited === true || !noteNoImage(task, now, LONGEST_OUTAGE_MS));

/** Error codes that may pass, or lead on to another address, as 500 and all above do. */
const MAY_PASS = [404, 408, 425, 429];

/** The same response with the code in its body as its status, if it isn't about the task. */
function withInnerCode(outcome: Outcome, task: Task): Outcome {
	// Nearly every response of a poll ends here: reading it for this alone would be reading it twice.
	const code = isGood(outcome) ? innerCode(outcome.json) : NaN;
	if (!isGood(outcome) || !isErrorCode(code)) return outcome;
	const { status, images } = readTaskState(task, outcome.json);
	// One that can't pass, and names the task, is its end.
	const isEnd = code < 500 && !MAY_PASS.includes(code) && namesOwn(outcome.json, task);
	const isOfRequest =
		status === '' || (images.length === 0 && isAtTop(outcome.json, status) && !isEnd);
	return isOfRequest ? { ...outcome, httpCode: code } : outcome;
}

const innerCode = ({ code, statusCode, status_code: spelled }: JsonObject): number =>
	numberOf(code ?? statusCode ?? spelled);

/** Whether a status is the word for a request that has failed, and not inside, where a task is. */
const isAtTop = (json: JsonObject, status: string): boolean =>
	isErrorWord(status) && stateIn(json) === json;

/** Whether a response says that the request has failed, and not its task, which it doesn't name. */
const saysRequestFailed = (json: JsonObject, task: Task, { status, images }: TaskState): boolean =>
	isAtTop(json, status) &&
	images.length === 0 &&
	taskIdsIn(json).length === 0 &&
	!namesOwn(json, task) &&
	reasonIn(json) !== undefined;

/** At another address, an unknown status may be that of something other than a task. */
const isAboutTask = ({ where }: TaskQuery, { group }: TaskState): boolean =>
	where !== 'other' || group !== 'unknown';

/**
 * Whether the task is looked for at the next address. At the usual one only a 404 says that it isn't
 * there; elsewhere any response does that isn't about the task, except an error that may pass.
 */
function triesNext({ where }: TaskQuery, outcome: Outcome): boolean {
	if (where === 'usual') return outcome.kind === 'response' && outcome.httpCode === 404;
	return !isTransient(outcome) || isPage(outcome);
}

/** Whether a response that isn't good has a success status, as a web page, which stays the same. */
const isPage = (outcome: Outcome): boolean => outcome.kind === 'response' && outcome.httpCode < 300;

function notFound(task: PolledTask, missed: Missed[], sentAt: number, home: string): PollResult {
	// A server in front of the gateway has responded.
	const inFront = missed.find(
		({ where, outcome }) => where === 'usual' && !isGatewayError(outcome),
	);
	const error =
		inFront === undefined
			? noSuchTask(task, missed, home)
			: errorOf(inFront.plan, inFront.outcome, task);
	// Final only if each of these is the gateway's own refusal: an error in a 200 may be of anything.
	const isSure = missed.every(({ outcome }) => isGatewayError(outcome) && !isGood(outcome));
	if (isSure && noteNotFound(task, sentAt)) return { kind: 'final', error };
	return mayPass(error, missed[0] && cappedRetryAfter(missed[0].outcome));
}

/** The result of a poll with an error of which another one tells whether it passes. */
const mayPass = (error: GatewayError, pauseMs?: number): PollResult => ({
	kind: 'transient',
	error,
	pauseMs,
	soon: true,
});

/** Updates a task by its state. A completed task without an image may list it a moment later. */
function noted(task: PolledTask, result: PolledState, now: number): PollResult {
	const { state, pauseMs } = result;
	// As after a 404, it may become visible a moment later.
	if (isUnknownWord(state.status) && state.images.length === 0) {
		const unknown = lostTaskError(state);
		return noteNotFound(task, now) ? { kind: 'final', error: unknown } : mayPass(unknown, pauseMs);
	}
	const { taskType, statusUrl } = state;
	const found = { taskType, statusUrl, seen: true, notFoundSince: undefined, notFoundCount: 0 };
	Object.assign(task, found);
	const error = state.group === 'success' ? taskError(state) : undefined;
	// Without an image only in a row: one that is processed again may take its time.
	if (error === undefined) task.noImageSince = undefined;
	return error === undefined || noteNoImage(task, now) ? result : mayPass(error, pauseMs);
}

/** Reads the response to one query. */
function readResult(
	plan: FreePlan,
	outcome: Outcome,
	task: PolledTask,
	known: TasksOfRun['kinds'],
): PollResult {
	const pauseMs = cappedRetryAfter(outcome);
	if (isGood(outcome)) {
		const otherId = otherTaskId(task.taskId, outcome.json);
		if (otherId !== undefined && known.get(otherId))
			return wrongTask(task.taskId, otherId, outcome);
		const state = readTaskState(locatedBy(plan, task), outcome.json, outcome.headers);
		const isState = state.status !== '' && !saysRequestFailed(outcome.json, task, state);
		if (isState) return { kind: 'state', state, pauseMs };
	}
	if (isTransient(outcome) || isGood(outcome)) return passing(plan, outcome, task);
	return { kind: 'final', error: errorOf(plan, outcome, task) };
}

/** The result of a query whose error may pass. */
const passing = (plan: FreePlan, outcome: Outcome, task: Task): PollResult => ({
	kind: 'transient',
	error: errorOf(plan, outcome, task),
	pauseMs: requestedPauseMs(outcome, Date.now()),
	rateLimited: isRateLimited(outcome),
});

/** The task with its kind and, if that isn't enough to find it again, its address. */
function locatedBy(plan: FreePlan, { taskId, taskType, statusUrl, sent }: Task): Task {
	const path = folderOf(plan);
	const kind = taskType ?? kindAt(path);
	const isUsual = kind !== undefined && path === TASK_PATHS[kind];
	return { taskId, taskType: kind, statusUrl: isUsual ? statusUrl : plan.path, sent };
}

/** The error of a query, with the kind only if it is known: a retry would not try the other. */
const errorOf = (plan: FreePlan, outcome: Outcome, { taskId, taskType }: Task) =>
	withDetails(errorFor(plan, outcome), { taskId, taskType });

/** The longest pause by a `Retry-After` on a status or a 404. */
const LONGEST_POLL_PAUSE_MS = 30_000;

/** The pause by the `Retry-After` of a response about a task. That of an error isn't limited. */
function cappedRetryAfter(outcome: Outcome): number | undefined {
	const pauseMs = requestedPauseMs(outcome, Date.now());
	return pauseMs === undefined ? undefined : Math.min(pauseMs, LONGEST_POLL_PAUSE_MS);
}

function noSuchTask(
	{ taskId, taskType, statusUrl }: Task,
	missed: Missed[],
	home: string,
): GatewayError {
	const paths = missed.map(({ plan }) => quote(plan.path)).join(', ');
	const isElsewhere = statusUrl !== undefined && pathAtGateway(statusUrl, home) === undefined;
	const named = isElsewhere
		? ` The gateway named ${quote(statusUrl)} for it, which wasn't asked: it isn't at the gateway's address, so it must not get the key.`
		: '';
	const problem: Problem = {
		message: `The gateway has no ${taskType === undefined ? '' : `${taskType} `}task ${quote(taskId)} (404)`,
		description: `The gateway no longer has the task, or another account submitted it: then use its key. It isn't at ${paths}.${named}`,
		httpCode: 404,
		taskId,
		taskType,
	};
	return new GatewayError(problem, 'taskLost');
}

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
	return mayPass(error, cappedRetryAfter(outcome));
}

/** Adds a hint about a task that was found among those of another kind, by an ID that may be another's. */
function hintOtherKind(hints: Set<string>, task: Task, path = ''): void {
	if (task.taskType === undefined || isUnique(task, path)) return;
	hints.add(
		`The gateway has no ${taskName(task)}, but one of the kind '${kindAt(path)}' with this ID. Check whether its images match the prompt.`,
	);
}

/** Adds a hint if the response names another task, whose images may belong to another prompt. */
export function hintOtherTask({ hints }: Pick<WaitContext, 'hints'>, state: TaskState): void {
	const otherId = otherTaskId(state.taskId, state.response);
	if (otherId === undefined) return;
	hints.add(
		`The gateway's response about task ${quote(state.taskId)} names another task, ${quote(otherId)}. Check whether its images match the prompt.`,
	);
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
