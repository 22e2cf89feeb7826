import { chargeOfStatus, mostCharged, type Charged } from './charged';
import type { TaskType } from './taskType';

/** What an advice is about: a field of the credential or of a message, a limit or option, or what gets a task later. */
// prettier-ignore
export type Setting =
	| 'baseUrl' | 'mediaUrl' | 'apiKey' | 'headers' | 'version' | 'idempotencyHeader' | 'messageAuth' | 'asyncFlag'
	| 'imageApi' | 'allowUnauthorizedCerts' | 'allowedHosts' | 'timeout' | 'requestsPerSecond' | 'concurrency'
	| 'maxWait' | 'mode' | 'source' | 'task' | 'thinking' | 'effort' | 'max_tokens' | 'budget_tokens' | 'temperature'
	| 'top_p' | 'top_k' | 'history' | 'json' | 'toolChoice' | 'extraFields' | 'extraFiles' | 'imageFieldName';

/**
 * A problem for a person and for a workflow that continues: the cause, the advice, and everything
 * that leads to something paid for.
 */
export interface Problem {
	/** What happened, in one sentence. */
	message: string;
	/** What to do about it. */
	description: string;
	/** What that is about, for whoever knows where a person sets it. */
	settings?: Setting[];
	httpCode?: number;
	taskId?: string;
	taskType?: TaskType;
	/** The task's status as the gateway spelled it. */
	status?: string;
	url?: string;
	/** The gateway's bill, in `costCurrency` if that is named. */
	cost?: number;
	costCurrency?: string;
	/** What kind of error it is, in the gateway's own word. */
	errorType?: string;
	/** The number of the request that the error is about, for the gateway's support. */
	requestId?: string;
	/** The beginning of a response that may contain the ID of a paid task or its image. */
	response?: string;
	/** Whether a whole response came, which the gateway would give again to the same key. */
	isAnswered?: true;
	/** The text of a response that was paid for, but can't be returned as it was asked for. */
	text?: string;
}

/** What a person may do about something, and what that is about. */
export type Advice = Pick<Problem, 'description' | 'settings'>;

/** What an error means, where code decides by it; all others are for people to read. */
type ErrorCode =
	/** The request may have been accepted, and is only sent again where the gateway knows it by a key. */
	| 'outcomeUnknown'
	/** The task has failed or was canceled. */
	| 'taskFailed'
	/** The gateway doesn't have the task. */
	| 'taskLost'
	/** The task is still open at the deadline of its wait. */
	| 'taskOpen'
	/** The task has finished without an image. */
	| 'noImage'
	/** The gateway has no such list of models: it responds, but not with models. */
	| 'noList';

/** An error of the gateway or the connection. The nodes convert it into an error of n8n. */
export class GatewayError extends Error {
	override name = 'GatewayError';

	/** Whether the request was charged that the error is about: by its code, or its status. */
	readonly charged: Charged;

	constructor(
		readonly problem: Problem,
		readonly code?: ErrorCode,
	) {
		super(problem.message);
		const byCode = code === 'outcomeUnknown' ? 'maybe' : 'no';
		this.charged = mostCharged([byCode, chargeOfStatus(problem.status)]);
	}
}

/** The error of a paid request whose response is missing or unusable: it may have been charged. */
export const unknownOutcome = (problem: Problem): GatewayError =>
	new GatewayError(problem, 'outcomeUnknown');

/** Whether an error is one with this code. */
export const hasCode = (error: unknown, ...codes: ErrorCode[]): boolean =>
	error instanceof GatewayError && error.code !== undefined && codes.includes(error.code);

/** The same error with more details, for example its task. */
export const withDetails = (error: GatewayError, details: Partial<Problem>): GatewayError =>
	new GatewayError({ ...error.problem, ...details }, error.code);
