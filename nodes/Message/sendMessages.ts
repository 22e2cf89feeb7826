import {
	type IDataObject,
	type IExecuteFunctions,
	type INodeExecutionData,
	deepCopy,
} from 'n8n-workflow';
import { type Bill, type PaidPlan, readBilling } from '../../gateway';
import {
	hintsOf,
	namesLeftOutFiles,
	planMessage,
	promptOf,
	readMessage,
	responseHint,
	type Turn,
	withoutFiles,
} from '../../gateway/messages';
import { readRequestFacts } from '../shared/create/imageRequest';
import { orUndefined } from '../shared/parameters/orUndefined';
import { ItemParameters } from '../shared/parameters/itemParameters';
import { readLimits } from '../shared/parameters/optionValues';
import { type PaidJob, payForJob } from '../shared/payments/payingNode';
import { billOf, describeSentAgain, type PaidMessage } from '../shared/payments/payment';
import type { PaymentLog } from '../shared/payments/paymentLog';
import { runItems } from '../shared/run/itemRunner';
import { failedItems } from '../shared/errors/nodeErrors';
import type { RequestFacts } from '../shared/errors/itemReport';
import { withPlaces } from '../shared/errors/settingPlaces';
import { addHints, currencyOf, openRun, type Run } from '../shared/run/runContext';
import {
	andUnpriced,
	describeBills,
	describeItems,
	sentenceOf,
	tellUser,
} from '../shared/run/summary';
import { sumOfBills } from '../shared/run/totals';
import { readMessageFiles } from './messageImages';
import { messageOutput, readMessageTarget, type MessageTarget } from './messageOutput';
import { messageRequest, promptIn, readInputKind, readMessageDraft } from './messageParameters';
import { isJsonObject, type JsonObject } from '../../util/json';
import { counted } from '../../util/text';

const HIDDEN =
	"The model's thinking came back empty, though it is charged. Set 'Display Thinking' to 'Summarized' to see a summary.";

/** Whether a model doesn't show its thinking, and nobody asked it to leave it out. */
function hidesThinking({ plan: { body = {} } }: MessageOrder, { content }: JsonObject): boolean {
	const { display } = isJsonObject(body.thinking) ? body.thinking : {};
	const blocks = [content].flat().filter(isJsonObject);
	const thoughts = blocks.filter(({ type }) => type === 'thinking');
	return display === undefined && thoughts.length > 0 && !thoughts.some(({ thinking }) => thinking);
}

/** The messages of a run. */
interface MessageBatch {
	run: Run;
	paymentLog: PaymentLog<PaidMessage>;
	/** The bill of each message of this try. */
	bills: Bill[];
}

/** What an item does once all items are prepared. */
interface MessageJob extends PaidJob<MessageOrder> {
	target: MessageTarget;
}

/** What to send, and what its payment is recorded with. */
interface MessageOrder {
	plan: PaidPlan;
	/** The conversation as the output shows it. */
	turns: Turn[];
	facts: RequestFacts;
}

const LEFT_OUT =
	"The conversation names images that were left out of it, which the model doesn't see. To ask more about them, send them again with 'Prompt with Images'.";

/** What an item would send, as far as it can be read, for its error. */
export function readMessageFacts(item: ItemParameters): RequestFacts {
	const draft = orUndefined(() => readMessageDraft(item));
	if (draft === undefined) return readRequestFacts(item);
	return { model: draft.settings.model, prompt: promptIn(draft) };
}

/** Sends a message for each item, unless an earlier try has paid for it, and returns the responses. */
export async function sendMessages(
	context: IExecuteFunctions,
	paymentLog: PaymentLog<PaidMessage>,
): Promise<INodeExecutionData[][]> {
	const run = await openRun(context, readLimits(new ItemParameters(context, 0)));
	const batch: MessageBatch = { run, paymentLog, bills: [] };
	try {
		const items = await runItems(run, context.getInputData().length, {
			itemReport: paymentLog.itemReport,
			prepare: async (itemIndex) => {
				const job = await prepareMessage(batch, new ItemParameters(context, itemIndex));
				return async () => await executeMessage(batch, job);
			},
			checkAll: () => {
				paymentLog.assignment.assign();
				return [];
			},
		});
		const sentAgain = paymentLog.journal.countSentAgain();
		if (sentAgain > 0) {
			const { idempotencyHeader } = run.gateway.account;
			run.hints.add(
				idempotencyHeader === ''
					? `${counted(sentAgain, 'message')} of an earlier try may have been charged too: no response came, and Retry On Fail sends such a message again.`
					: describeSentAgain(sentAgain, idempotencyHeader),
			);
		}
		addHints(context, run.hints);
		const counts = {
			rateLimitedRequests: run.rateLimitedRequests(),
			reused: paymentLog.itemReport.reused(),
		};
		const cost = describeBills(sumOfBills(batch.bills), currencyOf(run));
		const unbilled = batch.bills.filter((bill) => bill.cost === undefined).length;
		const done = [
			counted(batch.bills.length, 'message'),
			cost === '' ? '' : `cost ${cost}${andUnpriced(unbilled, 'message')}`,
			...describeItems(items, counts),
		];
		tellUser(context, sentenceOf(done), 'info');
		paymentLog.itemReport.markReturned(failedItems(items));
		return [items.flat()];
	} finally {
		run.gateway.end();
	}
}

/** Reads the message of an item, unless an earlier try has paid for it. Nothing is sent yet. */
async function prepareMessage(batch: MessageBatch, item: ItemParameters): Promise<MessageJob> {
	const { run, paymentLog } = batch;
	const { gateway } = run;
	const { itemIndex } = item;
	const { assignment } = paymentLog;
	const identity = await assignment.identify(itemIndex, gateway.account.id, gateway.digest);
	const target = readMessageTarget(item);
	const earlier = assignment.findOwnEarlier(identity);
	if (earlier !== undefined) return { itemIndex, target, source: { earlier } };
	const draft = readMessageDraft(item);
	const facts = { model: draft.settings.model, prompt: promptIn(draft) };
	assignment.facts.set(itemIndex, facts);
	const hasFiles = readInputKind(item) === 'image';
	const files = hasFiles ? await readMessageFiles(item, run) : [];
	if (hasFiles && files.length === 0 && promptOf(draft.added) === undefined) {
		throw item.refusal('The item has neither an image nor a prompt', 'Give it one of them.');
	}
	const request = messageRequest(
		draft,
		files.map(({ block }) => block),
	);
	const bytes = files.flatMap(({ file }) => file ?? []);
	const plan = { ...planMessage(request, bytes), item: itemIndex };
	hintsOf(request).forEach((hint) => run.hints.add(withPlaces(hint)));
	if (namesLeftOutFiles(request.messages)) run.hints.add(LEFT_OUT);
	identity.requestDigest = await gateway.requestDigest(plan);
	const fileOf = new Map(files.map(({ block, file }) => [block, file] as const));
	const turns = withoutFiles(request.messages, fileOf);
	return { itemIndex, target, source: { order: { plan, turns, facts } } };
}

/** Does the job of an item. @returns its output item */
async function executeMessage(
	{ run, paymentLog, bills }: MessageBatch,
	job: MessageJob,
): Promise<INodeExecutionData[]> {
	const { itemIndex, target, source } = job;
	const paid = await payForJob(run, paymentLog, job, (response, { turns, facts }) => {
		const message = response.json;
		if (readMessage(message) === undefined) return undefined;
		const bill = readBilling(response);
		bills.push(bill);
		return { kind: 'message', facts, message, turns, ...bill };
	});
	// Those of the payment: the conversation of this try may differ.
	const { message, turns } = paid;
	const hint = responseHint(message);
	if (hint !== undefined) run.hints.add(withPlaces(hint));
	if ('order' in source && hidesThinking(source.order, message)) run.hints.add(HIDDEN);
	const json = messageOutput(message, turns, target, { forTool: run.isTool, bill: billOf(paid) });
	// A copy, because the turns belong to the input and the response to the record of payments.
	return [{ json: deepCopy(json) as IDataObject, pairedItem: { item: itemIndex } }];
}
