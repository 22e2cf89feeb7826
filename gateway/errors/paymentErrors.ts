import { namedAddresses } from '../../util/httpAddresses';
import type { Problem } from '../protocol/gatewayError';
import type { GoodResponse } from '../protocol/outcome';
import type { RequestPlan } from '../protocol/requestPlan';
import { errorIn } from '../responses/errorBody';
import { readBilling } from '../responses/paidResponse';
import { withRequestId } from '../responses/requestId';
import { idIn, readTaskId } from '../responses/responseFields';
import { shownResponse } from './taskErrors';
import { afterColon } from '../../util/text';

/**
 * The problem of a request that was ended by a Stop.
 *
 * @param arrived the beginning of the response
 */
export function stoppedProblem(plan: RequestPlan, arrived = ''): Problem {
	const problem: Problem = {
		message: 'The outcome is unknown: the execution was stopped before the response arrived',
		description: "Check the usage log in the gateway's console before you send it again.",
	};
	return arrived === '' ? problem : withTaskId(plan, { ...problem, response: arrived });
}

const MAY_BE_CHARGED =
	"You may have been charged, so the request wasn't sent again. Check the usage log in the gateway's console.";

/** The problem of a request whose response can't be read. */
export const UNREAD_RESPONSE: Problem = {
	message: "The outcome is unknown: the response can't be read",
	description: MAY_BE_CHARGED,
};

/** Of two problems of one payment the later one, unless only the earlier one names a task. */
export const laterUnlessTaskLost = (earlier: Problem | undefined, later: Problem): Problem =>
	earlier?.taskId !== undefined && later.taskId === undefined ? earlier : later;

/** The problem of a request that may have been charged before its last attempt was refused. */
export const refusedLater = (refusal: Problem, unclear: Problem): Problem => ({
	...unclear,
	// Not its description, which says that nothing was charged: an earlier attempt may have been.
	description: `${unclear.description} The last attempt failed: ${refusal.message}.`,
});

/** The problem of a successful response without an image, task ID or message. */
export function unusableProblem({ call }: RequestPlan, response: GoodResponse): Problem {
	const { json: body } = response;
	const billing = readBilling(response);
	return {
		...billing,
		isAnswered: true,
		message: `The response contains no ${call === 'message' ? 'message' : 'image or task ID'}${afterColon(errorIn(body))}`,
		description: withRequestId(
			`${MAY_BE_CHARGED}${call === 'message' ? '' : namedAddresses(body)}`,
			billing.requestId,
		),
		response: shownResponse({ response: body }),
		taskId: call === 'message' ? undefined : readTaskId(body),
	};
}

/** The same unknown outcome, with the ID in its response, which may be that of a task. */
export function withTaskId({ call }: RequestPlan, problem: Problem): Problem {
	if (call === 'message') return problem;
	const taskId = problem.taskId ?? idIn(problem.response ?? '');
	if (taskId === undefined) return problem;
	return {
		...problem,
		taskId,
		description: `${problem.description} The response contains the ID "${taskId}". Check whether it is a task.`,
		settings: ['task'],
	};
}
