import { GatewayError, type Journal, type Problem, type Settled } from '../../../gateway';
import type { Assignment } from './assignment';
import type { Paid, Payment, PaymentResult } from './payment';

/** What this try knows of the request of an item. */
interface ItemState {
	/** Whether its earlier payment is used again, or it was paid for in this try. */
	use?: 'reused' | 'sent';
	/** The problem of its request in case of a Stop, while that is in progress. */
	pending?: () => Problem;
	/** Whether its request was sent again after an unknown outcome, and the tasks that were named before. */
	isSentAgain?: boolean;
	lostTasks?: Set<string>;
}

/**
 * The journal of a node, by which its requests are paid for. The client knows a request by the index of its
 * item; whose payment is whose, the assignment decides.
 */
export class PaymentJournal<R extends Paid> implements Journal<number, R> {
	private readonly items = new Map<number, ItemState>();

	constructor(private readonly assignment: Assignment) {}

	/** @see Journal */
	find(itemIndex: number): ReturnType<Journal<number, R>['find']> {
		const payment = this.assignment.owned.get(itemIndex);
		if (payment === undefined) return undefined;
		this.stateOf(itemIndex).use = 'reused';
		const { result } = payment;
		return result.kind === 'unknown'
			? { charged: 'maybe', problem: result.problem }
			: { charged: 'yes', receipt: result as R };
	}

	/** @see Journal */
	idempotencyKey(itemIndex: number): string | undefined {
		return this.assignment.idempotencyKey(itemIndex);
	}

	/**
	 * In memory alone: a killed process leaves no entry. `close` records what a Stop has left.
	 *
	 * @see Journal
	 */
	begin(itemIndex: number, pending: () => Problem): void {
		const state = this.stateOf(itemIndex);
		const earlier = this.assignment.owned.get(itemIndex);
		if (earlier?.result.kind === 'unknown' || state.pending !== undefined) {
			state.isSentAgain = true;
			const { taskId } = pending();
			if (taskId !== undefined) (state.lostTasks ??= new Set()).add(taskId);
		}
		Object.assign(state, { use: 'sent', pending });
	}

	/** @see Journal */
	settle(itemIndex: number, end: Settled<R>): void {
		const state = this.stateOf(itemIndex);
		const { pending } = state;
		delete state.pending;
		// Once the run is over, what was begun is recorded so.
		if (pending === undefined || end.charged === 'no') return;
		const { assignment } = this;
		assignment.record(
			itemIndex,
			end.charged === 'yes' ? end.receipt : assignment.unknownOf(itemIndex, end.problem),
		);
	}

	/**
	 * Uses the earlier payment of an item in place of a request, as `pay` does.
	 *
	 * @param earlier that of `findOwnEarlier`
	 * @throws GatewayError `outcomeUnknown` if it may have been charged
	 */
	reuse(itemIndex: number, { result }: Payment): R {
		this.stateOf(itemIndex).use = 'reused';
		if (result.kind !== 'unknown') return result as R;
		throw new GatewayError(result.problem, 'outcomeUnknown');
	}

	/** Records what has become of the payment of an item. */
	update(itemIndex: number, result: R): void {
		if (this.assignment.owned.has(itemIndex)) {
			this.assignment.record(itemIndex, result);
		}
	}

	/** Whether this try returns what an earlier one has paid for. */
	isReused(itemIndex: number): boolean {
		const { use } = this.stateOf(itemIndex);
		return use === 'reused' && this.assignment.owned.get(itemIndex)?.result.kind !== 'unknown';
	}

	/** Whether this try has gone beyond the preparation of an item: then its error names what it paid. */
	isStarted(itemIndex: number): boolean {
		return this.stateOf(itemIndex).use !== undefined;
	}

	/** The requests in progress, as a Stop would leave them. */
	begun(): Array<{ itemIndex: number; result: PaymentResult }> {
		return [...this.items].flatMap(([itemIndex, { pending }]) =>
			pending === undefined
				? []
				: { itemIndex, result: this.assignment.unknownOf(itemIndex, pending()) },
		);
	}

	/**
	 * How many items were sent in this try, or in an earlier one that paid for them, although an attempt
	 * before may have been charged: n8n shows the hints of the last try alone.
	 */
	countSentAgain(): number {
		const { assignment } = this;
		const hasUnclear = (itemIndex: number): boolean =>
			assignment
				.paymentsOf(itemIndex)
				.some(
					(payment) =>
						payment.result.kind === 'unknown' &&
						payment !== assignment.owned.get(itemIndex) &&
						assignment.isOfSender(payment),
				);
		return [...this.items].filter(
			([itemIndex, { isSentAgain }]) =>
				this.isStarted(itemIndex) && (isSentAgain === true || hasUnclear(itemIndex)),
		).length;
	}

	/** The tasks of such attempts that no item has got: a gateway that ignores keys may have charged for them. */
	lostTasks(): string[] {
		const got = [...this.assignment.owned.values()].map(
			({ result }) => 'task' in result && result.task?.taskId,
		);
		const named = [...this.items.values()].flatMap(({ lostTasks = [] }) => [...lostTasks]);
		return named.filter((taskId) => !got.includes(taskId));
	}

	/** Must be called when the run is over: the engine runs a node with Retry On Fail again even after a Stop. */
	close(): void {
		for (const [itemIndex, { pending }] of this.items) {
			if (pending !== undefined) this.settle(itemIndex, { charged: 'maybe', problem: pending() });
		}
		this.assignment.close();
	}

	private stateOf(itemIndex: number): ItemState {
		const state = this.items.get(itemIndex) ?? {};
		this.items.set(itemIndex, state);
		return state;
	}
}
