import type {
	IExecuteFunctions,
	INodeExecutionData,
	INodeType,
	INodeTypeDescription,
} from 'n8n-workflow';
import { NodeConnectionTypes } from 'n8n-workflow';
import { paymentOfInput } from '../shared/create/paymentOfInput';
import { searchModelsFor } from '../shared/models/modelChoice';
import { tolerant } from '../shared/parameters/orUndefined';
import type { PaidMessage } from '../shared/payments/payment';
import { runPayingNode } from '../shared/payments/payingNode';
import { testMediaGateway } from '../shared/transport/credentialTest';
import { messageFields } from './messageParameters';
import { readMessageFacts, sendMessages } from './sendMessages';

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
		return await runPayingNode<PaidMessage>(
			this,
			messageFields,
			async (paymentLog) => await sendMessages(this, paymentLog),
			tolerant(this, readMessageFacts),
			{ resendsUnknown: true, readPaymentOfInput: paymentOfInput(this, readMessageFacts) },
		);
	}
}
