/**
 * What went wrong, for a person and for a workflow that goes on: what happened, what to do, and
 * whatever leads back to something that was paid for.
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
	/** How the response begins in which the ID of a paid task, or the image of one, may stand. */
	response?: string;
}

/** Anything that the gateway or the way to it did wrong. Faces turn it into an error of n8n. */
export class GatewayError extends Error {
	override name = 'GatewayError';

	constructor(readonly problem: Problem) {
		super(problem.message);
	}
}

/**
 * A paid request was sent and no response tells what became of it: it may have been charged. It is
 * never sent again by itself.
 */
export class UnknownOutcomeError extends GatewayError {
	override name = 'UnknownOutcomeError';
}

/** The same error with more known about it, for example the task it belongs to. */
export function withDetails(error: GatewayError, details: Partial<Problem>): GatewayError {
	const Kind = error.constructor as new (problem: Problem) => GatewayError;
	return new Kind({ ...error.problem, ...details });
}
