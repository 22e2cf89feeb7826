import { errorFor } from './errors/errorMessages';
import {
	UNREAD_RESPONSE,
	clearer,
	refusedLater,
	stoppedProblem,
	unusableProblem,
	withTaskId,
} from './errors/paymentErrors';
import type { Journal } from './journal';
import type { Client } from './pace/client';
import { GatewayError, hasCode, unknownOutcome, type Problem } from './protocol/gatewayError';
import { withIdempotencyKey } from './protocol/idempotency';
import {
	chargedAfter,
	isGood,
	isOverloaded,
	withLocationOnly,
	type GoodResponse,
} from './protocol/outcome';
import type { PaidPlan } from './protocol/requestPlan';
import { RunEnded } from './protocol/runEnded';
import type { Requests } from './wire/inFlight';
import type { SendOnce } from './wire/sendOnce';

/** What sends a paid request: the client of a run, and how it makes an attempt. */
export interface Payer {
	client: Pick<Client, 'requestPaid'>;
	sendOnce: SendOnce;
	requests: Pick<Requests, 'arriving'>;
	/** The name of the header by which the gateway knows a payment, if it does. */
	idempotencyHeader?: string;
}

/**
 * What an earlier request was paid for.
 *
 * @returns undefined if there was none that was or may have been charged
 * @throws GatewayError `outcomeUnknown` if it may have been charged
 */
export function paidBefore<Key, R>(journal: Journal<Key, R>, key: Key): R | undefined {
	const before = journal.find(key);
	if (before?.charged === 'maybe') throw unknownOutcome(before.problem);
	return before?.receipt;
}

/**
 * Sends a paid request, unless the journal has what an earlier one was paid for. There is no other way to
 * send one. What may have been charged is only sent again with the key by which the gateway knows it.
 *
 * @param read reads the receipt in a response; undefined if it contains nothing usable
 * @throws GatewayError, with the code `outcomeUnknown` if the request may have been charged; RunEnded if
 *   the run ends before: then the request stays begun
 */
export async function pay<Key, R>(
	{ client, sendOnce, requests, idempotencyHeader = '' }: Payer,
	journal: Journal<Key, R>,
	key: Key,
	given: PaidPlan,
	read: (response: GoodResponse) => R | undefined,
): Promise<R> {
	const before = journal.find(key);
	if (before?.charged === 'yes') return before.receipt;
	const reference = idempotencyHeader === '' ? undefined : journal.reference?.(key);
	if (before !== undefined && reference === undefined) throw unknownOutcome(before.problem);
	const plan = withIdempotencyKey(given, idempotencyHeader, reference);
	/** The problem of an earlier attempt that may have been charged, whatever becomes of the later ones. */
	let unclear: Problem | undefined = before?.problem;
	// By attempt and not by request: a Stop in the pause between two of them has charged nothing.
	const attempt: SendOnce = async (...args) => {
		journal.begin(key, () =>
			clearer(unclear, stoppedProblem(plan, requests.arriving.get(plan)?.())),
		);
		const outcome = await sendOnce(...args);
		if (isGood(withLocationOnly(outcome)) && !isOverloaded(outcome, plan.call)) return outcome;
		if (chargedAfter(outcome, plan.call, plan.isIdempotent) === 'maybe')
			unclear = clearer(unclear, withTaskId(plan, errorFor(plan, outcome).problem));
		else if (unclear === undefined) journal.settle(key, { charged: 'no' });
		return outcome;
	};
	let receipt: R | undefined;
	try {
		const response = await client.requestPaid(plan, attempt);
		receipt = read(response);
		if (receipt === undefined) throw unknownOutcome(unusableProblem(plan, response));
	} catch (error) {
		// An error of any other kind is of whoever reads the response, which was charged.
		const failure =
			error instanceof GatewayError || error instanceof RunEnded
				? error
				: unknownOutcome(UNREAD_RESPONSE);
		if (failure instanceof RunEnded) throw failure as Error;
		const isUnknown = hasCode(failure, 'outcomeUnknown');
		if (!isUnknown && unclear === undefined) throw failure as Error;
		const problem = isUnknown
			? clearer(unclear, withTaskId(plan, failure.problem))
			: refusedLater(failure.problem, unclear!);
		journal.settle(key, { charged: 'maybe', problem });
		throw unknownOutcome(problem);
	}
	// A journal that can't write it down is no unknown outcome.
	journal.settle(key, { charged: 'yes', receipt });
	return receipt;
}
