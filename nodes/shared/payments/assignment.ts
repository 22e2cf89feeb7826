import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';
import type { Problem } from '../../../gateway';
import { digestOf, type Digest } from '../../../util/digest';
import type { RequestFacts } from '../errors/itemReport';
import { type isTool, runIndexOf } from '../run/runContext';
import { claim, EarlierPayments, isInUse, release } from './earlierPayments';
import type { Identity } from './identity';
import { hasEnded, type Payment, type PaymentResult } from './payment';
import { openPayments, recordable, type OpenedPayments } from './storedPayments';

/** What the record of payments asks n8n for. */
export type PaymentContext = Parameters<typeof isTool>[0] &
	Parameters<typeof runIndexOf>[0] &
	Parameters<typeof openPayments>[0] &
	Pick<IExecuteFunctions, 'getInputData'> &
	Partial<Pick<IExecuteFunctions, 'getMode'>>;

/** Where payments come from beside the requests of this run, which differs by node. */
export interface PaymentSources {
	/** Whether Retry On Fail sends again what has an unknown outcome: a message costs less than its absence. */
	resendsUnknown?: boolean;
	/** Reads the payment of a failed item that comes back as input; never throws. */
	readBrought?: (itemIndex: number) => PaymentResult | undefined;
}

/**
 * Which payment is whose: those of a node outlive the tries of Retry On Fail and n8n's Retry of a failed
 * execution, and an item gets an earlier one in place of its request. `identify` returns what an item is
 * known by, `ownEarlier` and `identifyRequest` take it, and once all items are prepared, `assign` gives
 * payments to those that have been identified.
 */
export abstract class Assignment {
	/** The list itself, as simultaneous calls of a tool share it. */
	readonly payments: Payment[];

	/** The problem of all items without a payment, if this execution can't read the record. */
	readonly unknown?: Problem;

	/** This execution, and this run of the node in it. */
	protected readonly run: Pick<Payment, 'executionId' | 'runIndex'>;

	protected readonly earlier: EarlierPayments;

	/** A digest of what the person chose. */
	protected readonly choices: string;

	protected readonly opened: OpenedPayments;

	/** What the items are known by. One in a dry run, or that couldn't be prepared, has none. */
	protected readonly identities = new Map<number, Identity>();

	/** The payments that this try has made or uses again, by their items. */
	private readonly owned = new Map<number, Payment>();

	private readonly facts = new Map<number, RequestFacts>();

	/** What the gateway knows the requests of this try by. */
	protected readonly idempotencyKeys = new Map<number, string>();

	/** @param choices what the person chose for the node's requests */
	constructor(
		protected readonly context: PaymentContext,
		choices: unknown,
		resendsUnknown = false,
	) {
		const executionId = context.getExecutionId() ?? '';
		this.run = { executionId, runIndex: runIndexOf(context) };
		this.choices = digestOf(choices);
		this.opened = openPayments(
			context,
			(payment) => !payment.delivered || this.isOfThisRun(payment),
		);
		({ payments: this.payments, unknown: this.unknown } = this.opened);
		// A person's word: another round of a loop, or an agent's call, isn't one.
		const resends = resendsUnknown && context.getNode().retryOnFail === true;
		this.earlier = new EarlierPayments(this.payments, executionId, resends);
		// If the node runs again, the engine has dropped what the earlier try returned.
		for (const payment of this.payments) payment.delivered = false;
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
		const { choices } = this;
		const isKnown = this.isKnownBy(json);
		const inputDigest = isKnown ? await digest([account, choices, json, binary]) : '';
		const identity = { ...this.placeOf(itemIndex), choices, inputDigest };
		this.identities.set(itemIndex, identity);
		return identity;
	}

	/**
	 * Adds the request to what an item is known by.
	 *
	 * @param requestDigest that of the synchronous request before the model list has changed it, as the
	 *   list may change
	 */
	identifyRequest(identity: Identity, requestDigest: string): void {
		identity.requestDigest = requestDigest;
	}

	/**
	 * The payment that `assign` will give to an item, whatever its request and those of the other items
	 * are.
	 */
	abstract ownEarlier(identity: Identity): Payment | undefined;

	/** Gives all identified items their earlier payments: first each its own. */
	assign(): void {
		for (const { itemIndex } of this.identified()) this.assignOwn(itemIndex);
	}

	/**
	 * Gives an item the payment that is its own. No other item that is identified asks for it before
	 * the last step of `assign`.
	 */
	assignOwn(itemIndex: number): Payment | undefined {
		const own = this.findOwn(itemIndex);
		if (own !== undefined) return this.use(itemIndex, own);
		const { unknown: problem } = this;
		if (problem === undefined || !this.identities.has(itemIndex)) return undefined;
		return this.record(itemIndex, this.unknownOf(itemIndex, problem));
	}

	/** The payment of an item: of this try, or of an earlier one that this one uses again. */
	paymentOf(itemIndex: number): Payment | undefined {
		return this.owned.get(itemIndex);
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

	/** The payments that this try has made or uses again. */
	used(): Set<Payment> {
		return new Set(this.owned.values());
	}

	/** Those, and what the items of this run would use again. */
	abstract ownPayments(): Set<Payment>;

	/** Those that no run in progress uses, of this execution. */
	leftOver(): Payment[] {
		const { executionId } = this.run;
		return this.payments.filter((one) => one.executionId === executionId && !isInUse(one));
	}

	/** Sets the facts of an item's request once they are read; an unknown outcome is recorded with them. */
	setFacts(itemIndex: number, facts: RequestFacts): void {
		this.facts.set(itemIndex, facts);
	}

	/** What an item sends or would have sent. */
	factsOf(itemIndex: number): RequestFacts | undefined {
		return this.facts.get(itemIndex);
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
	 * The same for a request in this execution and in all that retry it, also after a crash that has left
	 * no record. After a failed task, or a response without an image, a person who retries wants another
	 * one.
	 *
	 * @see Journal
	 */
	idempotencyKey(itemIndex: number): string | undefined {
		const earlier = this.owned.get(itemIndex);
		if (earlier !== undefined) {
			const isSame = earlier.requestDigest === this.identityOf(itemIndex).requestDigest;
			return isSame && !hasEnded(earlier.result) ? earlier.idempotencyKey : undefined;
		}
		const idempotencyKey = this.newIdempotencyKey(itemIndex);
		this.idempotencyKeys.set(itemIndex, idempotencyKey);
		return idempotencyKey;
	}

	/** Whether an earlier payment may be that of a request which an item of this run has sent again. */
	abstract isOfSender(payment: Payment): boolean;

	/** How a person gets what was paid for and not returned. */
	abstract recoveryAdvice(): string;

	/**
	 * The node returns its items.
	 *
	 * @param failed indexes of the input items that failed
	 */
	abstract markReturned(failed: Set<number>): void;

	/** Must be called when the run is over, however it ended. */
	close(): void {
		this.used().forEach(release);
	}

	/** What the gateway knows the request of an item by that has no payment. */
	protected abstract newIdempotencyKey(itemIndex: number): string;

	/** Whether the input of an item says which one it is. */
	protected abstract isKnownBy(json: IDataObject): boolean;

	/** The earlier payment that is an item's own. */
	protected abstract findEarlier(itemIndex: number, identity?: Identity): Payment | undefined;

	/** Whether an earlier payment with the index of an item is that of the item. */
	protected abstract isOwn(payment: Payment, itemIndex: number): boolean;

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

	/** What the items are known by, in their order: large inputs may have been read later than others. */
	protected identified(): Identity[] {
		return [...this.identities.values()].sort((one, other) => one.itemIndex - other.itemIndex);
	}

	/** What an item is known by; one that couldn't be prepared has a place in the run only. */
	protected identityOf(itemIndex: number): Identity {
		return this.identities.get(itemIndex) ?? this.placeOf(itemIndex);
	}

	/** The identity of an item of which nothing is read. */
	protected placeOf(itemIndex: number): Identity {
		return { itemIndex, requestDigest: '', inputDigest: '', ...this.run };
	}

	protected idempotencyKeyOf(requestDigest: string, ...number: unknown[]): string {
		const parts = [this.opened.token(), this.context.getNode().name, requestDigest, ...number];
		return JSON.stringify(parts);
	}

	protected isOfThisRun({ executionId, runIndex }: Payment): boolean {
		return executionId === this.run.executionId && runIndex === this.run.runIndex;
	}
}
