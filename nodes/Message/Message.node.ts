import type {
	IDataObject,
	IExecuteFunctions,
	INodeExecutionData,
	INodeType,
	INodeTypeDescription,
} from 'n8n-workflow';
import { deepCopy, NodeConnectionTypes } from 'n8n-workflow';
import { withoutUndefined } from '../../gateway/util/json';
import { messageHints } from '../../gateway/errors/messageAdvice';
import {
	planMessage,
	readMessage,
	type MessageResponse,
	type Turn,
} from '../../gateway/messages/message';
import { withoutInlineImages } from '../../gateway/util/inlineImages';
import { testMediaGateway } from '../shared/transport/credentialTest';
import { searchModelsFor } from '../shared/models/modelChoice';
import { ItemParameters } from '../shared/parameters/itemParameters';
import { runItems, type ExecuteItem } from '../shared/run/itemRunner';
import { readLimits } from '../shared/parameters/optionValues';
import type { PaymentResult } from '../shared/payments/payment';
import type { PaymentLog } from '../shared/payments/paymentLog';
import { runPayingNode } from '../shared/payments/payingNode';
import { addHints, openRun, type Run } from '../shared/run/runContext';
import { failedItems } from '../shared/run/nodeErrors';
import { readImageBlocks } from './messageImages';
import { messageFields, readMessageRequest } from './messageParameters';

export class Message implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Media Gateway Message',
		name: 'message',
		icon: {
			light: 'file:../../icons/message.svg',
			dark: 'file:../../icons/message.dark.svg',
		},
		group: ['transform'],
		version: 1,
		subtitle: '={{ $parameter["model"] }}',
		description: 'Send a message to a model through a media gateway, with or without thinking',
		builderHint: {
			searchHint:
				'Every item is a paid request, also in a test run. For agents, tools and memory, use AI Agent with Media Gateway Chat Model.',
		},
		defaults: { name: 'Message a Model' },
		usableAsTool: true,
		inputs: [NodeConnectionTypes.Main],
		outputs: [NodeConnectionTypes.Main],
		credentials: [{ name: 'mediaGatewayApi', required: true, testedBy: 'testMediaGateway' }],
		properties: messageFields,
	};

	methods = {
		listSearch: { searchModels: searchModelsFor('message') },
		credentialTest: { testMediaGateway },
	};

	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		return await runPayingNode(
			this,
			messageFields,
			async (paymentLog) => await sendMessages(this, paymentLog),
		);
	}
}

async function sendMessages(
	context: IExecuteFunctions,
	paymentLog: PaymentLog,
): Promise<INodeExecutionData[][]> {
	const run = await openRun(context, readLimits(new ItemParameters(context, 0)));
	try {
		const items = await runItems(run, context.getInputData().length, {
			payments: paymentLog,
			recover: (error, itemIndex) => paymentLog.recover(error, itemIndex),
			prepare: async (itemIndex) => {
				const isPaid = paymentLog.claim(itemIndex, run.address.account);
				const prepared = prepareMessage(new ItemParameters(context, itemIndex), run, paymentLog);
				return await prepared.catch(async (error: unknown) => {
					const { items } = paymentLog.recover(error, itemIndex);
					return isPaid && items !== undefined ? async () => items : await Promise.reject(error);
				});
			},
		});
		addHints(context, run.hints);
		paymentLog.markReturned(failedItems(items));
		return [items.flat()];
	} finally {
		run.end();
	}
}

/** Reads the message of an item. @returns sends it, unless an earlier try has paid for it */
async function prepareMessage(
	item: ItemParameters,
	run: Run,
	paymentLog: PaymentLog,
): Promise<ExecuteItem> {
	const { itemIndex } = item;
	const request = readMessageRequest(item, await readImageBlocks(item, run));
	const plan = planMessage(request);
	messageHints(plan.body ?? {}).forEach((hint) => run.hints.add(hint));
	const simplify = item.switch('simplify', 'Simplify', true);
	paymentLog.expect(itemIndex, plan, run.address.account);
	const send = async (): Promise<PaymentResult> =>
		await paymentLog.pay(itemIndex, plan, run, ({ json }) =>
			readMessage(json) === undefined ? undefined : { message: json },
		);
	return async () => {
		const { message = {} } = paymentLog.reuse(itemIndex) ?? (await send());
		const response = simplify ? readMessage(message) : undefined;
		const whole = response ? simplified(response, request.messages, run.isTool) : message;
		const json = run.isTool ? (withoutInlineImages(whole) as IDataObject) : whole;
		// A copy, because the turns belong to the input and the response to the record of payments.
		return [{ json: deepCopy(json) as IDataObject, pairedItem: { item: itemIndex } }];
	};
}

/** The simplified response, with the conversation so far for the next turn. */
function simplified(
	{ content, ...facts }: MessageResponse,
	turns: Turn[],
	forTool: boolean,
): Record<string, unknown> {
	// An agent keeps the conversation itself, and pays for every word it reads.
	if (forTool) return withoutUndefined({ ...facts, thinking: facts.thinking || undefined });
	return withoutUndefined({ ...facts, messages: [...turns, { role: 'assistant', content }] });
}
