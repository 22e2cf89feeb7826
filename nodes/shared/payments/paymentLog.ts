import type { IExecuteFunctions } from 'n8n-workflow';
import {
	type Charged,
	GatewayError,
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
import { leaving } from '../run/leaving';
import { callOf } from '../run/n8nEngine';
import type { RequestFacts } from '../run/requestFacts';
import { isTool, runIndexOf } from '../run/runContext';
import {
	RESCUE,
	RESCUE_OF_ONE,
	rescueOfCalled,
	billOf,
	chargeOf,
	endOf,
	hasEnded,
	itemsWithoutAddress,
	leadsTo,
	listPayments,
	withPayment,
	type Paid,
	type Payment,
	type PaymentResult,
} from './payment';
import {
	claim,
	EarlierPayments,
	isInUse,
	keepForCall,
	ownKeysOf,
	paymentOfCall,
	release,
	type Identity,
} from './earlierPayments';
import { keepOnly, openPayments, type OpenedPayments } from './storedPayments';
import { digestOf, type Digest } from '../../../util/digest';

/** What the record of payments asks n8n for. */
type PaymentContext = Parameters<typeof isTool>[0] &
	Parameters<typeof runIndexOf>[0] &
	Parameters<typeof openPayments>[0] &
	Pick<IExecuteFunctions, 'getInputData'> &
	Partial<Pick<IExecuteFunctions, 'getMode'>>;

/** Where payments come from beside the requests of this run, which differs by node. */
export interface PaymentSources {
	resendsUnknown?: boolean;
	readBrought?: (itemIndex: number) => PaymentResult | undefined;
}

/** Parts of a result with addresses, from which an image may still be downloaded: they stay as they came. */
const AS_THEY_CAME = ['images', 'task'];

/** What this try knows of an item. */
interface ItemState {
	/** What the item is known by. One in a dry run, or that couldn't be prepared, has none. */
	identity?: Identity;
	/** What it sends or would have sent. */
	facts?: RequestFacts;
	/** Its payment: of this try, or of an earlier one that this one uses again. */
	payment?: Payment;
	/** Whether its earlier payment is used again, or whether it was paid for in this try. */
	isReused?: boolean;
	isSent?: boolean;
	/** Whether it has failed, and its recorded images are returned in place of the error. */
	isRecovered?: boolean;
	/** The problem of its request in case of a Stop, while that is in progress. */
	pending?: () => Problem;
	/** What the gateway knows its request by. */
	reference?: string;
	/** The lost payment of an earlier call of a tool that this call asks for. */
	takenOver?: Payment;
	/** Whether its request was sent again after an unknown outcome, and the tasks that were named before. */
	isSentAgain?: boolean;
	lostTasks?: Set<string>;
}

/**
 * The payments of a node, which outlive the tries of Retry On Fail and n8n's Retry of a failed
 * execution. The result of an earlier payment is used again by
 *
 * 1. the item of the same run (execution, run index), whatever it sends now; so is that of a failed item
 *    that has come back, and has brought it in its details,
 * 2. the item with the same choices and input: its prompt may contain the time of day or a random seed,
 * 3. the item that sends the same request,
 * 4. another item that sends it, if the payment's own item sends another one.
 *
 * A run goes through `identify`, `ownEarlier` and `identifyRequest` for each item, `assign` once for
 * all of them, and then pays for each with this as the journal. The first two rules need neither the item's
 * files nor the model list, which may be gone when a person retries: `ownEarlier` follows them alone.
 * All rules but the first mean the same account (the credential's ID and address). In the same
 * execution, a failed task or an unknown outcome isn't paid for again, but for a message; in another
 * one a person has looked, and the request is sent again. The payment of a tool call that succeeded is removed: the next
 * call is meant to create another image.
 */
export class PaymentLog<R extends Paid> implements KnownItems, Journal<number, R> {
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

	private readonly items = new Map<number, ItemState>();

	/** @see numberRequests */
	private numbers?: Map<number, number>;

	/**
	 * @param choices what the person chose for the node's requests
	 * @param readFacts reads what an item would send, as far as that can be read; never throws
	 * @param resendsUnknown whether Retry On Fail sends again what has an unknown outcome: a message
	 *   costs less than its absence
	 * @param readBrought reads the payment of a failed item that comes back as input; never throws
	 */
	constructor(
		private readonly context: PaymentContext,
		choices: unknown,
		private readonly readFacts: (itemIndex: number) => RequestFacts = () => ({}),
		{ resendsUnknown = false, readBrought = () => undefined }: PaymentSources = {},
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
		if (!this.isTool) this.addBrought(readBrought);
	}

	/** Records what input items bring with them like payments of an earlier try of this run. */
	private addBrought(readBrought: (itemIndex: number) => PaymentResult | undefined): void {
		const { choices, place } = this;
		const own = this.payments.filter((payment) => this.isOfThisRun(payment));
		const known = new Set(own.map(({ itemIndex }) => itemIndex));
		for (let itemIndex = 0; itemIndex < this.count; itemIndex += 1) {
			const result = known.has(itemIndex) ? undefined : readBrought(itemIndex);
			if (result === undefined) continue;
			this.payments.push({ ...place, itemIndex, choices, fingerprint: '', source: '', result });
		}
	}

	/**
	 * Reads what an item is known by: its choices and input. An item without an identity, as in a dry run,
	 * gets no payment.
	 *
	 * @param account a digest of the paying account
	 * @param digest digests a value as `digestOf`, a large one in turns
	 */
	async identify(itemIndex: number, account: string, digest: Digest): Promise<void> {
		const { json = {}, binary } = this.context.getInputData()[itemIndex] ?? {};
		// Without input, all calls of a tool would be the same one, whatever its expressions return.
		const hasSource = !this.isTool || Object.keys(json).length > 0;
		const { choices, place } = this;
		const source = hasSource ? await digest([account, choices, json, binary]) : '';
		this.stateOf(itemIndex).identity = { itemIndex, choices, fingerprint: '', source, ...place };
	}

	/**
	 * Adds the request to what an item is known by.
	 *
	 * @param fingerprint that of the synchronous request before the model list has changed it, as the
	 *   list may change
	 */
	identifyRequest(itemIndex: number, fingerprint: string): void {
		const { identity } = this.stateOf(itemIndex);
		if (identity !== undefined) identity.fingerprint = fingerprint;
	}

	/**
	 * The payment that `assign` will give to an item, whatever its request and those of the other items
	 * are.
	 */
	ownEarlier(itemIndex: number): Payment | undefined {
		const { unknown } = this;
		const { identity } = this.stateOf(itemIndex);
		// All calls of a tool are one item, so only the request tells which payment is whose.
		if (this.isTool || identity === undefined) return undefined;
		const found = this.earlier.find(ownKeysOf(identity));
		// It may be sent again, if the item's request is still the same.
		if (found?.result.kind === 'unknown' && found.reference !== undefined) return undefined;
		return found ?? (unknown && { ...identity, result: { kind: 'unknown', problem: unknown } });
	}

	/**
	 * Gives all items their earlier payments, once they are identified: its own item gets a payment
	 * before another one with the same request.
	 */
	assign(): void {
		const identities = this.identities();
		for (const { itemIndex } of identities) this.assignOwn(itemIndex);
		for (const { itemIndex, fingerprint } of identities) {
			if (this.isTool || this.isAssigned(itemIndex)) continue;
			const payment = this.earlier.find([fingerprint]);
			if (payment !== undefined) this.use(itemIndex, payment);
		}
	}

	/** Whether `assign` has given an item an earlier payment. */
	isAssigned(itemIndex: number): boolean {
		return this.stateOf(itemIndex).payment !== undefined;
	}

	/** @see Journal */
	find(itemIndex: number): ReturnType<Journal<number, R>['find']> {
		const state = this.stateOf(itemIndex);
		const { payment } = state;
		if (payment === undefined) return undefined;
		state.isReused = true;
		const { result } = payment;
		return result.kind === 'unknown'
			? { charged: 'maybe', problem: result.problem }
			: { charged: 'yes', receipt: result as R };
	}

	/**
	 * The same for a request in this execution and in all that retry it, also after a crash that has left
	 * no record, when a table may give its rows in another order. Equal ones differ by their number. After a
	 * failed task, or a response without an image, a person who retries wants another one.
	 *
	 * @see Journal
	 */
	reference(itemIndex: number): string | undefined {
		const { fingerprint, runIndex } = this.identityOf(itemIndex);
		const state = this.stateOf(itemIndex);
		const { payment: earlier } = state;
		if (earlier !== undefined) {
			const isSame = earlier.fingerprint === fingerprint && !hasEnded(earlier.result);
			return isSame ? earlier.reference : undefined;
		}
		const ended = this.paymentsOf(itemIndex).filter(
			(one) => hasEnded(one.result) && one.runIndex === runIndex,
		).length;
		// The same execution may be retried twice, each time for another image.
		const retry = ended > 0 ? [ended, this.place.executionId] : [];
		if (this.isTool) {
			const called = this.referenceOf(fingerprint, 'call', this.opened.countCall(fingerprint));
			return (state.reference = this.lostReference(itemIndex) ?? called);
		}
		this.numbers ??= this.numberRequests();
		const number = this.numbers.get(itemIndex);
		return (state.reference = this.referenceOf(fingerprint, runIndex, number, ...retry));
	}

	private referenceOf(fingerprint: string, ...number: unknown[]): string {
		const parts = [this.opened.token(), this.context.getNode().name, fingerprint, ...number];
		return JSON.stringify(parts);
	}

	/**
	 * The numbers of the items whose requests are to be sent: how many equal ones stand before each. That of
	 * an earlier payment that another item uses is passed over: that item may have been sent alone.
	 */
	private numberRequests(): Map<number, number> {
		const taken = new Set([...this.used()].map(({ reference }) => reference));
		const next = new Map<string, number>();
		const numbers = new Map<number, number>();
		for (const { itemIndex, fingerprint, runIndex } of this.identities()) {
			if (this.isAssigned(itemIndex)) continue;
			let number = next.get(fingerprint) ?? 0;
			while (taken.has(this.referenceOf(fingerprint, runIndex, number))) number += 1;
			numbers.set(itemIndex, number);
			next.set(fingerprint, number + 1);
		}
		return numbers;
	}

	/** The reference of an earlier call of a tool with an unknown outcome, which another call takes over. */
	private lostReference(itemIndex: number): string | undefined {
		const earlier = this.isTool ? this.paymentsOf(itemIndex) : [];
		const lost = earlier.find(
			({ result, reference }) =>
				result.kind === 'unknown' && !hasEnded(result) && reference !== undefined,
		);
		if (lost === undefined) return undefined;
		const { reference } = lost;
		delete lost.reference;
		this.stateOf(itemIndex).takenOver = lost;
		return reference;
	}

	/** @see Journal */
	begin(itemIndex: number, pending: () => Problem): void {
		const state = this.stateOf(itemIndex);
		if (state.payment?.result.kind === 'unknown' || state.pending !== undefined) {
			state.isSentAgain = true;
			const { taskId } = pending();
			if (taskId !== undefined) (state.lostTasks ??= new Set()).add(taskId);
		}
		Object.assign(state, { isReused: false, isSent: true, pending });
	}

	/** @see Journal */
	settle(itemIndex: number, end: Settled<R>): void {
		const state = this.stateOf(itemIndex);
		const { pending, takenOver, payment: earlier } = state;
		delete state.pending;
		// Once the run is over, what was begun is recorded so.
		if (pending === undefined || end.charged === 'no') return;
		delete state.takenOver;
		if (end.charged === 'yes' && takenOver !== undefined) {
			keepOnly(this.payments, (one) => one !== takenOver);
		}
		const result =
			end.charged === 'yes' ? this.recorded(end.receipt) : this.unknownOf(itemIndex, end.problem);
		if (earlier === undefined) this.add(itemIndex, result);
		else earlier.result = result;
	}

	/**
	 * Uses the earlier payment of an item in place of a request, as `pay` does.
	 *
	 * @param earlier that of `ownEarlier`
	 * @throws GatewayError `outcomeUnknown` if it may have been charged
	 */
	reuse(itemIndex: number, { result }: Payment): R {
		this.stateOf(itemIndex).isReused = true;
		if (result.kind !== 'unknown') return result as R;
		throw new GatewayError(result.problem, { charged: 'maybe', code: 'outcomeUnknown' });
	}

	/** The estimated cost of what an item has paid for in this try or an earlier one. */
	estimateOf(itemIndex: number): number {
		return this.stateOf(itemIndex).payment?.result.facts?.estimatedCost ?? 0;
	}

	/** Whether an item has brought its payment. */
	isBrought(itemIndex: number): boolean {
		return this.stateOf(itemIndex).payment?.result.brought !== undefined;
	}

	/** Updates the payment of an item. */
	update(itemIndex: number, result: R): void {
		const { payment } = this.stateOf(itemIndex);
		if (payment !== undefined) payment.result = this.recorded(result);
	}

	/** Sets the facts of an item's request once they are read; a payment is recorded with them. */
	note(itemIndex: number, facts: RequestFacts): void {
		this.stateOf(itemIndex).facts = facts;
	}

	/** Whether this try returns what an earlier one has paid for. */
	isReused(itemIndex: number): boolean {
		const { isReused = false, isRecovered = false, payment } = this.stateOf(itemIndex);
		return isRecovered || (isReused && payment?.result.kind !== 'unknown');
	}

	/** The items for which this try returns what an earlier one has paid for. */
	reused(): number[] {
		return [...this.items.keys()].filter((itemIndex) => this.isReused(itemIndex));
	}

	/**
	 * How many items were sent in this try, or in an earlier one that paid for them, although an attempt
	 * before may have been charged: n8n shows the hints of the last try alone.
	 */
	countSentAgain(): number {
		const hasUnclear = (itemIndex: number, own?: Payment): boolean =>
			this.paymentsOf(itemIndex).some(
				(payment) =>
					payment.result.kind === 'unknown' &&
					payment !== own &&
					// The calls of a tool differ by their requests.
					(this.isTool || this.isOfThisRun(payment)),
			);
		return [...this.items].filter(
			([itemIndex, { isSent, isReused, isSentAgain, payment }]) =>
				(isSent === true || isReused === true) &&
				(isSentAgain === true || hasUnclear(itemIndex, payment)),
		).length;
	}

	/** The tasks of such attempts that no item has got: a gateway that ignores keys may have charged for them. */
	lostTasks(): string[] {
		const paid = [...this.used()].filter(({ result }) => result.kind !== 'unknown');
		const got = new Set(paid.map(({ result }) => leadsTo(result).taskId));
		const named = [...this.items.values()].flatMap(({ lostTasks = [] }) => [...lostTasks]);
		return named.filter((taskId) => !got.has(taskId));
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
		const state = this.stateOf(itemIndex);
		const paid = state.payment?.result;
		const named = paid ?? this.paymentsOf(itemIndex).at(-1)?.result;
		// A task goes with the prompt that it was paid for.
		const { model, prompt } = named?.facts ?? state.facts ?? this.readFacts(itemIndex);
		return {
			charged: this.chargeOf(itemIndex),
			...(named && leadsTo(named)),
			model,
			prompt,
			// Only what is in the sum of this try: not a refused request, or a payment that it doesn't use.
			...(this.isStarted(itemIndex) && paid !== undefined
				? { estimatedCost: paid.facts?.estimatedCost, ...billOf(paid) }
				: {}),
		};
	}

	/** @see KnownItems */
	recover(error: unknown, itemIndex: number): Recovered {
		const payment = this.assignOwn(itemIndex);
		if (payment === undefined || this.isStarted(itemIndex)) return { error };
		const items = itemsWithoutAddress(payment.result, itemIndex);
		if (items !== undefined) this.stateOf(itemIndex).isRecovered = true;
		return { error: withPayment(error, payment), items };
	}

	/** @see KnownItems */
	get rescue(): string {
		const isThere = this.payments.some(
			({ result }) => result.kind !== 'unknown' && endOf(result) === undefined,
		);
		if (!isThere || this.isTool) return '';
		// What has called this workflow would call it anew.
		if (this.context.getMode?.() === 'integrated') return rescueOfCalled(this.place.executionId);
		return this.count === 1 ? RESCUE_OF_ONE : RESCUE;
	}

	/** @see KnownItems */
	listUnreturned(): UnreturnedPayment[] {
		const used = this.used();
		// The run may have ended before all items were prepared. A tool's call leaves those of others.
		const indexes = this.isTool ? [] : Array.from({ length: this.count }, (_, index) => index);
		const own = new Set([...used, ...indexes.flatMap((index) => this.findOwn(index) ?? [])]);
		// Another call of the tool returns the payments that it uses.
		const isOpen = (payment: Payment): boolean =>
			payment.executionId === this.place.executionId && !isInUse(payment);
		const open = [...own, ...this.payments.filter((one) => isOpen(one) && !own.has(one))];
		// What was sent again is listed already.
		const begun = [...this.items].flatMap(([itemIndex, { pending, payment }]) =>
			pending === undefined || payment !== undefined
				? []
				: { itemIndex, result: this.unknownOf(itemIndex, pending()) },
		);
		return listPayments([...open, ...begun]);
	}

	/**
	 * The node returns its items. Their payments are removed, unless the item of a tool call failed
	 * or the engine may run the node again.
	 *
	 * @param failed indexes of the input items that failed
	 */
	markReturned(failed: Set<number>): void {
		const mayRunAgain = this.context.getNode().retryOnFail === true && failed.size > 0;
		const used = this.used();
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
		for (const [itemIndex, { pending }] of this.items) {
			if (pending !== undefined) this.settle(itemIndex, { charged: 'maybe', problem: pending() });
		}
		// What this call hasn't got, the next one asks for.
		for (const { takenOver, reference } of this.items.values()) {
			if (takenOver !== undefined) takenOver.reference = reference;
		}
		this.used().forEach(release);
	}

	/** A result without secrets, as n8n stores it with the execution. @see AS_THEY_CAME */
	private recorded<P extends PaymentResult>(result: P): P {
		const parts = Object.entries(result).map(([name, part]) => [
			name,
			AS_THEY_CAME.includes(name) ? part : leaving(this.context, part as unknown),
		]);
		return Object.fromEntries(parts) as P;
	}

	/** The result of an item's request of unknown outcome. */
	private unknownOf(itemIndex: number, problem: Problem): PaymentResult {
		const { facts } = this.stateOf(itemIndex);
		return this.recorded({ kind: 'unknown', facts, problem });
	}

	private stateOf(itemIndex: number): ItemState {
		const state = this.items.get(itemIndex) ?? {};
		this.items.set(itemIndex, state);
		return state;
	}

	/** The payments that this try has made or uses again. */
	private used(): Set<Payment> {
		return new Set([...this.items.values()].flatMap(({ payment }) => payment ?? []));
	}

	/** Whether this try has gone beyond the preparation of an item: then its error names what it paid. */
	private isStarted(itemIndex: number): boolean {
		const { isReused = false, isSent = false } = this.stateOf(itemIndex);
		return isReused || isSent;
	}

	/** Those of the items, in their order: large inputs may have been read later than others. */
	private identities(): Identity[] {
		return [...this.items.values()]
			.flatMap(({ identity }) => identity ?? [])
			.sort((one, other) => one.itemIndex - other.itemIndex);
	}

	private identityOf(itemIndex: number): Identity {
		const { identity } = this.stateOf(itemIndex);
		// An item that couldn't be prepared has a place in the run only.
		return identity ?? { itemIndex, fingerprint: '', source: '', ...this.place };
	}

	/**
	 * Gives an item the payment that is its own. No other item that is identified asks for it before
	 * the last step of `assign`.
	 */
	private assignOwn(itemIndex: number): Payment | undefined {
		const own = this.findOwn(itemIndex);
		if (own !== undefined) return this.use(itemIndex, own);
		const { unknown } = this;
		if (unknown === undefined || this.stateOf(itemIndex).identity === undefined) return undefined;
		return this.add(itemIndex, this.unknownOf(itemIndex, unknown));
	}

	/** The payment that an item has, or the one that is its own. */
	private findOwn(itemIndex: number): Payment | undefined {
		const { payment, identity } = this.stateOf(itemIndex);
		if (payment !== undefined) return payment;
		if (identity === undefined) return this.findByPlace(itemIndex);
		const own = ownKeysOf(identity);
		return this.isTool
			? this.findOfCall(identity.fingerprint, own.slice(1))
			: this.earlier.find(own);
	}

	/**
	 * That of an earlier try of this call; else one of an equal call, as calls differ by their requests and
	 * inputs. Two of them can have the same place.
	 */
	private findOfCall(fingerprint: string, own: string[]): Payment | undefined {
		const earlier = paymentOfCall(callOf(this.context));
		const isThere = earlier !== undefined && this.payments.includes(earlier);
		if (isThere && this.earlier.isUsable(earlier)) return earlier;
		return this.earlier.find([fingerprint, ...own]);
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
		const { payment: used, identity } = this.stateOf(itemIndex);
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
		const state = this.stateOf(itemIndex);
		const { source } = state.identity ?? payment;
		Object.assign(payment, this.place, { itemIndex, source, choices: this.choices });
		state.payment = payment;
		if (this.isTool) keepForCall(callOf(this.context), payment);
		claim(payment);
		return payment;
	}

	private add(itemIndex: number, result: PaymentResult): Payment {
		const { reference } = this.stateOf(itemIndex);
		const payment = { result, reference, ...this.identityOf(itemIndex) };
		this.payments.push(payment);
		return this.use(itemIndex, payment);
	}
}
