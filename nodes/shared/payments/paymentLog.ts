import type { IExecuteFunctions } from 'n8n-workflow';
import {
	type Charged,
	isInline,
	type Journal,
	mostCharged,
	type Problem,
	type Settled,
} from '../../../gateway';
import {
	type ItemDetails,
	type KnownItems,
	type Recovered,
	type UnreturnedPayment,
} from '../run/knownItems';
import type { RequestFacts } from '../run/requestFacts';
import { isTool, runIndexOf } from '../run/runContext';
import {
	RESCUE,
	RESCUE_OF_ONE,
	rescueOfCalled,
	billOf,
	chargeOf,
	hasEnded,
	itemsWithoutAddress,
	listPayments,
	tallyOfPayments,
	withPayment,
	type PaidTally,
	type Payment,
	type PaymentResult,
} from './payment';
import {
	claim,
	EarlierPayments,
	isInUse,
	ownKeysOf,
	release,
	type Identity,
} from './earlierPayments';
import { keepOnly, openPayments, type OpenedPayments } from './storedPayments';
import { digestInTurns, digestOf } from '../../../util/digest';
import { isLongerThan } from '../../../util/json';

/** In characters: an input that is read in pieces. */
const LARGE = 100_000;

/** What the record of payments asks n8n for. */
type PaymentContext = Parameters<typeof isTool>[0] &
	Parameters<typeof runIndexOf>[0] &
	Parameters<typeof openPayments>[0] &
	Pick<IExecuteFunctions, 'getInputData'> &
	Partial<Pick<IExecuteFunctions, 'getMode'>>;

/**
 * The payments of a node, which outlive the tries of Retry On Fail and n8n's Retry of a failed
 * execution. The result of an earlier payment is used again by
 *
 * 1. the item of the same run (execution, run index), whatever it sends now,
 * 2. the item with the same choices and input: its prompt may contain the time of day or a random seed,
 * 3. the item that sends the same request,
 * 4. another item that sends it, if the payment's own item sends another one.
 *
 * A run goes through `identify` and `ownEarlier` for each item, `assign` once for all of them, and then
 * pays for each with this as the journal. The first two rules need neither the item's
 * files nor the model list, which may be gone when a person retries: `ownEarlier` follows them alone.
 * All rules but the first mean the same account (the credential's ID and address). In the same
 * execution, a failed task or an unknown outcome isn't paid for again, but for a message; in another
 * one a person has looked, and the request is sent again. The payment of a tool call that succeeded is removed: the next
 * call is meant to create another image.
 */
export class PaymentLog implements KnownItems, Journal<number, PaymentResult> {
	private readonly isTool: boolean;

	/** This execution, and this run of the node in it. */
	private readonly place: Pick<Payment, 'executionId' | 'runIndex'>;

	private readonly payments: Payment[];

	private readonly opened: OpenedPayments;

	private readonly earlier: EarlierPayments;

	/** The problem of all items without a payment, if this execution can't read the record. */
	private readonly unknown?: Problem;

	/** A digest of what the person chose. */
	private readonly choices: string;

	private readonly identities = new Map<number, Identity>();

	/** By item, the digest of its account, choices and input: each is read once. */
	private readonly sources = new Map<number, string>();

	/** Ends once all large inputs so far are read: one after another, or they would be one long turn. */
	private reading: Promise<unknown> = Promise.resolve();

	/** Payments that this try has made or uses again, by item. */
	private readonly assigned = new Map<number, Payment>();

	/** Items whose earlier payment this try uses again, and items that it has paid for. */
	private readonly reused = new Set<number>();
	private readonly sent = new Set<number>();

	/** Items that have failed, and whose recorded images are returned in place of their error. */
	private readonly recovered = new Set<number>();

	/** Requests in progress, by item, each with its problem in case of a Stop. */
	private readonly begun = new Map<number, () => Problem>();

	/** What the gateway knows the requests by that this try sends, by item. */
	private readonly references = new Map<number, string>();

	/** The lost payments of earlier calls of a tool that this call asks for, by item. */
	private readonly takenOver = new Map<number, Payment>();

	/** Items whose request was sent again after an unknown outcome. */
	private readonly sentAgain = new Set<number>();

	/** What this try sends or would have sent, by item. */
	private readonly requestFacts = new Map<number, RequestFacts>();

	/**
	 * @param choices what the person chose for the node's requests
	 * @param readFacts reads what an item would send, as far as that can be read; never throws
	 * @param resendsUnknown whether Retry On Fail sends again what has an unknown outcome: a message
	 *   costs less than its absence
	 */
	constructor(
		private readonly context: PaymentContext,
		choices: unknown,
		private readonly readFacts: (itemIndex: number) => RequestFacts = () => ({}),
		resendsUnknown = false,
	) {
		this.isTool = isTool(context);
		this.place = {
			executionId: context.getExecutionId() ?? '',
			runIndex: runIndexOf(context),
		};
		this.opened = openPayments(
			context,
			(payment) => !payment.delivered || this.isOfThisRun(payment),
		);
		const { payments, unknown } = this.opened;
		[this.payments, this.unknown] = [payments, unknown];
		// A person's word: another round of a loop, or an agent's call, isn't one.
		const resends = resendsUnknown && context.getNode().retryOnFail === true;
		this.earlier = new EarlierPayments(payments, this.place.executionId, this.isTool, resends);
		// If the node runs again, the engine has dropped what the earlier try returned.
		for (const payment of this.payments) payment.delivered = false;
		this.choices = digestOf(choices);
	}

	/**
	 * Tells what an item is known by: its choices and input, and its request once that is read. An
	 * item without an identity, as in a dry run, gets no payment.
	 *
	 * @param account a digest of the paying account
	 * @param fingerprint that of the synchronous request before the model list has changed it, as the
	 *   list may change
	 */
	identify(itemIndex: number, account: string, fingerprint = ''): void {
		const { choices, place } = this;
		const source = this.sources.get(itemIndex) ?? digestOf(this.sourceOf(itemIndex, account));
		this.sources.set(itemIndex, source);
		this.identities.set(itemIndex, { itemIndex, choices, fingerprint, source, ...place });
	}

	/** Reads a large input before `identify` does. @param turn lets other work go first */
	async readLarge(itemIndex: number, account: string, turn: () => Promise<void>): Promise<void> {
		const source = this.sourceOf(itemIndex, account);
		if (!isLongerThan(source, LARGE)) return;
		const reading = this.reading.then(async () => {
			this.sources.set(itemIndex, await digestInTurns(source, turn));
		});
		this.reading = reading.catch(() => undefined);
		await reading;
	}

	private sourceOf(itemIndex: number, account: string): unknown {
		const { json = {}, binary } = this.context.getInputData()[itemIndex] ?? {};
		// Without input, all calls of a tool would be the same one, whatever its expressions return.
		const hasSource = !this.isTool || Object.keys(json).length > 0;
		return hasSource ? [account, this.choices, json, binary] : undefined;
	}

	/**
	 * The payment that `assign` will give to an item, whatever its request and those of the other items
	 * are.
	 */
	ownEarlier(itemIndex: number): Payment | undefined {
		const { unknown } = this;
		const identity = this.identities.get(itemIndex);
		// All calls of a tool are one item, so only the request tells which payment is whose.
		if (this.isTool || identity === undefined) return undefined;
		const found = this.earlier.find(ownKeysOf(identity));
		// It may be sent again, if the item's request is still the same.
		if (found?.result.unknown !== undefined && found.reference !== undefined) return undefined;
		return found ?? (unknown && { ...identity, result: { unknown } });
	}

	/**
	 * Gives all items their earlier payments, once they are identified: its own item gets a payment
	 * before another one with the same request.
	 */
	assign(): void {
		// Large inputs may have been read later than others.
		const identities = [...this.identities].sort(([one], [other]) => one - other);
		for (const [itemIndex] of identities) this.assignOwn(itemIndex);
		for (const [itemIndex, { fingerprint }] of identities) {
			if (this.isTool || this.assigned.has(itemIndex)) continue;
			const payment = this.earlier.find([fingerprint]);
			if (payment !== undefined) this.use(itemIndex, payment);
		}
	}

	/** Whether `assign` has given an item an earlier payment. */
	isAssigned(itemIndex: number): boolean {
		return this.assigned.has(itemIndex);
	}

	/** @see Journal */
	find(itemIndex: number): ReturnType<Journal<number, PaymentResult>['find']> {
		const payment = this.assigned.get(itemIndex);
		if (payment === undefined) return undefined;
		this.reused.add(itemIndex);
		const { unknown } = payment.result;
		return unknown === undefined
			? { charged: 'yes', receipt: payment.result }
			: { charged: 'maybe', problem: unknown };
	}

	/**
	 * The same for the request of a place in this execution and in all that retry it, also after a crash
	 * that has left no record. After a failed task, or a response without an image, a person who retries
	 * wants another one.
	 *
	 * @see Journal
	 */
	reference(itemIndex: number): string | undefined {
		const { fingerprint, runIndex } = this.identityOf(itemIndex);
		const earlier = this.assigned.get(itemIndex);
		if (earlier !== undefined) {
			const isSame = earlier.fingerprint === fingerprint && !hasEnded(earlier.result);
			return isSame ? earlier.reference : undefined;
		}
		const ended = this.paymentsOf(itemIndex).filter(
			(one) => hasEnded(one.result) && one.runIndex === runIndex,
		).length;
		// The same execution may be retried twice, each time for another image.
		const retry = ended > 0 ? [ended, this.place.executionId] : [];
		const place = this.isTool
			? ['call', this.opened.countCall(fingerprint)]
			: [runIndex, itemIndex, ...retry];
		const parts = [this.opened.token(), this.context.getNode().name, fingerprint, ...place];
		const reference = this.lostReference(itemIndex) ?? JSON.stringify(parts);
		this.references.set(itemIndex, reference);
		return reference;
	}

	/** The reference of an earlier call of a tool with an unknown outcome, which another call takes over. */
	private lostReference(itemIndex: number): string | undefined {
		const earlier = this.isTool ? this.paymentsOf(itemIndex) : [];
		const lost = earlier.find(
			({ result, reference }) =>
				result.unknown !== undefined && !hasEnded(result) && reference !== undefined,
		);
		if (lost === undefined) return undefined;
		const { reference } = lost;
		delete lost.reference;
		this.takenOver.set(itemIndex, lost);
		return reference;
	}

	/** @see Journal */
	begin(itemIndex: number, pending: () => Problem): void {
		const isUnclear = this.assigned.get(itemIndex)?.result.unknown !== undefined;
		if (isUnclear || this.begun.has(itemIndex)) this.sentAgain.add(itemIndex);
		this.reused.delete(itemIndex);
		this.sent.add(itemIndex);
		this.begun.set(itemIndex, pending);
	}

	/** @see Journal */
	settle(itemIndex: number, end: Settled<PaymentResult>): void {
		// Once the run is over, what was begun is recorded so.
		if (!this.begun.delete(itemIndex) || end.charged === 'no') return;
		const lost = this.takenOver.get(itemIndex);
		if (end.charged === 'yes') keepOnly(this.payments, (one) => one !== lost);
		this.takenOver.delete(itemIndex);
		const facts = this.requestFacts.get(itemIndex);
		const result = end.charged === 'yes' ? end.receipt : { unknown: end.problem };
		const earlier = this.assigned.get(itemIndex);
		if (earlier === undefined) this.add(itemIndex, result);
		else earlier.result = { facts, ...result };
	}

	/** What an item has paid for in this try or an earlier one. */
	resultOf(itemIndex: number): PaymentResult {
		return this.assigned.get(itemIndex)?.result ?? {};
	}

	/** Updates the payment of an item. */
	update(itemIndex: number, result: PaymentResult): void {
		const payment = this.assigned.get(itemIndex);
		if (payment !== undefined) payment.result = { ...payment.result, ...result };
	}

	/** Sets the facts of an item's request once they are read; a payment is recorded with them. */
	note(itemIndex: number, facts: RequestFacts): void {
		this.requestFacts.set(itemIndex, facts);
	}

	/** Whether this try returns what an earlier one has paid for. */
	isReused(itemIndex: number): boolean {
		return this.reused.has(itemIndex) || this.recovered.has(itemIndex);
	}

	/** What the payments count for that this try has made or used again. */
	tally(): PaidTally {
		const paid = [...this.assigned].flatMap(([itemIndex, { result }]) => {
			const isReused = this.isReused(itemIndex);
			return isReused || this.sent.has(itemIndex) ? { result, isReused } : [];
		});
		return tallyOfPayments(paid);
	}

	/** How many items this try has sent although an earlier attempt may have been charged for them. */
	countSentAgain(): number {
		return [...this.sent].filter(
			(itemIndex) =>
				this.sentAgain.has(itemIndex) ||
				this.paymentsOf(itemIndex).some(
					(payment) =>
						payment.result.unknown !== undefined &&
						payment !== this.assigned.get(itemIndex) &&
						// The calls of a tool differ by their requests.
						(this.isTool || this.isOfThisRun(payment)),
				),
		).length;
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
	itemDetails(itemIndex: number): ItemDetails {
		const paid = this.assigned.get(itemIndex)?.result;
		const named = paid ?? this.paymentsOf(itemIndex).at(-1)?.result;
		const { task, unknown, images = [] } = named ?? {};
		// A task goes with the prompt that it was paid for.
		const { model, prompt } =
			named?.facts ?? this.requestFacts.get(itemIndex) ?? this.readFacts(itemIndex);
		return {
			charged: this.chargeOf(itemIndex),
			taskId: task?.taskId ?? unknown?.taskId,
			taskType: task?.taskType,
			status: task?.status,
			statusUrl: task?.statusUrl,
			model,
			prompt,
			// Only what is in the sum of this try: not a refused request, or a payment that it doesn't use.
			...(this.isStarted(itemIndex) && paid !== undefined
				? { estimatedCost: paid.facts?.estimatedCost, ...billOf(paid) }
				: {}),
			requestId: named?.requestId ?? unknown?.requestId,
			url: images.find((image) => !isInline(image))?.url,
		};
	}

	/** @see KnownItems */
	recover(error: unknown, itemIndex: number): Recovered {
		const payment = this.assignOwn(itemIndex);
		if (payment === undefined || this.isStarted(itemIndex)) return { error };
		const items = itemsWithoutAddress(payment.result, itemIndex);
		if (items !== undefined) this.recovered.add(itemIndex);
		return { error: withPayment(error, payment), items };
	}

	/** @see KnownItems */
	get rescue(): string {
		const isThere = this.payments.some(
			({ result }) =>
				result.unknown === undefined && result.failed !== true && result.lost !== true,
		);
		if (!isThere || this.isTool) return '';
		// What has called this workflow would call it anew.
		if (this.context.getMode?.() === 'integrated') return rescueOfCalled(this.place.executionId);
		return this.count === 1 ? RESCUE_OF_ONE : RESCUE;
	}

	/** @see KnownItems */
	listUnreturned(): UnreturnedPayment[] {
		const used = new Set(this.assigned.values());
		// The run may have ended before all items were prepared. A tool's call leaves those of others.
		const indexes = this.isTool ? [] : Array.from({ length: this.count }, (_, index) => index);
		const own = new Set([...used, ...indexes.flatMap((index) => this.findOwn(index) ?? [])]);
		// Another call of the tool returns the payments that it uses.
		const isOpen = (payment: Payment): boolean =>
			payment.executionId === this.place.executionId && !isInUse(payment);
		const open = [...own, ...this.payments.filter((one) => isOpen(one) && !own.has(one))];
		// What was sent again is listed already.
		const begun = [...this.begun].filter(([itemIndex]) => !this.assigned.has(itemIndex));
		const pending = begun.map(([itemIndex, problem]) => ({
			itemIndex,
			result: { unknown: problem() },
		}));
		return listPayments([...open, ...pending]);
	}

	/**
	 * The node returns its items. Their payments are removed, unless the item of a tool call failed
	 * or the engine may run the node again.
	 *
	 * @param failed indexes of the input items that failed
	 */
	markReturned(failed: Set<number>): void {
		const mayRunAgain = this.context.getNode().retryOnFail === true && failed.size > 0;
		const used = new Set(this.assigned.values());
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
		for (const [itemIndex, problem] of this.begun) {
			this.settle(itemIndex, { charged: 'maybe', problem: problem() });
		}
		// What this call hasn't got, the next one asks for.
		for (const [itemIndex, lost] of this.takenOver) lost.reference = this.references.get(itemIndex);
		this.assigned.forEach(release);
	}

	/** Whether this try has gone beyond the preparation of an item: then its error names what it paid. */
	private isStarted(itemIndex: number): boolean {
		return this.reused.has(itemIndex) || this.sent.has(itemIndex);
	}

	private identityOf(itemIndex: number): Identity {
		const known = this.identities.get(itemIndex);
		// An item that couldn't be prepared has a place in the run only.
		return known ?? { itemIndex, fingerprint: '', source: '', ...this.place };
	}

	/**
	 * Gives an item the payment that is its own. No other item that is identified asks for it before
	 * the last step of `assign`.
	 */
	private assignOwn(itemIndex: number): Payment | undefined {
		const own = this.findOwn(itemIndex);
		if (own !== undefined) return this.use(itemIndex, own);
		const { unknown } = this;
		if (unknown === undefined || !this.identities.has(itemIndex)) return undefined;
		return this.add(itemIndex, { unknown });
	}

	/** The payment that an item has, or the one that is its own. */
	private findOwn(itemIndex: number): Payment | undefined {
		const used = this.assigned.get(itemIndex);
		if (used !== undefined) return used;
		const identity = this.identities.get(itemIndex);
		if (identity === undefined) return this.findByPlace(itemIndex);
		const own = ownKeysOf(identity);
		// The calls of a tool differ by their requests and inputs; two of them can have the same place.
		return this.earlier.find(this.isTool ? [identity.fingerprint, ...own.slice(1)] : own);
	}

	/**
	 * The payment of an item that failed before it was identified, such as by the credential: that of its
	 * index, made for the same choices. In n8n's Retry, it has the index and the input of the execution
	 * that has paid.
	 */
	private findByPlace(itemIndex: number): Payment | undefined {
		if (this.isTool) return undefined;
		return this.paymentsOf(itemIndex).find(
			(one) => one.choices === this.choices && this.earlier.isUsable(one),
		);
	}

	/**
	 * All payments of an item: that of this try, and earlier ones, also those that aren't used again.
	 */
	private paymentsOf(itemIndex: number): Payment[] {
		const used = this.assigned.get(itemIndex);
		const identity = this.identities.get(itemIndex);
		const { source, fingerprint } = this.identityOf(itemIndex);
		const isSame = (payment: Payment): boolean =>
			payment.fingerprint === fingerprint && fingerprint !== '';
		const isOwn = (payment: Payment): boolean => {
			if (payment === used) return true;
			if (payment.itemIndex !== itemIndex || isInUse(payment)) return false;
			// All calls of a tool are one item.
			if (this.isTool) return isSame(payment);
			return identity === undefined || payment.source === source || isSame(payment);
		};
		return this.payments.filter(isOwn);
	}

	private isOfThisRun({ executionId, runIndex }: Payment): boolean {
		return executionId === this.place.executionId && runIndex === this.place.runIndex;
	}

	/** Assigns a payment to an item of this try. */
	private use(itemIndex: number, payment: Payment): Payment {
		const { source } = this.identities.get(itemIndex) ?? payment;
		Object.assign(payment, this.place, { itemIndex, source, choices: this.choices });
		this.assigned.set(itemIndex, payment);
		claim(payment);
		return payment;
	}

	private add(itemIndex: number, result: PaymentResult): Payment {
		const facts = this.requestFacts.get(itemIndex);
		const reference = this.references.get(itemIndex);
		const payment = { result: { facts, ...result }, reference, ...this.identityOf(itemIndex) };
		this.payments.push(payment);
		return this.use(itemIndex, payment);
	}
}
