import type {
	IDataObject,
	IExecuteFunctions,
	INodeExecutionData,
	INodeType,
	INodeTypeDescription,
} from 'n8n-workflow';
import { deepCopy, NodeConnectionTypes } from 'n8n-workflow';
import { withoutUndefined } from '../../gateway/util/json';
import {
	messageHints,
	planMessage,
	readMessage,
	refusalAdvice,
	type MessageRequest,
	type MessageResponse,
	type Turn,
} from '../../gateway/messages/message';
import { withoutInlineImages } from '../../gateway/util/inlineImages';
import { GatewayError, withDetails } from '../../gateway/util/gatewayError';
import { messageHint } from '../shared/fields/builderHints';
import { testMediaGateway } from '../shared/transport/credentialTest';
import { searchModelsFor } from '../shared/models/modelChoice';
import { ItemParameters } from '../shared/parameters/itemParameters';
import { runItems, runNode } from '../shared/run/itemRunner';
import { readLimits } from '../shared/parameters/optionValues';
import { PaymentLog } from '../shared/payments/paymentLog';
import { addHints, openRun } from '../shared/run/runContext';
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
		builderHint: messageHint,
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
		return await runNode(
			this,
			async () => await sendMessages(this),
			() => new PaymentLog(this),
		);
	}
}

async function sendMessages(context: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const run = await openRun(context, readLimits(new ItemParameters(context, 0)));
	const paymentLog = new PaymentLog(context);
	try {
		const items = await runItems(run, context.getInputData().length, {
			payments: paymentLog,
			prepare: async (itemIndex) => {
				const item = new ItemParameters(context, itemIndex);
				const images = await readImageBlocks(item, run);
				const request = readMessageRequest(item, images);
				messageHints(request).forEach((hint) => run.hints.add(hint));
				const plan = planMessage(request);
				const simplify = item.switch('simplify', 'Simplify', true);
				paymentLog.expect(itemIndex, plan, run.address.account, images);
				return async () => {
					const { message = {} } = await paymentLog
						.pay(itemIndex, plan, run, ({ json }) =>
							readMessage(json) === undefined ? undefined : { message: json },
						)
						.catch(async (error: unknown) => await Promise.reject(withAdvice(error, request)));
					const response = simplify ? readMessage(message) : undefined;
					const whole = response ? simplified(response, request.messages, run.isTool) : message;
					const json = run.isTool ? (withoutInlineImages(whole) as IDataObject) : whole;
					// A copy, because the turns belong to the input and the response to the record of
					// payments.
					return [{ json: deepCopy(json) as IDataObject, pairedItem: { item: itemIndex } }];
				};
			},
		});
		addHints(context, run.hints);
		paymentLog.settle(failedItems(items));
		return [items.flat()];
	} finally {
		paymentLog.close();
		run.end();
	}
}

/** The error of a refusal with advice about the request. */
function withAdvice(error: unknown, request: MessageRequest): unknown {
	if (!(error instanceof GatewayError) || error.problem.httpCode !== 400) return error;
	const { message, description } = error.problem;
	const advice = [...refusalAdvice(request, message), description];
	return withDetails(error, { description: advice.join(' ') });
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
