// A type import: the package must load on an n8n without the SDK, and n8n's linter recognizes an AI
// node by it.
import type * as AiNodeSdk from '@n8n/ai-node-sdk';
import type {
	IExecuteFunctions,
	INodeType,
	INodeTypeDescription,
	ISupplyDataFunctions,
	SupplyData,
} from 'n8n-workflow';
import { NodeConnectionTypes, NodeOperationError } from 'n8n-workflow';
import {
	isThinkingOff,
	type MessageSettings,
	Messenger,
	type StoredTurn,
} from '../../gateway/messages';
import {
	extraMessageFields,
	lengthFields,
	messageModelField,
	modelOptions,
	streamTimeout,
} from '../shared/fields/messageFields';
import { withPlaces } from '../shared/errors/settingPlaces';
import { optionsField } from '../shared/fields/optionFields';
import { testMediaGateway } from '../shared/transport/credentialTest';
import { searchModelsFor } from '../shared/models/modelChoice';
import { ItemParameters } from '../shared/parameters/itemParameters';
import { readMessageSettings } from '../shared/parameters/messageSettings';
import { readLimits } from '../shared/parameters/optionValues';
import { forbiddenField, type Forbidden } from '../shared/parameters/requestFields';
import { addHints, openRun } from '../shared/run/runContext';
import { withoutFields } from '../../util/json';
import { withCompleteMessages, type AdaptedModel } from './completeMessages';
import { GatewayChatModel } from './gatewayChatModel';

const STORED_TURNS = 'mediaGatewayChat';

export class LmChatMediaGateway implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Media Gateway Chat Model',
		name: 'lmChatMediaGateway',
		icon: {
			light: 'file:../../icons/lmChatMediaGateway.svg',
			dark: 'file:../../icons/lmChatMediaGateway.dark.svg',
		},
		group: ['transform'],
		version: 1,
		subtitle: '={{ $parameter["model"] }}',
		description: 'Connect AI agents and chains to a model on a media gateway',
		builderHint: {
			searchHint:
				'Every response is charged, also in a test run. Connect it to an AI agent or chain.',
		},
		defaults: { name: 'Media Gateway Chat Model' },
		inputs: [],
		outputs: [NodeConnectionTypes.AiLanguageModel],
		outputNames: ['Model'],
		credentials: [{ name: 'mediaGatewayApi', required: true, testedBy: 'testMediaGateway' }],
		properties: [
			{
				...messageModelField,
				description: `${messageModelField.description} n8n evaluates an expression for the first item only: for a model for each item, use the Message node or 'Loop Over Items'.`,
			},
			...lengthFields(
				'Maximum number of tokens in one response, including thinking and tool calls',
			),
			optionsField([], [...modelOptions, extraMessageFields, streamTimeout]),
		],
	};

	methods = {
		listSearch: { searchModels: searchModelsFor('message') },
		credentialTest: { testMediaGateway },
	};

	async supplyData(this: ISupplyDataFunctions, itemIndex: number): Promise<SupplyData> {
		const sdk = await loadSdk(this);
		// The context has all members that are used here, but another type.
		const context = this as unknown as IExecuteFunctions;
		const settings = readSettings(new ItemParameters(context, itemIndex));
		const run = await openRun(context, readLimits(new ItemParameters(context, 0)));
		const addHint = (hint: string): void => {
			if (!run.hints.has(hint)) addHints(context, [hint]);
			run.hints.add(hint);
		};
		const turns = storedTurns(context);
		const messenger = new Messenger(run.gateway, turns, (hint) => addHint(withPlaces(hint)));
		const { getParametersJsonSchema: schemaOf } = sdk;
		const model = new GatewayChatModel({ run, settings, messenger, schemaOf, itemIndex });
		// The SDK may have the types of another n8n version.
		const owner = this as unknown as Parameters<typeof sdk.supplyModel>[0];
		const closeFunction = async (): Promise<void> => {
			messenger.close();
			run.gateway.end();
		};
		const { response } = sdk.supplyModel(owner, model);
		return {
			response: withCompleteMessages(response as AdaptedModel, {
				name: settings.model,
				thinks: !isThinkingOff(settings),
			}),
			closeFunction,
		};
	}
}

/** Fields that belong to the agent, or change the form of the response. */
const OF_THE_AGENT: Forbidden = {
	stream:
		'The agent or chain decides whether the response is streamed. Remove it, or set it to false to get each response in one piece.',
	messages: 'The agent or chain writes the messages. Enter instructions in its own fields.',
	tools: 'The agent can call only the tools connected to it. Remove it.',
	n: 'Only one response can be read, and each one is charged. Remove it.',
};

/**
 * The settings of all messages of the model.
 *
 * @throws NodeOperationError that names the parameter to correct, or the field to remove
 */
function readSettings(item: ItemParameters): MessageSettings {
	const given = item.options.json('extraFields', 'Extra Fields');
	const isOne = String(given.n).slice(0, 20).trim() === '1';
	const checked = isOne ? withoutFields(given, ['n']) : given;
	const error = forbiddenField(item, 'Extra Fields', checked, OF_THE_AGENT);
	// Shown as it is, instead of as the cause of an error of the agent.
	if (error !== undefined) throw Object.assign(error, { functionality: 'configuration-node' });
	const fields = Object.hasOwn(given, 'stream') ? { ...given, stream: false } : given;
	return { ...readMessageSettings(item, fields), extraFields: withoutFields(fields, ['model']) };
}

/**
 * The turns of earlier messages. They are stored with the execution, because an agent of n8n 2 creates a
 * new model after every round of tools.
 */
function storedTurns(context: IExecuteFunctions): StoredTurn[] {
	const store = context.getContext('node') as { [STORED_TURNS]?: StoredTurn[] };
	return (store[STORED_TURNS] ??= []);
}

/** Loads the SDK on first use: an n8n without it must still load the other nodes. */
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
