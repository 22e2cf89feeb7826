import type { IDataObject } from 'n8n-workflow';
import { callOf } from '../run/n8nEngine';
import { Assignment } from './assignment';
import { byKeys } from './earlierPayments';
import { lookupKeysOf, type Identity } from './identity';
import { endedWithoutResult, type Payment, type PaymentResult } from './payment';
import { keepOnly } from './storedPayments';

/** The last payment of each call, which its next try finds again. */
const ofCalls = new WeakMap<object, Payment>();

/**
 * Gives a call of an agent's tool its earlier payment: that of an earlier try of this call; else one of an
 * equal call. All calls are one item, which their requests and inputs tell apart, and two of them can have
 * the same place. The payment of a call that succeeded is removed: the next call is meant to create another
 * image.
 */
export class CallAssignment extends Assignment {
	/** By item, the lost payment of an earlier call that this call asks for. */
	private readonly takenOver = new Map<number, Payment>();

	/** Only the request tells which payment is whose. */
	override findOwnEarlier(): undefined {
		return undefined;
	}

	override assign(): void {
		for (const itemIndex of this.identities.keys()) this.assignOwn(itemIndex);
	}

	/** This call leaves those of others. */
	override ownPayments(): Set<Payment> {
		return new Set(this.owned.values());
	}

	/** Equal requests mean the same image, in any run. */
	override isOfSender(): boolean {
		return true;
	}

	/** An agent can't retry an execution. */
	override recoveryAdvice(): string {
		return '';
	}

	/** The payments that this call has used are removed, unless it failed. */
	override markReturned(failed: Set<number>): void {
		const used = this.ownPayments();
		keepOnly(this.payments, (payment) => !used.has(payment) || failed.has(payment.itemIndex));
	}

	override record(itemIndex: number, result: PaymentResult): Payment {
		const takenOver = this.takenOver.get(itemIndex);
		this.takenOver.delete(itemIndex);
		if (result.kind !== 'unknown') keepOnly(this.payments, (one) => one !== takenOver);
		return super.record(itemIndex, result);
	}

	override close(): void {
		// What this call hasn't got, the next one asks for.
		for (const [itemIndex, lost] of this.takenOver) {
			lost.idempotencyKey = this.idempotencyKeys.get(itemIndex);
		}
		super.close();
	}

	/** Without input, all calls would be the same one, whatever their expressions return. */
	protected override readonly isKnownBy = (json: IDataObject): boolean =>
		Object.keys(json).length > 0;

	protected override findEarlier(_: number, identity?: Identity): Payment | undefined {
		if (identity === undefined) return undefined;
		const earlier = ofCalls.get(callOf(this.context));
		const isThere = earlier !== undefined && this.payments.includes(earlier);
		if (isThere && this.earlier.isUsable(earlier)) return earlier;
		// Simultaneous calls change the list at any time.
		const now = byKeys(this.payments);
		return this.earlier.find([identity.requestDigest, ...lookupKeysOf(identity).slice(1)], now);
	}

	protected override isOwn({ requestDigest }: Payment, itemIndex: number): boolean {
		return requestDigest === this.identityOf(itemIndex).requestDigest && requestDigest !== '';
	}

	protected override use(itemIndex: number, payment: Payment): Payment {
		ofCalls.set(callOf(this.context), payment);
		return super.use(itemIndex, payment);
	}

	/** A call takes over the idempotency key of an equal one with an unknown outcome. */
	protected override newIdempotencyKey(itemIndex: number): string {
		const { requestDigest } = this.identityOf(itemIndex);
		const number = this.opened.countCall(requestDigest);
		const lost = this.paymentsOf(itemIndex).find(
			({ result, idempotencyKey }) =>
				result.kind === 'unknown' && !endedWithoutResult(result) && idempotencyKey !== undefined,
		);
		const { idempotencyKey } = lost ?? {};
		if (lost === undefined || idempotencyKey === undefined) {
			return this.idempotencyKeyOf(requestDigest, 'call', number);
		}
		delete lost.idempotencyKey;
		this.takenOver.set(itemIndex, lost);
		return idempotencyKey;
	}
}
