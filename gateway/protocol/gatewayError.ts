/**
 * A problem for a person and for a workflow that continues: the cause, the advice, and everything
 * that leads to something paid for.
 */
export interface Problem {
	/** What happened, in one sentence. */
	message: string;
	/** What to do about it. */
	description: string;
	httpCode?: number;
	taskId?: string;
	taskType?: 'generation' | 'edit';
	/** The task's status as the gateway spelled it. */
	status?: string;
	url?: string;
	/** The beginning of a response that may contain the ID of a paid task or its image. */
	response?: string;
	/** The text of a response that was paid for, but can't be returned as it was asked for. */
	text?: string;
}

/** An error of the gateway or the connection. The nodes convert it into an error of n8n. */
export class GatewayError extends Error {
	override name = 'GatewayError';

	constructor(readonly problem: Problem) {
		super(problem.message);
	}
}

/**
 * The error of a paid request whose response is missing or unusable: it may have been charged, and
 * is never sent again automatically.
 */
export class UnknownOutcomeError extends GatewayError {
	override name = 'UnknownOutcomeError';
}

/** The same error with more details, for example its task. */
export function withDetails(error: GatewayError, details: Partial<Problem>): GatewayError {
	const Kind = error.constructor as new (problem: Problem) => GatewayError;
	return new Kind({ ...error.problem, ...details });
}
