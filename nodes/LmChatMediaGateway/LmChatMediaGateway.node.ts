// A type only: the package loads on an n8n without the SDK, and n8n's linter knows an AI node by it.
import type * as AiNodeSdk from '@n8n/ai-node-sdk';
import type {
	IExecuteFunctions,
	INodeType,
	INodeTypeDescription,
	ISupplyDataFunctions,
	SupplyData,
} from 'n8n-workflow';
import { NodeConnectionTypes, NodeOperationError } from 'n8n-workflow';
import type { KeptTurn } from '../../gateway/messages/thinkingHistory';
import { messageHints } from '../../gateway/messages/message';
import { testMediaGateway } from '../shared/methods/credentialTest';
import { addHints } from '../shared/run/hints';
import { readLimits } from '../shared/parameters/optionValues';
import { openRun } from '../shared/run/runContext';
import { chatModelFields } from './chatModelFields';
import { Messenger } from './messenger';
import { GatewayChatModel } from './gatewayChatModel';
import { openPaidMessages } from './paidMessages';
import { readSettings } from './chatSettings';

const KEPT = 'mediaGatewayChat';

export class LmChatMediaGateway implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Media Gateway Chat Model',
		name: 'lmChatMediaGateway',
		icon: {
			light: 'file:../../icons/mediaGateway.svg',
			dark: 'file:../../icons/mediaGateway.dark.svg',
		},
		group: ['transform'],
		version: 1,
		subtitle: '={{ $parameter["model"] }}',
		description: 'Connect AI agents and chains to a model on a media gateway',
		defaults: { name: 'Media Gateway Chat Model' },
		inputs: [],
		outputs: [NodeConnectionTypes.AiLanguageModel],
		outputNames: ['Model'],
		credentials: [{ name: 'mediaGatewayApi', required: true, testedBy: 'testMediaGateway' }],
		properties: chatModelFields,
	};

	methods = { credentialTest: { testMediaGateway } };

	async supplyData(this: ISupplyDataFunctions, itemIndex: number): Promise<SupplyData> {
		const sdk = await loadSdk(this);
		// It has everything of an executing node that is used here, but for the type.
		const context = this as unknown as IExecuteFunctions;
		const settings = readSettings(context, itemIndex);
		addHints(context, messageHints(settings));
		const run = await openRun(context, readLimits(context));
		const messenger = new Messenger({
			run,
			kept: keptTurns(context),
			paid: openPaidMessages(context),
			onPaidBefore: hintOnce(context, PAID_BEFORE),
		});
		const cutOff = hintOnce(context, "A response was cut off at 'Max Tokens' of the chat model.");
		const model = new GatewayChatModel({
			run,
			settings,
			messenger,
			schemaOf: sdk.getParametersJsonSchema,
			itemIndex,
			onResponse: ({ finishReason }) => {
				if (finishReason === 'length') cutOff();
			},
		});
		// The SDK may bring types of another n8n.
		const owner = this as unknown as Parameters<typeof sdk.supplyModel>[0];
		const closeFunction = async (): Promise<void> => {
			await messenger.close();
			run.end();
		};
		return { ...sdk.supplyModel(owner, model), closeFunction };
	}
}

const PAID_BEFORE =
	'An earlier try had already paid for a message, so its response was used again. To get another response, run the workflow again.';

function hintOnce(context: IExecuteFunctions, hint: string): () => void {
	let isGiven = false;
	return () => {
		if (!isGiven) addHints(context, [hint]);
		isGiven = true;
	};
}

/**
 * What has to go back to the gateway as it came. It lies with the execution and not in the model:
 * an agent of n8n 2 makes a new model after every round of tools.
 */
function keptTurns(context: IExecuteFunctions): KeptTurn[] {
	const store = context.getContext('node') as { [KEPT]?: KeptTurn[] };
	store[KEPT] ??= [];
	return store[KEPT];
}

/**
 * Loaded on first use: an n8n without the SDK must still load this package with all its other
 * nodes.
 */
async function loadSdk(context: ISupplyDataFunctions): Promise<typeof AiNodeSdk> {
	try {
		return await import('@n8n/ai-node-sdk');
	} catch (error) {
		const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : '';
		throw new NodeOperationError(
			context.getNode(),
			"This version of n8n doesn't include the AI Node SDK, which the chat model requires",
			{
				description: `Update n8n to version 2.20 or later. The other nodes of this package work without it. (${reason})`,
				itemIndex: 0,
				// Shown as it is, instead of as the cause of an error of the agent.
				functionality: 'configuration-node',
			},
		);
	}
}
