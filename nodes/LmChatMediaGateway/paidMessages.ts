import type { IExecuteFunctions, INode } from 'n8n-workflow';
import { UnknownOutcomeError, type Problem } from '../../gateway/util/gatewayError';
import { openPayments, type Paid, type Payment } from '../shared/payments/payment';
import { runIndexOf } from '../shared/run/runContext';

/** In characters of JSON, for the responses of one try together. */
const MOST_RECORDED = 8_000_000;

/** The models that are open in this process, by the list of payments that they share. */
const openModels = new WeakMap<Payment[], Set<PaidMessages>>();

/**
 * The payments of a chat model. Unlike a node's items, its messages aren't known in advance, and the
 * same one may be meant twice: so only another try of the node that asks (same execution, same run, all
 * models of the earlier try closed) gets the recorded responses, each once. A message with an unknown
 * outcome is refused as long as the execution lasts, whoever asks.
 */
export class PaidMessages {
	private readonly run: Omit<Payment, 'fingerprint' | 'paid'>;

	private readonly payments: Payment[];

	/** What this try has paid for or used again; all models of the try share it. */
	private readonly current: { held: Set<Payment>; size: number };

	/** Responses are recorded only if the engine may run the node that asks again. */
	private readonly mayRunAgain: boolean;

	constructor(context: IExecuteFunctions) {
		const { node } = context.getExecuteData();
		// Within an agent that is a tool of another agent, the engine runs the outer one.
		const { parentNode } = context as { parentNode?: Partial<INode> };
		this.mayRunAgain = node.retryOnFail === true || parentNode?.retryOnFail === true;
		const source = `${node.name} ${parentNode?.name ?? ''}`;
		const executionId = context.getExecutionId() ?? '';
		this.run = { executionId, runIndex: runIndexOf(context), itemIndex: 0, source };
		// The responses of an earlier run have left the node that asked.
		this.payments = openPayments(context, (payment) => {
			const isOfUse = payment.source !== source || this.isOwn(payment) || !!payment.paid.unknown;
			return payment.executionId === executionId && isOfUse;
		});
		const open = openModels.get(this.payments) ?? new Set();
		openModels.set(this.payments, open);
		const beside = [...open].find(({ run }) => this.isOwn(run));
		this.current = beside?.current ?? { held: new Set(), size: 0 };
		open.add(this);
	}

	/**
	 * What an earlier try has paid for the same message; undefined if it is to be sent.
	 *
	 * @throws UnknownOutcomeError if it may have been charged and there is no response
	 */
	take(fingerprint: string): Paid | undefined {
		const { held } = this.current;
		const same = this.payments.filter((payment) => payment.fingerprint === fingerprint);
		const earlier =
			same.find((one) => !one.paid.unknown && this.isOwn(one) && !held.has(one)) ??
			same.find((one) => one.paid.unknown);
		if (earlier === undefined) return undefined;
		const { unknown, message } = earlier.paid;
		if (message === undefined) throw new UnknownOutcomeError(unknown ?? TOO_LARGE);
		held.add(earlier);
		return earlier.paid;
	}

	/** Records a response, or that the outcome of a message is unknown. */
	add(fingerprint: string, paid: Paid): void {
		if (paid.unknown === undefined && !this.mayRunAgain) return;
		this.current.size += JSON.stringify(paid.message ?? null).length;
		const isTooLarge = paid.message !== undefined && this.current.size > MOST_RECORDED;
		const payment = { ...this.run, fingerprint, paid: isTooLarge ? {} : paid };
		this.payments.push(payment);
		this.current.held.add(payment);
	}

	/** To be called when the model is not needed any more. */
	close(): void {
		openModels.get(this.payments)?.delete(this);
	}

	private isOwn({ source, runIndex }: Pick<Payment, 'source' | 'runIndex'>): boolean {
		return source === this.run.source && runIndex === this.run.runIndex;
	}
}

const TOO_LARGE: Problem = {
	message: 'An earlier try already paid for this message, but its response is no longer available',
	description:
		"The responses of this run were too large to keep, and the message wasn't sent again. To send it again, run the workflow again.",
};
