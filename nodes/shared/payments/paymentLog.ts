import type { IExecuteFunctions } from 'n8n-workflow';
import type { SendOnce } from '../../../gateway/client/client';
import { digestOf, requestFingerprint } from '../../../gateway/protocol/fingerprint';
import type { GoodResponse } from '../../../gateway/protocol/outcome';
import type { RequestPlan } from '../../../gateway/protocol/requestPlan';
import { UnknownOutcomeError, type Problem } from '../../../gateway/util/gatewayError';
import { isJsonObject, type JsonObject } from '../../../gateway/util/json';
import type { PaymentRecord } from '../run/itemRunner';
import type { UnreturnedPayment } from '../run/nodeErrors';
import type { RequestFacts } from '../run/requestFacts';
import { isTool, runIndexOf, type Run } from '../run/runContext';
import {
	RESCUE,
	RESCUE_OF_ONE,
	itemsWithoutAddress,
	keepOnly,
	listPayments,
	openPayments,
	stoppedProblem,
	unusableProblem,
	withPayment,
	withTaskId,
	type PaymentResult,
	type RequestIdentity,
	type Payment,
} from './payment';

/**
 * Parameters and options for how a result is checked, waited for and output. All others are part of
 * the request, including any that is missing here.
 */
// prettier-ignore
export const NOT_OF_THE_REQUEST = new Set([
	'addSummary', 'asyncFlag', 'binaryPropertyName', 'budget', 'checkLimits', 'concurrency', 'download',
	'dryRun', 'fileName', 'includeInputFields', 'maxDownloadMb', 'maxWait', 'mode', 'onTimeout',
	'parkAfter', 'pollInterval', 'requestsPerSecond', 'simplify', 'surviveRestarts', 'timeout',
]);

/** Keys by which an earlier payment is found for a request; the first one that matches decides. */
const SAME_REQUEST: Array<(request: RequestIdentity) => string> = [
	({ itemIndex, fingerprint }) => `${itemIndex} ${fingerprint}`,
	({ executionId, runIndex, itemIndex }) => `${executionId} ${runIndex} ${itemIndex}`,
	({ itemIndex, source }) => `${itemIndex} ${source}`,
	({ fingerprint }) => fingerprint,
];

/** Payments used by a run in progress: an agent may make the same tool call twice at once. */
const inUse = new WeakSet<Payment>();

/**
 * The payments of a node, which outlive the tries of Retry On Fail and n8n's Retry of a failed
 * execution. The result of an earlier payment is used again by
 *
 * 1. the item that sends the same request; 2. the item of the same run (execution, run index),
 * whatever it sends now; 3. the item that creates its request from the same parameters, input and
 * files: its prompt may contain the time of day or a random seed; 4. another item that sends the
 * same request, if the payment's own item now sends another one.
 *
 * The same request means the same account (the credential's ID and address) and the same content,
 * apart from how the result is waited for. In the same execution, a failed task or an unknown
 * outcome isn't paid for again; in another one a person has looked, and the request is sent again.
 * The payment of a tool call that succeeded is removed: the next call is meant to create another
 * image.
 */
export class PaymentLog implements PaymentRecord {
	private readonly isTool: boolean;

	private readonly run: { executionId: string; runIndex: number };

	private readonly payments: Payment[];

	/**
	 * Payments of earlier tries of this run, by item; none for a tool, all of whose calls are item 0.
	 */
	private readonly ofEarlierTries: Map<number, Payment>;

	private readonly parameters: string;

	private readonly expected = new Map<number, RequestIdentity>();

	/** Payments that this try has made or uses again, by item. */
	private readonly used = new Map<number, Payment>();

	/** Requests in progress, by item, each with its problem in case of a Stop. */
	private readonly sending = new Map<number, () => Problem>();

	private matched?: Map<number, Payment>;

	constructor(private readonly context: IExecuteFunctions) {
		this.isTool = isTool(context);
		this.run = {
			executionId: context.getExecutionId() ?? '',
			runIndex: runIndexOf(context),
		};
		this.payments = openPayments(
			context,
			(payment) => !payment.delivered || this.isOfThisRun(payment),
		);
		// If the node runs again, the engine has dropped what the earlier try returned.
		for (const payment of this.payments) payment.delivered = false;
		const own = this.isTool ? [] : this.payments.filter((payment) => this.isOfThisRun(payment));
		this.ofEarlierTries = new Map(own.map((payment) => [payment.itemIndex, payment]));
		this.parameters = digestOf(shapingParameters(context.getNode().parameters));
	}

	/**
	 * Adds the request that an item will send. Must be called for all items before one is paid for.
	 *
	 * @param plan the synchronous request before the model list has changed it, as the list may
	 *   change
	 * @param account a digest of the paying account
	 * @param inBody files that are in the body of the plan
	 */
	expect(itemIndex: number, plan: RequestPlan, account: string, inBody: unknown = []): void {
		const files = { ...plan, body: undefined, form: plan.form && { ...plan.form, fields: [] } };
		const { json } = this.context.getInputData()[itemIndex] ?? {};
		this.expected.set(itemIndex, {
			...this.run,
			itemIndex,
			fingerprint: requestFingerprint(plan, account),
			source: digestOf([requestFingerprint(files, account), this.parameters, json, inBody]),
		});
		this.matched = undefined;
	}

	/** Whether an item has been paid for, or may have been, in this try or an earlier one. */
	has(itemIndex: number): boolean {
		return this.find(itemIndex) !== undefined;
	}

	/**
	 * Sends the paid request of an item, unless there is a payment for it.
	 *
	 * @param read reads the result in a response; undefined if it contains nothing usable
	 * @throws GatewayError, or UnknownOutcomeError if the request may have been charged
	 */
	async pay(
		itemIndex: number,
		plan: RequestPlan,
		{ client, sendOnce, requests }: Pick<Run, 'client' | 'sendOnce' | 'requests'>,
		read: (response: GoodResponse) => PaymentResult | undefined,
	): Promise<PaymentResult> {
		const earlier = this.find(itemIndex);
		if (earlier !== undefined) {
			const { result } = this.use(itemIndex, earlier);
			if (result.unknown !== undefined) throw new UnknownOutcomeError(result.unknown);
			return result;
		}
		const attempt: SendOnce = async (...args) => {
			this.sending.set(itemIndex, () => stoppedProblem(plan, requests.arriving.get(plan)?.()));
			// After a Stop this rejects, and the request stays in `sending`.
			const outcome = await sendOnce(...args);
			this.sending.delete(itemIndex);
			return outcome;
		};
		try {
			const response = await client.send(plan, { sendOnce: attempt });
			const result = read(response);
			if (result !== undefined) return this.add(itemIndex, result).result;
			throw new UnknownOutcomeError(unusableProblem(plan, response.json));
		} catch (error) {
			if (!(error instanceof UnknownOutcomeError)) return await Promise.reject(error);
			const unknown = withTaskId(plan, error.problem);
			this.add(itemIndex, { unknown });
			return await Promise.reject(new UnknownOutcomeError(unknown));
		}
	}

	/** The recorded facts of an item's request. */
	factsOf(itemIndex: number): RequestFacts | undefined {
		return this.used.get(itemIndex)?.result.facts;
	}

	/** Updates the payment of an item. */
	update(itemIndex: number, result: PaymentResult): void {
		const payment = this.used.get(itemIndex);
		if (payment !== undefined) payment.result = { ...payment.result, ...result };
	}

	/** @see PaymentRecord */
	recover(error: unknown, itemIndex: number): ReturnType<Required<PaymentRecord>['recover']> {
		if (this.used.has(itemIndex) || this.sending.has(itemIndex)) return { error };
		const payment = this.find(itemIndex);
		if (payment === undefined) return { error };
		const { result } = payment;
		const items = itemsWithoutAddress(result, itemIndex);
		if (items !== undefined) this.use(itemIndex, payment);
		return { error: withPayment(error, { itemIndex, result }), items, facts: result.facts };
	}

	/** @see PaymentRecord */
	get rescue(): string {
		const isThere = this.payments.some(
			({ result }) =>
				result.unknown === undefined && result.failed !== true && result.lost !== true,
		);
		if (!isThere || this.isTool) return '';
		return this.context.getInputData().length === 1 ? RESCUE_OF_ONE : RESCUE;
	}

	/** @see PaymentRecord */
	listUnreturned(): UnreturnedPayment[] {
		const used = new Set(this.used.values());
		// Another call of the tool returns the payments that it uses.
		const open = this.payments.filter(
			(payment) =>
				payment.executionId === this.run.executionId && (used.has(payment) || !inUse.has(payment)),
		);
		const sending = [...this.sending].map(([itemIndex, problem]) => {
			const unknown = problem();
			return { itemIndex, result: unknown.taskId === undefined ? undefined : { unknown } };
		});
		return listPayments([...open, ...sending]);
	}

	/**
	 * The node returns its items. Their payments are removed, unless the item of a tool call failed
	 * or the engine may run the node again.
	 *
	 * @param failed indexes of the input items that failed
	 */
	settle(failed: Set<number>): void {
		const mayRunAgain = this.context.getNode().retryOnFail === true && failed.size > 0;
		const used = new Set(this.used.values());
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
		for (const [itemIndex, problem] of this.sending) this.add(itemIndex, { unknown: problem() });
		this.sending.clear();
		this.used.forEach((payment) => inUse.delete(payment));
	}

	/** The payment for an item, of this try or an earlier one. */
	private find(itemIndex: number): Payment | undefined {
		const used = this.used.get(itemIndex);
		if (used !== undefined) return used;
		// An item that couldn't be prepared has no request, only a place in the run.
		if (!this.expected.has(itemIndex)) return this.ofEarlierTries.get(itemIndex);
		// Simultaneous calls of a tool change the list at any time.
		if (this.isTool || this.matched === undefined) this.matched = this.match();
		return this.matched.get(itemIndex);
	}

	/** Matches each item with one earlier payment; in linear time, as thousands may be equal. */
	private match(): Map<number, Payment> {
		const matched = new Map<number, Payment>();
		const unused = new Set(this.payments.filter((payment) => this.isUsable(payment)));
		if (unused.size === 0) return matched;
		const open = [...this.expected.values()].filter(({ itemIndex }) => !this.used.has(itemIndex));
		for (const keyOf of SAME_REQUEST) {
			const byKey = new Map<string, Payment[]>();
			// In reverse order, as they are taken from the end.
			for (const payment of [...unused].reverse()) {
				const key = keyOf(payment);
				byKey.set(key, byKey.get(key) ?? []);
				byKey.get(key)?.push(payment);
			}
			for (const request of open) {
				if (matched.has(request.itemIndex)) continue;
				const payment = byKey.get(keyOf(request))?.pop();
				if (payment === undefined) continue;
				matched.set(request.itemIndex, payment);
				unused.delete(payment);
			}
		}
		return matched;
	}

	private isUsable(payment: Payment): boolean {
		if (inUse.has(payment)) return false;
		const { executionId, result } = payment;
		return executionId === this.run.executionId || (!result.unknown && !result.failed);
	}

	private isOfThisRun({ executionId, runIndex }: Payment): boolean {
		return executionId === this.run.executionId && runIndex === this.run.runIndex;
	}

	/** Assigns a payment to an item of this try. */
	private use(itemIndex: number, payment: Payment): Payment {
		const { source } = this.expected.get(itemIndex) ?? payment;
		Object.assign(payment, this.run, { itemIndex, source });
		this.used.set(itemIndex, payment);
		inUse.add(payment);
		return payment;
	}

	private add(itemIndex: number, result: PaymentResult): Payment {
		const request = this.expected.get(itemIndex);
		const payment = { ...this.run, itemIndex, fingerprint: '', source: '', ...request, result };
		this.payments.push(payment);
		return this.use(itemIndex, payment);
	}
}

/** The parameters of a node that are part of its request. */
function shapingParameters({ options, ...fields }: JsonObject): JsonObject {
	const shaping = (all: JsonObject): JsonObject =>
		Object.fromEntries(Object.entries(all).filter(([name]) => !NOT_OF_THE_REQUEST.has(name)));
	return { ...shaping(fields), options: isJsonObject(options) ? shaping(options) : options };
}
