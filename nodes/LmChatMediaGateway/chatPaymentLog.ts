import type { IExecuteFunctions, INode } from 'n8n-workflow';
import { isToolCall } from '../../gateway/messages/chat';
import { digestOf } from '../../util/digest';
import { type Problem, unknownOutcome } from '../../gateway/protocol/gatewayError';
import { isJsonObject, type JsonObject } from '../../util/json';
import type { Payment, PaymentResult } from '../shared/payments/payment';
import { keepOnly, openPayments } from '../shared/payments/storedPayments';
import { runIndexOf } from '../shared/run/runContext';

/** What all models of a try share. */
interface Try {
	/** The payments that it has made or used, the last one last. */
	held: Set<Payment>;
	/** The number of messages under way. */
	underWay: number;
	/** Whether the node may fail by more than its last answer: a message failed, or two were under way. */
	isMixed: boolean;
}

/** By list of payments, the last answer of the last try, and the step of the agent that got it. */
const lastAnswers = new WeakMap<Payment[], { payment: Payment; step: string }>();

/** By list of payments, the open models in this process that share it. */
const openModels = new WeakMap<Payment[], Set<ChatPaymentLog>>();

/**
 * The payments of a chat model. An agent may mean the same message twice, so a recorded response is
 * used once, and only by another try of the node that called it: in the same execution and run, after
 * all models of the earlier try were closed. A message with an unknown outcome is refused for the
 * rest of the execution.
 *
 * Where messages were sent one by one, each got its response, and the node has failed nonetheless, it
 * failed by the last one, which its parser may not have understood. Its message is sent again, unless it
 * asks for a tool.
 */
export class ChatPaymentLog {
	/** What all payments of this model are known by. */
	private readonly place: Omit<Payment, 'fingerprint' | 'result'>;

	private readonly payments: Payment[];

	/** The problem of all messages, if this execution can't read the record. */
	private readonly unknown?: Problem;

	private readonly shared: Try;

	/** The tools that the engine has run for an agent so far: it runs the agent anew after each of them. */
	private readonly step: string;

	/** Whether the engine may run the calling node again; otherwise responses aren't recorded. */
	private readonly mayRunAgain: boolean;

	constructor(context: IExecuteFunctions) {
		const { node, metadata } = context.getExecuteData();
		this.step = digestOf([metadata?.subNodeExecutionData]);
		// If an agent is a tool of another agent, the engine runs the outer one.
		const { parentNode } = context as { parentNode?: Partial<INode> };
		this.mayRunAgain = node.retryOnFail === true || parentNode?.retryOnFail === true;
		const source = `${node.name} ${parentNode?.name ?? ''}`;
		const executionId = context.getExecutionId() ?? '';
		this.place = { executionId, runIndex: runIndexOf(context), itemIndex: 0, source };
		// Responses of an earlier run have left the calling node and are dropped.
		const { payments, unknown } = openPayments(context, (payment) => {
			const isOfUse = payment.source !== source || this.isOwn(payment) || !!payment.result.unknown;
			return payment.executionId === executionId && isOfUse;
		});
		[this.payments, this.unknown] = [payments, unknown];
		const open = openModels.get(this.payments) ?? new Set();
		openModels.set(this.payments, open);
		const other = [...open].find(({ place }) => this.isOwn(place));
		this.shared = other?.shared ?? { held: new Set(), underWay: 0, isMixed: false };
		if (other === undefined) this.dropLastAnswer();
		open.add(this);
	}

	/**
	 * The response to the same message in an earlier try; undefined if the message must be sent.
	 *
	 * @throws UnknownOutcomeError if it may have been charged and there is no response
	 */
	take(fingerprint: string): JsonObject | undefined {
		const same = this.payments.filter((payment) => payment.fingerprint === fingerprint);
		const earlier =
			same.find((one) => !one.result.unknown && this.isOwn(one) && !this.shared.held.has(one)) ??
			same.find((one) => one.result.unknown);
		const { unknown = this.unknown, message } = earlier?.result ?? {};
		if (unknown !== undefined) throw unknownOutcome(unknown);
		if (earlier === undefined) return undefined;
		this.shared.held.add(earlier);
		return message;
	}

	/** Records a response or an unknown outcome. */
	add(fingerprint: string, result: PaymentResult): void {
		if (result.unknown === undefined && !this.mayRunAgain) return;
		const payment = { ...this.place, fingerprint, result };
		this.payments.push(payment);
		this.shared.held.add(payment);
	}

	/** Gets the response to a message, of which others may be under way. */
	async during<T>(message: () => Promise<T>): Promise<T> {
		const { shared } = this;
		shared.underWay += 1;
		if (shared.underWay > 1) shared.isMixed = true;
		try {
			return await message();
		} catch (error) {
			shared.isMixed = true;
			throw error as Error;
		} finally {
			shared.underWay -= 1;
		}
	}

	/** Called when the model isn't needed any more. */
	close(): void {
		openModels.get(this.payments)?.delete(this);
		const { held, isMixed } = this.shared;
		const payment = isMixed ? undefined : [...held].at(-1);
		const isAnswer = payment?.result.message !== undefined && !asksForTool(payment.result.message);
		if (isAnswer) lastAnswers.set(this.payments, { payment, step: this.step });
		else lastAnswers.delete(this.payments);
	}

	private dropLastAnswer(): void {
		const last = lastAnswers.get(this.payments);
		lastAnswers.delete(this.payments);
		if (last === undefined || !this.isOwn(last.payment) || last.step !== this.step) return;
		keepOnly(this.payments, (payment) => payment !== last.payment);
	}

	private isOwn({ source, runIndex }: Pick<Payment, 'source' | 'runIndex'>): boolean {
		return source === this.place.source && runIndex === this.place.runIndex;
	}
}

/** What n8n's agents with an output parser give the model as a tool: its call is the answer. */
const ANSWER_TOOL = 'format_final_json_response';

const asksForTool = ({ content }: JsonObject): boolean =>
	Array.isArray(content) &&
	content.some((block) => isJsonObject(block) && isToolCall(block) && block.name !== ANSWER_TOOL);
