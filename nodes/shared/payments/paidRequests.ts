import type { IExecuteFunctions } from 'n8n-workflow';
import type { SendOnce } from '../../../gateway/client/client';
import { digestOf, requestFingerprint } from '../../../gateway/protocol/fingerprint';
import type { RequestPlan } from '../../../gateway/protocol/requestPlan';
import { UnknownOutcomeError, type Problem } from '../../../gateway/util/gatewayError';
import { isJsonObject, type JsonObject } from '../../../gateway/util/json';
import type { PaymentRecord } from '../run/itemRunner';
import type { RequestFacts } from '../run/nodeErrors';
import { isTool, runIndexOf, type Run } from '../run/runContext';
import {
	describePayments,
	RESCUE,
	RESCUE_OF_ONE,
	itemsWithoutAddress,
	keepOnly,
	openPayments,
	stoppedProblem,
	unusableProblem,
	withPayment,
	withTaskId,
	type Paid,
	type PaidRequest,
	type Payment,
} from './payment';

/**
 * Parameters and options that say how a result is checked, waited for and output. All others shape the
 * request; one that is missing here is taken to shape it, too.
 */
// prettier-ignore
export const NOT_OF_THE_REQUEST = new Set([
	'addSummary', 'asyncFlag', 'binaryPropertyName', 'budget', 'checkLimits', 'concurrency', 'download',
	'dryRun', 'fileName', 'includeInputFields', 'maxDownloadMb', 'maxWait', 'mode', 'onTimeout',
	'parkAfter', 'pollInterval', 'requestsPerSecond', 'simplify', 'surviveRestarts', 'timeout',
]);

/** When an earlier payment is for a request: if it has the same key, the first of these that fits. */
const SAME_REQUEST: Array<(request: PaidRequest) => string> = [
	({ itemIndex, fingerprint }) => `${itemIndex} ${fingerprint}`,
	({ executionId, runIndex, itemIndex }) => `${executionId} ${runIndex} ${itemIndex}`,
	({ itemIndex, source }) => `${itemIndex} ${source}`,
	({ fingerprint }) => fingerprint,
];

/** Payments that runs of this process hold: an agent may make the same tool call twice at once. */
const inUse = new WeakSet<Payment>();

/**
 * The payments of a node, kept over the tries of Retry On Fail and n8n's Retry of a failed execution.
 * What an earlier payment has brought is used again by
 *
 * 1. the item that sends the same request;
 * 2. the item of the same run (execution, run index), whatever it sends now;
 * 3. the item that makes its request from the same parameters, input and files: its prompt may hold
 *    the time of day or a random seed;
 * 4. another item that sends the same request, if the payment's own item now sends another one.
 *
 * A request is its account (the credential's ID and address) and what is sent, apart from how the
 * result is waited for. In the same execution a payment that failed, or whose outcome is unknown, stays
 * so; in another one a person has looked, and the request is sent again. A tool call that succeeded is
 * forgotten: who calls again wants another image.
 */
export class PaidRequests implements PaymentRecord {
	private readonly isTool: boolean;

	private readonly run: { executionId: string; runIndex: number };

	private readonly payments: Payment[];

	/** Payments of earlier tries of this run, by item; none for a tool, whose calls share a place. */
	private readonly ofEarlierTries: Map<number, Payment>;

	private readonly parameters: string;

	private readonly expected = new Map<number, PaidRequest>();

	/** What this try has paid for or uses again, by item. */
	private readonly held = new Map<number, Payment>();

	/** Requests in progress, by item: the problem that each is if it ends now. */
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
		// The engine has dropped what an earlier try returned.
		for (const payment of this.payments) payment.delivered = false;
		const own = this.isTool ? [] : this.payments.filter((payment) => this.isOfThisRun(payment));
		this.ofEarlierTries = new Map(own.map((payment) => [payment.itemIndex, payment]));
		this.parameters = digestOf(shapingParameters(context.getNode().parameters));
	}

	/**
	 * Says what an item is going to send; to be called for all items before one is paid for.
	 *
	 * @param plan as the user asked for it, synchronous: what the model list makes of a request may
	 *   differ next time
	 * @param account digest of who pays
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

	/** Whether an item has been paid for, in this try or an earlier one, or may have been. */
	has(itemIndex: number): boolean {
		return this.find(itemIndex) !== undefined;
	}

	/**
	 * Sends the paid request of an item, unless there is a payment for it.
	 *
	 * @param read what was bought, out of the response; undefined if it contains nothing usable
	 * @throws GatewayError, or UnknownOutcomeError where the request may have been charged
	 */
	async pay(
		itemIndex: number,
		plan: RequestPlan,
		{ client, sendOnce, requests }: Pick<Run, 'client' | 'sendOnce' | 'requests'>,
		read: (body: JsonObject) => Paid | undefined,
	): Promise<Paid> {
		const earlier = this.find(itemIndex);
		if (earlier !== undefined) {
			const { paid } = this.hold(itemIndex, earlier);
			if (paid.unknown !== undefined) throw new UnknownOutcomeError(paid.unknown);
			return paid;
		}
		const attempt: SendOnce = async (...args) => {
			this.sending.set(itemIndex, () => stoppedProblem(plan, requests.arriving.get(plan)?.()));
			// A Stop rejects here: the request stays in progress.
			const outcome = await sendOnce(...args);
			this.sending.delete(itemIndex);
			return outcome;
		};
		try {
			const body = await client.send(plan, { sendOnce: attempt });
			const paid = read(body);
			if (paid !== undefined) return this.add(itemIndex, paid).paid;
			throw new UnknownOutcomeError(unusableProblem(plan, body));
		} catch (error) {
			if (!(error instanceof UnknownOutcomeError)) return await Promise.reject(error);
			const unknown = withTaskId(plan, error.problem);
			this.add(itemIndex, { unknown });
			return await Promise.reject(new UnknownOutcomeError(unknown));
		}
	}

	/** What was sent for an item, where that is recorded. */
	factsOf(itemIndex: number): RequestFacts | undefined {
		return this.held.get(itemIndex)?.paid.facts;
	}

	/** Adds what has become known of what an item paid for. */
	update(itemIndex: number, paid: Paid): void {
		const payment = this.held.get(itemIndex);
		if (payment !== undefined) payment.paid = { ...payment.paid, ...paid };
	}

	/** @see PaymentRecord */
	recover(error: unknown, itemIndex: number): ReturnType<Required<PaymentRecord>['recover']> {
		if (this.held.has(itemIndex) || this.sending.has(itemIndex)) return { error };
		const payment = this.find(itemIndex);
		if (payment === undefined) return { error };
		const { paid } = payment;
		const items = itemsWithoutAddress(paid, itemIndex);
		if (items !== undefined) this.hold(itemIndex, payment);
		return { error: withPayment(error, { itemIndex, paid }), items, facts: paid.facts };
	}

	/** @see PaymentRecord */
	get rescue(): string {
		const isThere = this.payments.some(
			({ paid }) => paid.unknown === undefined && paid.failed !== true && paid.lost !== true,
		);
		if (!isThere || this.isTool) return '';
		return this.context.getInputData().length === 1 ? RESCUE_OF_ONE : RESCUE;
	}

	/** @see PaymentRecord */
	describeUnreturned(): string {
		const held = new Set(this.held.values());
		// A payment that another call of the tool holds comes out there.
		const open = this.payments.filter(
			(payment) =>
				payment.executionId === this.run.executionId && (held.has(payment) || !inUse.has(payment)),
		);
		const sending = [...this.sending].map(([itemIndex, problem]) => {
			const unknown = problem();
			return { itemIndex, paid: unknown.taskId === undefined ? undefined : { unknown } };
		});
		return describePayments([...open, ...sending]);
	}

	/**
	 * The node returns its items. Their payments are forgotten, unless the item of a tool call failed or
	 * the engine may run the node again.
	 *
	 * @param failed indexes of the input items that failed
	 */
	settle(failed: Set<number>): void {
		const mayRunAgain = this.context.getNode().retryOnFail === true && failed.size > 0;
		const held = new Set(this.held.values());
		keepOnly(this.payments, (payment) => {
			if (this.isTool) return !held.has(payment) || failed.has(payment.itemIndex);
			if (!this.isOfThisRun(payment)) return true;
			payment.delivered = true;
			return mayRunAgain;
		});
	}

	/** To be called when the run is over, however it ended. */
	close(): void {
		// The engine runs a node with Retry On Fail again even after a Stop.
		for (const [itemIndex, problem] of this.sending) this.add(itemIndex, { unknown: problem() });
		this.sending.clear();
		this.held.forEach((payment) => inUse.delete(payment));
	}

	/** The payment for an item: this try's, or an earlier one. */
	private find(itemIndex: number): Payment | undefined {
		const held = this.held.get(itemIndex);
		if (held !== undefined) return held;
		// An item that can't be prepared has no request: its place in the run is all there is.
		if (!this.expected.has(itemIndex)) return this.ofEarlierTries.get(itemIndex);
		// Other calls of a tool take and leave payments at any time.
		if (this.isTool || this.matched === undefined) this.matched = this.match();
		return this.matched.get(itemIndex);
	}

	/** Matches items with earlier payments, each with one: in linear time, as thousands may be equal. */
	private match(): Map<number, Payment> {
		const matched = new Map<number, Payment>();
		const free = new Set(this.payments.filter((payment) => this.isUsable(payment)));
		if (free.size === 0) return matched;
		const open = [...this.expected.values()].filter(({ itemIndex }) => !this.held.has(itemIndex));
		for (const keyOf of SAME_REQUEST) {
			const byKey = new Map<string, Payment[]>();
			// The last one first: they are taken from the end.
			for (const payment of [...free].reverse()) {
				const key = keyOf(payment);
				byKey.set(key, byKey.get(key) ?? []);
				byKey.get(key)?.push(payment);
			}
			for (const request of open) {
				if (matched.has(request.itemIndex)) continue;
				const payment = byKey.get(keyOf(request))?.pop();
				if (payment === undefined) continue;
				matched.set(request.itemIndex, payment);
				free.delete(payment);
			}
		}
		return matched;
	}

	private isUsable(payment: Payment): boolean {
		if (inUse.has(payment)) return false;
		const { executionId, paid } = payment;
		return executionId === this.run.executionId || (!paid.unknown && !paid.failed);
	}

	private isOfThisRun({ executionId, runIndex }: Payment): boolean {
		return executionId === this.run.executionId && runIndex === this.run.runIndex;
	}

	/** From now on it belongs to the item that holds it. */
	private hold(itemIndex: number, payment: Payment): Payment {
		const { source } = this.expected.get(itemIndex) ?? payment;
		Object.assign(payment, this.run, { itemIndex, source });
		this.held.set(itemIndex, payment);
		inUse.add(payment);
		return payment;
	}

	private add(itemIndex: number, paid: Paid): Payment {
		const request = this.expected.get(itemIndex);
		const payment = { ...this.run, itemIndex, fingerprint: '', source: '', ...request, paid };
		this.payments.push(payment);
		return this.hold(itemIndex, payment);
	}
}

/** A node's parameters without those that don't change what is sent. */
function shapingParameters({ options, ...fields }: JsonObject): JsonObject {
	const shaping = (all: JsonObject): JsonObject =>
		Object.fromEntries(Object.entries(all).filter(([name]) => !NOT_OF_THE_REQUEST.has(name)));
	return { ...shaping(fields), options: isJsonObject(options) ? shaping(options) : options };
}
