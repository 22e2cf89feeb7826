import { Assignment, type PaymentContext, type PaymentSources } from './assignment';
import { ownKeysOf, type Identity } from './identity';
import {
	hasEnded,
	RECOVERY_ADVICE,
	RECOVERY_ADVICE_OF_ONE,
	adviceForCalled,
	type Payment,
} from './payment';
import { keepOnly } from './storedPayments';

/**
 * Gives the items of a run their earlier payments. The result of one is used again by
 *
 * 1. the item of the same run (execution, run index), whatever it sends now; so is that of a failed item
 *    that has come back, and has brought it in its details,
 * 2. the item with the same choices and input: its prompt may contain the time of day or a random seed,
 * 3. the item that sends the same request,
 * 4. another item that sends it, if the payment's own item sends another one.
 *
 * The first two rules need neither the item's files nor the model list, which may be gone when a person
 * retries: `ownEarlier` follows them alone. All rules but the first mean the same account (the
 * credential's ID and address). In the same execution, a failed task or an unknown outcome isn't paid for
 * again, but for a message; in another one a person has looked, and the request is sent again.
 */
export class ItemAssignment extends Assignment {
	/** @see numberRequests */
	private numbers?: Map<number, number>;

	constructor(
		context: PaymentContext,
		choices: unknown,
		{ resendsUnknown = false, readBrought = () => undefined }: PaymentSources,
	) {
		super(context, choices, resendsUnknown);
		this.addBrought(readBrought);
	}

	/** Records what input items bring with them like payments of an earlier try of this run. */
	private addBrought(readBrought: NonNullable<PaymentSources['readBrought']>): void {
		const { choices } = this;
		const own = this.payments.filter((payment) => this.isOfThisRun(payment));
		const known = new Set(own.map(({ itemIndex }) => itemIndex));
		for (let itemIndex = 0; itemIndex < this.count; itemIndex += 1) {
			const result = known.has(itemIndex) ? undefined : readBrought(itemIndex);
			if (result === undefined) continue;
			this.payments.push({ ...this.placeOf(itemIndex), choices, result });
		}
	}

	ownEarlier(identity: Identity): Payment | undefined {
		const found = this.earlier.find(ownKeysOf(identity));
		// It may be sent again, if the item's request is still the same.
		if (found?.result.kind === 'unknown' && found.idempotencyKey !== undefined) return undefined;
		const { unknown: problem } = this;
		return found ?? (problem && { ...identity, result: { kind: 'unknown', problem } });
	}

	/** Its own item gets a payment before another one with the same request. */
	override assign(): void {
		super.assign();
		for (const { itemIndex, requestDigest } of this.identified()) {
			if (this.paymentOf(itemIndex) !== undefined) continue;
			const payment = this.earlier.find([requestDigest]);
			if (payment !== undefined) this.use(itemIndex, payment);
		}
	}

	ownPayments(): Set<Payment> {
		// The run may have ended before all items were prepared.
		const indexes = Array.from({ length: this.count }, (_, index) => index);
		return new Set([...this.used(), ...indexes.flatMap((index) => this.findOwn(index) ?? [])]);
	}

	isOfSender(payment: Payment): boolean {
		return this.isOfThisRun(payment);
	}

	recoveryAdvice(): string {
		// What has called this workflow would call it anew.
		if (this.context.getMode?.() === 'integrated') return adviceForCalled(this.run.executionId);
		return this.count === 1 ? RECOVERY_ADVICE_OF_ONE : RECOVERY_ADVICE;
	}

	/** The payments of the run are removed, unless the engine may run the node again. */
	markReturned(failed: Set<number>): void {
		const mayRunAgain = this.context.getNode().retryOnFail === true && failed.size > 0;
		keepOnly(this.payments, (payment) => {
			if (!this.isOfThisRun(payment)) return true;
			payment.delivered = true;
			return mayRunAgain;
		});
	}

	protected isKnownBy(): boolean {
		return true;
	}

	protected findEarlier(itemIndex: number, identity?: Identity): Payment | undefined {
		if (identity !== undefined) return this.earlier.find(ownKeysOf(identity));
		// One that failed before it was identified, such as by the credential, has the payment of its
		// index, made for the same choices. In n8n's Retry, it has the index and the input of the
		// execution that has paid.
		return this.paymentsOf(itemIndex).find(
			(one) => one.choices === this.choices && this.earlier.isUsable(one),
		);
	}

	protected isOwn({ inputDigest, requestDigest }: Payment, itemIndex: number): boolean {
		const identity = this.identityOf(itemIndex);
		const isSame = requestDigest === identity.requestDigest && requestDigest !== '';
		return !this.identities.has(itemIndex) || inputDigest === identity.inputDigest || isSame;
	}

	/** When a table gives its rows in another order, a request has the same: equal ones differ by their number. */
	protected newIdempotencyKey(itemIndex: number): string {
		const { requestDigest, runIndex } = this.identityOf(itemIndex);
		const ended = this.paymentsOf(itemIndex).filter(
			(one) => hasEnded(one.result) && one.runIndex === runIndex,
		).length;
		// The same execution may be retried twice, each time for another image.
		const retry = ended > 0 ? [ended, this.run.executionId] : [];
		this.numbers ??= this.numberRequests();
		return this.idempotencyKeyOf(requestDigest, runIndex, this.numbers.get(itemIndex), ...retry);
	}

	/**
	 * The numbers of the items whose requests are to be sent: how many equal ones stand before each. That of
	 * an earlier payment that another item uses is passed over: that item may have been sent alone.
	 */
	private numberRequests(): Map<number, number> {
		const taken = new Set([...this.used()].map(({ idempotencyKey }) => idempotencyKey));
		const next = new Map<string, number>();
		const numbers = new Map<number, number>();
		for (const { itemIndex, requestDigest, runIndex } of this.identified()) {
			if (this.paymentOf(itemIndex) !== undefined) continue;
			let number = next.get(requestDigest) ?? 0;
			while (taken.has(this.idempotencyKeyOf(requestDigest, runIndex, number))) number += 1;
			numbers.set(itemIndex, number);
			next.set(requestDigest, number + 1);
		}
		return numbers;
	}
}
