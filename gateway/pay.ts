import { errorFor } from './errors/errorFor';
import {
	UNREAD_RESPONSE,
	laterUnlessTaskLost,
	refusedLater,
	stoppedProblem,
	unusableProblem,
	withTaskId,
} from './errors/paymentErrors';
import { UNRECORDED, type Journal } from './journal';
import { eraseIn } from '../util/keyEraser';
import type { Client } from './pace/client';
import type { Account } from './protocol/account';
import { GatewayError, hasCode, unknownOutcome, type Problem } from './protocol/gatewayError';
import { withIdempotencyKey } from './protocol/idempotency';
import {
	chargedAfter,
	isGood,
	isOverloaded,
	withLocationAsBody,
	type GoodResponse,
} from './protocol/outcome';
import type { PaidPlan } from './protocol/requestPlan';
import { orEnded, RunEnded, type Requests } from './wire/inFlight';
import type { SendOnce } from './wire/sendOnce';

/** What sends a paid request: the client of a run, and how it makes an attempt. */
export interface Sender {
	client: Pick<Client, 'requestPaid'>;
	sendOnce: SendOnce;
	requests: Pick<Requests, 'arriving'>;
	/** Whose key is erased in what the journal is told, and whose gateway may know a payment by a header. */
	account: Pick<Account, 'idempotencyHeader' | 'withoutKey'>;
}

/** The payments in progress, by the journals and keys that know them. */
const inProgress = new WeakMap<object, Map<unknown, Promise<unknown>>>();

/**
 * Sends a paid request, unless the journal has what an earlier one was paid for. There is no other way to
 * send one. One with the key of a payment in progress waits for its end. What may have been charged is
 * only sent again with the key by which the gateway knows it.
 *
 * @param read reads the receipt in a response; undefined if it contains nothing usable
 * @throws GatewayError, with the code `outcomeUnknown` if the request may have been charged; RunEnded if
 *   the run ends before: then the request stays begun; or if the signal of the plan ends it before it was
 *   sent
 */
export async function pay<Key, R>(
	sender: Sender,
	journal: Journal<Key, R>,
	key: Key,
	plan: PaidPlan,
	read: (response: GoodResponse) => R | undefined,
): Promise<R> {
	if (journal === UNRECORDED) return await payOnce(sender, journal, key, plan, read);
	const running = inProgress.get(journal) ?? new Map<Key, Promise<unknown>>();
	inProgress.set(journal, running);
	while (running.has(key)) {
		const end = (resolve: (value: unknown) => void) => running.get(key)?.then(resolve, resolve);
		await new Promise(orEnded(plan.signal, end));
	}
	const payment = payOnce(sender, journal, key, plan, read);
	running.set(key, payment);
	return await payment.finally(() => running.delete(key));
}

async function payOnce<Key, R>(
	{ client, sendOnce, requests, account: { idempotencyHeader, withoutKey } }: Sender,
	journal: Journal<Key, R>,
	key: Key,
	given: PaidPlan,
	read: (response: GoodResponse) => R | undefined,
): Promise<R> {
	const before = journal.find(key);
	if (before?.charged === 'yes') return before.receipt;
	const idempotencyKey = idempotencyHeader === '' ? undefined : journal.idempotencyKey?.(key);
	if (before !== undefined && idempotencyKey === undefined) throw unknownOutcome(before.problem);
	const plan = withIdempotencyKey(given, idempotencyHeader, idempotencyKey);
	/** The problem of an earlier attempt that may have been charged, whatever becomes of the later ones. */
	let unclear: Problem | undefined = before?.problem;
	let isInProgress = false;
	// By attempt and not by request: a Stop in the pause between two of them has charged nothing.
	const recordedSend: SendOnce = async (...args) => {
		const pending = () => {
			const stopped = stoppedProblem(plan, requests.arriving.get(plan)?.());
			return eraseIn(laterUnlessTaskLost(unclear, stopped), withoutKey);
		};
		journal.begin(key, pending);
		isInProgress = true;
		const outcome = withLocationAsBody(await sendOnce(...args), plan.call);
		isInProgress = false;
		if (isGood(outcome) && !isOverloaded(outcome, plan.call)) return outcome;
		if (chargedAfter(outcome, plan.call, plan.isIdempotent) === 'maybe')
			unclear = laterUnlessTaskLost(unclear, withTaskId(plan, errorFor(plan, outcome).problem));
		else if (unclear === undefined) journal.settle(key, { charged: 'no' });
		return outcome;
	};
	let receipt: R | undefined;
	try {
		const response = await client.requestPaid(plan, recordedSend);
		receipt = read(response);
		if (receipt === undefined) throw unknownOutcome(unusableProblem(plan, response));
	} catch (error) {
		const charged = isInProgress || unclear !== undefined ? 'maybe' : 'no';
		const isBegun = unclear === undefined || plan.signal?.aborted !== true;
		if (error instanceof RunEnded && isBegun) throw new RunEnded(error.message, charged) as Error;
		const told = unknownProblem(plan, error, unclear);
		if (told === undefined) throw error as Error;
		const problem = eraseIn(told, withoutKey);
		journal.settle(key, { charged: 'maybe', problem });
		throw unknownOutcome(problem);
	}
	// A journal that can't write it down is no unknown outcome.
	journal.settle(key, { charged: 'yes', receipt });
	return receipt;
}

/**
 * The problem of a payment that may have been charged.
 *
 * @param failure of its last attempt, or of reading its response
 * @param unclear the problem of an earlier attempt that may have been charged
 * @returns undefined if nothing was charged
 */
function unknownProblem(
	plan: PaidPlan,
	failure: unknown,
	unclear: Problem | undefined,
): Problem | undefined {
	// What the signal of this call alone has ended is settled.
	if (failure instanceof RunEnded) return unclear;
	const isGateways = failure instanceof GatewayError;
	if (isGateways && !hasCode(failure, 'outcomeUnknown'))
		return unclear && refusedLater(failure.problem, unclear);
	// An error of any other kind is of whoever reads the response, which was charged.
	return laterUnlessTaskLost(
		unclear,
		withTaskId(plan, isGateways ? failure.problem : UNREAD_RESPONSE),
	);
}
