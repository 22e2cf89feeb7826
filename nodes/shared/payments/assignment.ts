import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';
import type { Problem } from '../../../gateway';
import { digestOf, type Digest } from '../../../util/digest';
import type { RequestFacts } from '../errors/itemReport';
import { type isTool, runIndexOf } from '../run/runContext';
import { claim, EarlierPayments, isInUse, release } from './earlierPayments';
import { lookupKeysOf, type Identity } from './identity';
import {
	adviceForCalled,
	endedWithoutResult,
	endOf,
	RECOVERY_ADVICE,
	RECOVERY_ADVICE_OF_ONE,
	type Payment,
	type PaymentResult,
} from './payment';
import { keepOnly, openPayments, recordable, type OpenedPayments } from './storedPayments';

/** What the record of payments asks n8n for. */
export type PaymentContext = Parameters<typeof isTool>[0] &
	Parameters<typeof runIndexOf>[0] &
	Parameters<typeof openPayments>[0] &
	Pick<IExecuteFunctions, 'getInputData'> &
	Partial<Pick<IExecuteFunctions, 'getMode'>>;

/** Where payments come from beside the requests of this run, which differs by node. */
export interface PaymentSources {
	/**
	 * Whether Retry On Fail sends again what has an unknown outcome, and this run whatever comes back: a message
	 * costs less than its absence.
	 */
	resendsUnknown?: boolean;
	/** Reads the payment of a failed item that comes back as input; never throws. */
	readPaymentOfInput?: (itemIndex: number) => PaymentResult | undefined;
}

/**
 * Which payment is whose: those of a node outlive the tries of Retry On Fail and n8n's Retry of a failed
 * execution, and an item gets an earlier one in place of its request. Its result is used again by
 *
 * 1. the item of the same run (execution, run index), whatever it sends now; so is that of a failed item
 *    that has come back, and has brought it in its details,
 * 2. the item at the same index with the same choices and input: its prompt may contain the time of
 *    day or a random seed,
 * 3. the item at the same index that sends the same request,
 * 4. another item that sends it, if the payment's own item sends another one.
 *
 * `identify` returns what an item is known by, and `findOwnEarlier` takes it. With the digest of its request in
 * it, `assign` gives payments to all that have been identified. The first two rules need neither the item's
 * files nor the model list, which may be gone when a person retries: `findOwnEarlier` follows them alone. All
 * rules but the first mean the same account (the credential's ID and address). In the same execution, a
 * failed task or an unknown outcome isn't paid for again, but for a message; in another one a person has
 * looked, and the request is sent again, as is a failed task that an item has brought. Calls of an agent's
 * tool own them in another way.
 */
export class Assignment {
	/** The list itself, as simultaneous calls of a tool share it. */
	readonly payments: Payment[];

	/** The problem of all items without a payment, if this execution can't read the record. */
	readonly unreadableRecord?: Problem;

	/** This execution, and this run of the node in it. */
	protected readonly run: Pick<Payment, 'executionId' | 'runIndex'>;

	protected readonly earlier: EarlierPayments;

	/** A digest of what the person chose. */
	protected readonly choices: string;

	protected readonly opened: OpenedPayments;

	/** What the items are known by. One in a dry run, or that couldn't be prepared, has none. */
	protected readonly identities = new Map<number, Identity>();

	/** By item, the payment that this try has made, or uses again. */
	readonly owned = new Map<number, Payment>();

	/** By item, what it sends or would have sent, once that is read; an unknown outcome is recorded with it. */
	readonly facts = new Map<number, RequestFacts>();

	/** What the gateway knows the requests of this try by. */
	protected readonly idempotencyKeys = new Map<number, string>();

	/** By item, what it has brought and this run sends again: it may have been charged all the same. */
	private readonly sentBefore = new Map<number, PaymentResult>();

	/** @see numberRequests */
	private numbers?: Map<number, number>;

	/** @param choices what the person chose for the node's requests */
	constructor(
		protected readonly context: PaymentContext,
		choices: unknown,
		sources: PaymentSources,
	) {
		const executionId = context.getExecutionId() ?? '';
		this.run = { executionId, runIndex: runIndexOf(context) };
		this.choices = digestOf(choices);
		this.opened = openPayments(
			context,
			(payment) => !payment.delivered || this.isOfThisRun(payment),
		);
		({ payments: this.payments, unreadableRecord: this.unreadableRecord } = this.opened);
		// A person's word: another round of a loop, or an agent's call, isn't one.
		const resends = sources.resendsUnknown === true && context.getNode().retryOnFail === true;
		this.earlier = new EarlierPayments(this.payments, executionId, resends);
		// If the node runs again, the engine has dropped what the earlier try returned.
		for (const payment of this.payments) payment.delivered = false;
		this.addPaymentsOfInput(sources);
	}

	/** The number of input items. */
	get count(): number {
		return this.context.getInputData().length;
	}

	/**
	 * Reads what an item is known by: its choices and input.
	 *
	 * @param account a digest of the paying account
	 * @param digest digests a value as `digestOf`, a large one in turns
	 */
	async identify(itemIndex: number, account: string, digest: Digest): Promise<Identity> {
		const { json = {}, binary } = this.context.getInputData()[itemIndex] ?? {};
		const isKnown = this.isKnownBy(json);
		const inputDigest = isKnown ? await digest([account, this.choices, json, binary]) : '';
		const identity = { ...this.placeOf(itemIndex), inputDigest };
		this.identities.set(itemIndex, identity);
		return identity;
	}

	/**
	 * The payment that `assign` will give to an item, whatever its request and those of the other items
	 * are.
	 */
	findOwnEarlier(identity: Identity): Payment | undefined {
		const found = this.earlier.find(lookupKeysOf(identity));
		// It may be sent again, if the item's request is still the same.
		if (found?.result.kind === 'unknown' && found.idempotencyKey !== undefined) return undefined;
		const { unreadableRecord: problem } = this;
		return found ?? (problem && { ...identity, result: { kind: 'unknown', problem } });
	}

	/** Gives all identified items their earlier payments: first each its own. */
	assign(): void {
		const identified = this.identified();
		for (const { itemIndex } of identified) this.assignOwn(itemIndex);
		for (const { itemIndex, requestDigest } of identified) {
			if (this.owned.has(itemIndex)) continue;
			const payment = this.earlier.find([requestDigest]);
			if (payment !== undefined) this.use(itemIndex, payment);
		}
	}

	/**
	 * Gives an item the payment that is its own. No other item that is identified asks for it before
	 * the last step of `assign`.
	 */
	assignOwn(itemIndex: number): Payment | undefined {
		const own = this.findOwn(itemIndex);
		if (own !== undefined) return this.use(itemIndex, own);
		const { unreadableRecord: problem } = this;
		if (problem === undefined || !this.identities.has(itemIndex)) return undefined;
		return this.record(itemIndex, this.unknownOf(itemIndex, problem));
	}

	/** All payments of an item: that of this try, and earlier ones, also those that aren't used again. */
	paymentsOf(itemIndex: number): Payment[] {
		const used = this.owned.get(itemIndex);
		return this.payments.filter(
			(payment) =>
				payment === used ||
				(payment.itemIndex === itemIndex && !isInUse(payment) && this.isOwn(payment, itemIndex)),
		);
	}

	/** What they have come to, and before them what the item has brought and this run sends again. */
	resultsOf(itemIndex: number): PaymentResult[] {
		const recorded = this.paymentsOf(itemIndex).map(({ result }) => result);
		return [this.sentBefore.get(itemIndex) ?? [], recorded].flat();
	}

	/** The payments that this try has made or uses again, and what the items of this run would use again. */
	ownPayments(): Set<Payment> {
		// The run may have ended before all items were prepared.
		const indexes = Array.from({ length: this.count }, (_, index) => index);
		const found = indexes.flatMap((index) => this.findOwn(index) ?? []);
		return new Set([...this.owned.values(), ...found]);
	}

	/** The payments of this execution that no run in progress uses. */
	leftOver(): Payment[] {
		const { executionId } = this.run;
		return this.payments.filter((one) => one.executionId === executionId && !isInUse(one));
	}

	/** The result of a request of unknown outcome. */
	unknownOf(itemIndex: number, problem: Problem): PaymentResult {
		return { kind: 'unknown', facts: this.facts.get(itemIndex), problem };
	}

	/** Records what the payment of an item has come to, without secrets. */
	record(itemIndex: number, result: PaymentResult): Payment {
		const recorded = recordable(this.context, result);
		const payment = this.owned.get(itemIndex);
		if (payment !== undefined) return Object.assign(payment, { result: recorded });
		const idempotencyKey = this.idempotencyKeys.get(itemIndex);
		const added = { result: recorded, idempotencyKey, ...this.identityOf(itemIndex) };
		this.payments.push(added);
		return this.use(itemIndex, added);
	}

	/**
	 * The same for a request in this execution and in all that retry it; in n8n 2 also after a crash that
	 * has left no record. After a failed task, or a response without an image, a person who retries wants another
	 * one.
	 *
	 * @see Journal
	 */
	idempotencyKey(itemIndex: number): string | undefined {
		const earlier = this.owned.get(itemIndex);
		if (earlier !== undefined) {
			const isSame = earlier.requestDigest === this.identityOf(itemIndex).requestDigest;
			return isSame && !endedWithoutResult(earlier.result) ? earlier.idempotencyKey : undefined;
		}
		const idempotencyKey = this.newIdempotencyKey(itemIndex);
		this.idempotencyKeys.set(itemIndex, idempotencyKey);
		return idempotencyKey;
	}

	/** Whether an earlier payment may be that of a request which an item of this run has sent again. */
	isOfSender(payment: Payment): boolean {
		return this.isOfThisRun(payment);
	}

	/** How a person gets what was paid for and not returned. */
	recoveryAdvice(): string {
		// What has called this workflow would call it anew.
		if (this.context.getMode?.() === 'integrated') return adviceForCalled(this.run.executionId);
		return this.count === 1 ? RECOVERY_ADVICE_OF_ONE : RECOVERY_ADVICE;
	}

	/**
	 * The node returns its items. The payments of the run are removed, unless the engine may run the node
	 * again.
	 *
	 * @param failed indexes of the input items that failed
	 */
	markReturned(failed: Set<number>): void {
		const mayRunAgain = this.context.getNode().retryOnFail === true && failed.size > 0;
		keepOnly(this.payments, (payment) => {
			if (!this.isOfThisRun(payment)) return true;
			payment.delivered = true;
			return mayRunAgain;
		});
	}

	/** Must be called when the run is over, however it ended. */
	close(): void {
		this.owned.forEach(release);
	}

	/**
	 * What the gateway knows the request of an item by that has no payment: the same when a table gives its
	 * rows in another order. Equal ones differ by their number.
	 */
	protected newIdempotencyKey(itemIndex: number): string {
		const { requestDigest, runIndex } = this.identityOf(itemIndex);
		const ended = this.paymentsOf(itemIndex).filter(
			(one) => endedWithoutResult(one.result) && one.runIndex === runIndex,
		).length;
		// The same execution may be retried twice, each time for another image.
		const retry = ended > 0 ? [ended, this.run.executionId] : [];
		this.numbers ??= this.numberRequests();
		return this.idempotencyKeyOf(requestDigest, runIndex, this.numbers.get(itemIndex), ...retry);
	}

	/** Whether the input of an item says which one it is. */
	protected readonly isKnownBy: (json: IDataObject) => boolean = () => true;

	/** The earlier payment that is an item's own. */
	protected findEarlier(itemIndex: number, identity?: Identity): Payment | undefined {
		if (identity !== undefined) return this.earlier.find(lookupKeysOf(identity));
		// One that failed before it was identified, such as by the credential, has the payment of its
		// index, made for the same choices. In n8n's Retry, it has the index and the input of the
		// execution that has paid.
		return this.paymentsOf(itemIndex).find(
			(one) => one.choices === this.choices && this.earlier.isUsable(one),
		);
	}

	/** Whether an earlier payment with the index of an item is that of the item. */
	protected isOwn({ inputDigest, requestDigest }: Payment, itemIndex: number): boolean {
		const identity = this.identityOf(itemIndex);
		const isSame = requestDigest === identity.requestDigest && requestDigest !== '';
		return !this.identities.has(itemIndex) || inputDigest === identity.inputDigest || isSame;
	}

	/** The payment that an item has, or the one that is its own. */
	protected findOwn(itemIndex: number): Payment | undefined {
		return this.owned.get(itemIndex) ?? this.findEarlier(itemIndex, this.identities.get(itemIndex));
	}

	/** Assigns a payment to an item of this try. */
	protected use(itemIndex: number, payment: Payment): Payment {
		const { inputDigest } = this.identities.get(itemIndex) ?? payment;
		Object.assign(payment, this.run, { itemIndex, inputDigest, choices: this.choices });
		this.owned.set(itemIndex, payment);
		claim(payment);
		return payment;
	}

	/** Records what input items bring with them like payments of an earlier try of this run. */
	private addPaymentsOfInput({ resendsUnknown, readPaymentOfInput }: PaymentSources): void {
		const own = this.payments.filter((payment) => this.isOfThisRun(payment));
		const known = new Set(own.map(({ itemIndex }) => itemIndex));
		for (let itemIndex = 0; itemIndex < this.count; itemIndex += 1) {
			const result = known.has(itemIndex) ? undefined : readPaymentOfInput?.(itemIndex);
			if (result === undefined) continue;
			const isSentAgain = resendsUnknown === true || endOf(result) === 'failed';
			if (isSentAgain) this.sentBefore.set(itemIndex, result);
			else this.payments.push({ ...this.placeOf(itemIndex), result });
		}
	}

	/**
	 * The numbers of the items whose requests are to be sent: how many equal ones stand before each. That of
	 * an earlier payment that another item uses is passed over: that item may have been sent alone.
	 */
	private numberRequests(): Map<number, number> {
		const taken = new Set([...this.owned.values()].map(({ idempotencyKey }) => idempotencyKey));
		const next = new Map<string, number>();
		const numbers = new Map<number, number>();
		for (const { itemIndex, requestDigest, runIndex } of this.identified()) {
			if (this.owned.has(itemIndex)) continue;
			let number = next.get(requestDigest) ?? 0;
			while (taken.has(this.idempotencyKeyOf(requestDigest, runIndex, number))) number += 1;
			numbers.set(itemIndex, number);
			next.set(requestDigest, number + 1);
		}
		return numbers;
	}

	/** What the items are known by, in their order: large inputs may have been read later than others. */
	private identified(): Identity[] {
		return [...this.identities.values()].sort((one, other) => one.itemIndex - other.itemIndex);
	}

	/** What an item is known by; one that couldn't be prepared has a place in the run only. */
	protected identityOf(itemIndex: number): Identity {
		return this.identities.get(itemIndex) ?? this.placeOf(itemIndex);
	}

	/** The identity of an item of which nothing is read. */
	private placeOf(itemIndex: number): Identity {
		return { itemIndex, requestDigest: '', inputDigest: '', choices: this.choices, ...this.run };
	}

	protected idempotencyKeyOf(requestDigest: string, ...number: unknown[]): string {
		const parts = [this.opened.token(), this.context.getNode().name, requestDigest, ...number];
		return JSON.stringify(parts);
	}

	private isOfThisRun({ executionId, runIndex }: Payment): boolean {
		return executionId === this.run.executionId && runIndex === this.run.runIndex;
	}
}
