import type { IExecuteFunctions } from 'n8n-workflow';
import type { SendOnce } from '../../../gateway/client/client';
import { digestOf, requestFingerprint } from '../../../gateway/protocol/fingerprint';
import type { GoodResponse } from '../../../gateway/protocol/outcome';
import type { RequestPlan } from '../../../gateway/protocol/requestPlan';
import { isInline } from '../../../gateway/protocol/task';
import { UnknownOutcomeError, type Problem } from '../../../gateway/util/gatewayError';
import {
	mostCharged,
	type Charged,
	type ItemFacts,
	type KnownItems,
	type Recovered,
	type UnreturnedPayment,
} from '../run/itemFacts';
import type { RequestFacts } from '../run/requestFacts';
import { isTool, runIndexOf, type Run } from '../run/runContext';
import {
	RESCUE,
	RESCUE_OF_ONE,
	chargeOf,
	itemsWithoutAddress,
	listPayments,
	stoppedProblem,
	unusableProblem,
	withPayment,
	withTaskId,
	type PaymentResult,
	type Payment,
} from './payment';
import { keepOnly, openPayments } from './storedPayments';

/** Payments used by a run in progress: an agent may make the same tool call twice at once. */
const inUse = new WeakSet<Payment>();

/**
 * The payments of a node, which outlive the tries of Retry On Fail and n8n's Retry of a failed
 * execution. The result of an earlier payment is used again by
 *
 * 1. the item of the same run (execution, run index), whatever it sends now,
 * 2. the item with the same choices and input: its prompt may contain the time of day or a random seed,
 * 3. the item that sends the same request,
 * 4. another item that sends it, if the payment's own item sends another one.
 *
 * The first two need neither the item's files nor the model list, which may be gone when a person
 * retries. All mean the same account (the credential's ID and address). In the same execution, a
 * failed task or an unknown outcome isn't paid for again; in another one a person has looked, and
 * the request is sent again. The payment of a tool call that succeeded is removed: the next call is
 * meant to create another image.
 */
export class PaymentLog implements KnownItems {
	private readonly isTool: boolean;

	private readonly run: Pick<Payment, 'executionId' | 'runIndex'>;

	private readonly payments: Payment[];

	/** The problem of all items without a payment, if this execution can't read the record. */
	private readonly unknown?: Problem;

	private readonly identities = new Map<number, Identity>();

	/** Payments that this try has made or uses again, by item. */
	private readonly used = new Map<number, Payment>();

	/** Items whose payment this try has looked up with `reuse`: their errors name it. */
	private readonly started = new Set<number>();

	/** Requests in progress, by item, each with its problem in case of a Stop. */
	private readonly sending = new Map<number, () => Problem>();

	/** Earlier payments by each of their keys (`keysOf`), the first of them last. */
	private byKey?: Map<string, Payment[]>;

	/** What this try sends or would have sent, by item. */
	private readonly requests = new Map<number, RequestFacts>();

	/**
	 * @param choices what the person chose for the node's requests
	 * @param readFacts reads what an item would send, as far as that can be read; never throws
	 */
	constructor(
		private readonly context: IExecuteFunctions,
		private readonly choices: unknown,
		private readonly readFacts: (itemIndex: number) => RequestFacts = () => ({}),
	) {
		this.isTool = isTool(context);
		this.run = {
			executionId: context.getExecutionId() ?? '',
			runIndex: runIndexOf(context),
		};
		const { payments, unknown } = openPayments(
			context,
			(payment) => !payment.delivered || this.isOfThisRun(payment),
		);
		[this.payments, this.unknown] = [payments, unknown];
		// If the node runs again, the engine has dropped what the earlier try returned.
		for (const payment of this.payments) payment.delivered = false;
		this.choices = digestOf(choices);
	}

	/**
	 * Looks for the earlier payment of an item, before its files are read and its limits are checked.
	 *
	 * @param account a digest of the paying account
	 * @returns whether the item has been paid for, or may have been; then no other item gets the
	 *   payment
	 */
	claim(itemIndex: number, account: string): boolean {
		const { json, binary } = this.context.getInputData()[itemIndex] ?? {};
		const source = digestOf([account, this.choices, json, binary]);
		this.identities.set(itemIndex, { ...this.run, itemIndex, fingerprint: '', source });
		// All calls of a tool are one item, so only the request tells which payment is whose.
		return !this.isTool && this.find(itemIndex) !== undefined;
	}

	/**
	 * Sets the request of an item that has no claim. Must be called for all of them before one is
	 * paid for: its own item gets a payment before another one with the same request.
	 *
	 * @param plan the synchronous request before the model list has changed it, as the list may
	 *   change
	 */
	expect(itemIndex: number, plan: RequestPlan, account: string): void {
		const fingerprint = requestFingerprint(plan, account);
		this.identities.set(itemIndex, { ...this.identityOf(itemIndex), fingerprint });
		if (!this.isTool) this.find(itemIndex, true);
	}

	/** Whether an item has been paid for, or may have been, in this try or an earlier one. */
	has(itemIndex: number): boolean {
		return this.sending.has(itemIndex) || this.find(itemIndex) !== undefined;
	}

	/**
	 * The result of the earlier payment of an item, if there is one: then nothing is sent.
	 *
	 * @throws UnknownOutcomeError if the earlier request may have been charged
	 */
	reuse(itemIndex: number): PaymentResult | undefined {
		this.started.add(itemIndex);
		const result = this.find(itemIndex)?.result;
		if (result?.unknown !== undefined) throw new UnknownOutcomeError(result.unknown);
		return result;
	}

	/**
	 * Sends the paid request of an item, for which `reuse` has found no payment.
	 *
	 * @param read reads the result in a response; undefined if it contains nothing usable
	 * @throws GatewayError, or UnknownOutcomeError if the request may have been charged
	 */
	async pay(
		itemIndex: number,
		plan: RequestPlan,
		{ client, sendOnce, requests }: Pick<Run, 'client' | 'sendOnce' | 'requests'>,
		read: (response: GoodResponse) => PaymentResult | undefined,
	): Promise<PaymentResult> {
		const attempt: SendOnce = async (...args) => {
			this.sending.set(itemIndex, () => stoppedProblem(plan, requests.arriving.get(plan)?.()));
			// After a Stop this rejects, and the request stays in `sending`.
			const outcome = await sendOnce(...args);
			this.sending.delete(itemIndex);
			return outcome;
		};
		try {
			const response = await client.send(plan, { sendOnce: attempt });
			const result = read(response);
			if (result !== undefined) return this.add(itemIndex, result).result;
			throw new UnknownOutcomeError(unusableProblem(plan, response.json));
		} catch (error) {
			if (!(error instanceof UnknownOutcomeError)) throw error as Error;
			const unknown = new UnknownOutcomeError(withTaskId(plan, error.problem));
			this.add(itemIndex, { unknown: unknown.problem });
			throw unknown;
		}
	}

	/** The recorded facts of an item's request. */
	factsOf(itemIndex: number): RequestFacts | undefined {
		return this.used.get(itemIndex)?.result.facts;
	}

	/** Updates the payment of an item. */
	update(itemIndex: number, result: PaymentResult): void {
		const payment = this.used.get(itemIndex);
		if (payment !== undefined) payment.result = { ...payment.result, ...result };
	}

	/** Sets the facts of an item's request once they are read. */
	note(itemIndex: number, facts: RequestFacts): void {
		this.requests.set(itemIndex, facts);
	}

	/** @see KnownItems */
	readonly isPaying = true;

	/** @see KnownItems */
	get count(): number {
		return this.context.getInputData().length;
	}

	/** @see KnownItems */
	chargeOf(itemIndex: number): Charged {
		const payments = this.paymentsOf(itemIndex);
		// A record that can't be read may contain any request.
		const unreadable = this.unknown === undefined ? [] : (['maybe'] as const);
		return mostCharged([...payments.map(({ result }) => chargeOf(result)), ...unreadable]);
	}

	/** @see KnownItems */
	itemFacts(itemIndex: number): ItemFacts {
		const paid = this.used.get(itemIndex)?.result;
		const { task, unknown, images = [] } = paid ?? this.paymentsOf(itemIndex).at(-1)?.result ?? {};
		const request = paid?.facts ?? this.requests.get(itemIndex) ?? this.readFacts(itemIndex);
		const { model, prompt, estimatedCost } = request;
		return {
			charged: this.chargeOf(itemIndex),
			taskId: task?.taskId ?? unknown?.taskId,
			taskType: task?.taskType,
			status: task?.status,
			model,
			prompt,
			// The cost of a payment that this try hasn't looked up isn't in its sum.
			estimatedCost: this.started.has(itemIndex) ? estimatedCost : undefined,
			url: images.find((image) => !isInline(image))?.url,
		};
	}

	/** @see KnownItems */
	recover(error: unknown, itemIndex: number): Recovered {
		const payment = this.find(itemIndex) ?? this.findUnclaimed(itemIndex);
		if (payment === undefined || this.started.has(itemIndex)) return { error };
		const items = itemsWithoutAddress(payment.result, itemIndex);
		return { error: withPayment(error, payment), items };
	}

	/** @see KnownItems */
	get rescue(): string {
		const isThere = this.payments.some(
			({ result }) =>
				result.unknown === undefined && result.failed !== true && result.lost !== true,
		);
		if (!isThere || this.isTool) return '';
		return this.context.getInputData().length === 1 ? RESCUE_OF_ONE : RESCUE;
	}

	/** @see KnownItems */
	listUnreturned(): UnreturnedPayment[] {
		for (let itemIndex = 0; itemIndex < this.count; itemIndex += 1) this.findUnclaimed(itemIndex);
		const used = new Set(this.used.values());
		// Another call of the tool returns the payments that it uses.
		const open = this.payments.filter(
			(payment) =>
				payment.executionId === this.run.executionId && (used.has(payment) || !inUse.has(payment)),
		);
		const sending = [...this.sending].map(([itemIndex, problem]) => ({
			itemIndex,
			result: { unknown: problem() },
		}));
		return listPayments([...open, ...sending]);
	}

	/**
	 * The node returns its items. Their payments are removed, unless the item of a tool call failed
	 * or the engine may run the node again.
	 *
	 * @param failed indexes of the input items that failed
	 */
	markReturned(failed: Set<number>): void {
		const mayRunAgain = this.context.getNode().retryOnFail === true && failed.size > 0;
		const used = new Set(this.used.values());
		keepOnly(this.payments, (payment) => {
			if (this.isTool) return !used.has(payment) || failed.has(payment.itemIndex);
			if (!this.isOfThisRun(payment)) return true;
			payment.delivered = true;
			return mayRunAgain;
		});
	}

	/** Must be called when the run is over, however it ended. */
	close(): void {
		// The engine runs a node with Retry On Fail again even after a Stop.
		for (const [itemIndex, problem] of this.sending) this.add(itemIndex, { unknown: problem() });
		this.sending.clear();
		this.used.forEach((payment) => inUse.delete(payment));
	}

	private identityOf(itemIndex: number): Identity {
		const known = this.identities.get(itemIndex);
		// An item that couldn't be prepared has a place in the run only.
		return known ?? { ...this.run, itemIndex, fingerprint: '', source: '' };
	}

	/**
	 * The payment for an item, of this try or an earlier one, which then is no other item's.
	 *
	 * @param isOwn whether to leave out the payments of other items with the same request
	 */
	private find(itemIndex: number, isOwn = false): Payment | undefined {
		const used = this.used.get(itemIndex);
		const identity = this.identityOf(itemIndex);
		if (used !== undefined || (this.isTool && identity.source === '')) return used;
		// Simultaneous calls of a tool change the list at any time.
		const byKey = (this.isTool ? undefined : this.byKey) ?? byKeys(this.payments);
		this.byKey = byKey;
		const { request, ...own } = keysOf(identity);
		const keys = [...Object.values(own), isOwn ? '' : request];
		// The calls of a tool differ by their requests, and not by their places.
		if (this.isTool) keys.reverse();
		for (const payments of keys.map((key) => byKey.get(key) ?? [])) {
			// Each is looked at once, as thousands may be equal.
			for (let next = payments.pop(); next !== undefined; next = payments.pop()) {
				if (this.isUsable(next)) return this.use(itemIndex, next);
			}
		}
		const { unknown } = this;
		return unknown && this.identities.has(itemIndex) ? this.add(itemIndex, { unknown }) : undefined;
	}

	/**
	 * The payment of an item that failed before it could be claimed, such as by the credential. In n8n's
	 * Retry, an item has the index and the input of the execution that has paid.
	 */
	private findUnclaimed(itemIndex: number): Payment | undefined {
		if (this.isTool || this.identities.has(itemIndex)) return undefined;
		const payment = this.paymentsOf(itemIndex).find((one) => this.isUsable(one));
		return payment && this.use(itemIndex, payment);
	}

	/**
	 * All payments of an item: that of this try, and earlier ones, also those that aren't used again.
	 */
	private paymentsOf(itemIndex: number): Payment[] {
		const used = this.used.get(itemIndex);
		const identity = this.identities.get(itemIndex);
		const { source, fingerprint } = this.identityOf(itemIndex);
		const isSame = (payment: Payment): boolean =>
			payment.fingerprint === fingerprint && fingerprint !== '';
		const isOwn = (payment: Payment): boolean => {
			if (payment === used) return true;
			if (payment.itemIndex !== itemIndex || inUse.has(payment)) return false;
			// All calls of a tool are one item.
			if (this.isTool) return isSame(payment);
			return identity === undefined || payment.source === source || isSame(payment);
		};
		return this.payments.filter(isOwn);
	}

	private isUsable(payment: Payment): boolean {
		if (inUse.has(payment)) return false;
		const { executionId, result } = payment;
		return executionId === this.run.executionId || (!result.unknown && !result.failed);
	}

	private isOfThisRun({ executionId, runIndex }: Payment): boolean {
		return executionId === this.run.executionId && runIndex === this.run.runIndex;
	}

	/** Assigns a payment to an item of this try. */
	private use(itemIndex: number, payment: Payment): Payment {
		const { source } = this.identities.get(itemIndex) ?? payment;
		Object.assign(payment, this.run, { itemIndex, source });
		this.used.set(itemIndex, payment);
		inUse.add(payment);
		return payment;
	}

	private add(itemIndex: number, result: PaymentResult): Payment {
		const payment = { ...this.identityOf(itemIndex), result };
		this.payments.push(payment);
		return this.use(itemIndex, payment);
	}
}

/** What is known of a payment before it is made: its place, and what is sent. */
type Identity = Omit<Payment, 'result' | 'delivered'>;

/**
 * The keys by which a payment is found, in their order: its place, its item's choices and input, its
 * item's request, and its request. An empty key is none.
 */
const keysOf = ({ executionId, runIndex, itemIndex, fingerprint, source }: Identity) => ({
	place: `${executionId} ${runIndex} ${itemIndex}`,
	source: source && `${itemIndex} ${source}`,
	ownRequest: fingerprint && `${itemIndex} ${fingerprint}`,
	request: fingerprint,
});

/** Payments by each of their keys, the first of them last. */
function byKeys(payments: Payment[]): Map<string, Payment[]> {
	const found = new Map<string, Payment[]>();
	for (const payment of [...payments].reverse()) {
		for (const key of Object.values(keysOf(payment))) {
			const same = found.get(key);
			if (same !== undefined) same.push(payment);
			else if (key !== '') found.set(key, [payment]);
		}
	}
	return found;
}
