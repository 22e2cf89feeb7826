import { lookupKeysOf } from './identity';
import { endOf, type Payment } from './payment';

/** Payments used by a run in progress: an agent may make the same tool call twice at once. */
const inUse = new WeakSet<Payment>();

export const claim = (payment: Payment): void => void inUse.add(payment);
export const release = (payment: Payment): void => void inUse.delete(payment);
export const isInUse = (payment: Payment): boolean => inUse.has(payment);

/** The payments of earlier tries, found again by what stays the same when a person retries. */
export class EarlierPayments {
	/** The payments by each of their keys (`byKeys`), the first of them last. */
	private byKey?: Map<string, Payment[]>;

	/**
	 * @param payments the list itself, as simultaneous calls of a tool add to it
	 * @param executionId this execution: one of another may send again what has failed
	 * @param resendsUnknown whether this one also sends again what has an unknown outcome
	 */
	constructor(
		private readonly payments: Payment[],
		private readonly executionId: string,
		private readonly resendsUnknown: boolean,
	) {}

	/** The first payment with one of the keys that no item has yet. */
	find(keys: string[], byKey = (this.byKey ??= byKeys(this.payments))): Payment | undefined {
		for (const key of keys) {
			const found = byKey.get(key) ?? [];
			// One that isn't usable never will be: each is passed once, as thousands may be equal.
			while (found.length > 0 && !this.isUsable(found.at(-1)!)) found.pop();
			if (found.length > 0) return found.at(-1);
		}
		return undefined;
	}

	/** Whether an item can have a payment in place of its request. */
	isUsable(payment: Payment): boolean {
		if (isInUse(payment)) return false;
		const { executionId, result } = payment;
		if (result.kind === 'unknown' && this.resendsUnknown) return false;
		const isPaid = result.kind !== 'unknown' && endOf(result) !== 'failed';
		return executionId === this.executionId || isPaid;
	}
}

/** Payments by each of their keys, also by their request alone, the first of them last. */
export function byKeys(payments: Payment[]): Map<string, Payment[]> {
	const found = new Map<string, Payment[]>();
	for (const payment of [...payments].reverse()) {
		for (const key of [...lookupKeysOf(payment), payment.requestDigest]) {
			const same = found.get(key);
			if (same !== undefined) same.push(payment);
			else if (key !== '') found.set(key, [payment]);
		}
	}
	return found;
}
