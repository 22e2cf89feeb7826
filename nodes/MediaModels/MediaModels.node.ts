import type {
	IDataObject,
	IExecuteFunctions,
	INodeExecutionData,
	INodeType,
	INodeTypeDescription,
} from 'n8n-workflow';
import { NodeConnectionTypes } from 'n8n-workflow';
import { modelField } from '../shared/fields/imageFields';
import { optionsField, simplifyField } from '../shared/fields/optionFields';
import { testMediaGateway } from '../shared/transport/credentialTest';
import { searchModelsFor } from '../shared/models/modelChoice';
import { runItems } from '../shared/run/itemRunner';
import { runNode } from '../shared/run/runNode';
import { ItemParameters } from '../shared/parameters/itemParameters';
import { readLimits } from '../shared/parameters/optionValues';
import { addHints, openRun } from '../shared/run/runContext';
import { getModel, getModels, rawOf, rowOf } from './getModels';

export class MediaModels implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Media Gateway Models',
		name: 'mediaModels',
		icon: {
			light: 'file:../../icons/mediaModels.svg',
			dark: 'file:../../icons/mediaModels.dark.svg',
		},
		group: ['transform'],
		version: 1,
		subtitle: '={{ $parameter["operation"] === "get" ? $parameter["model"] : "get many" }}',
		description:
			'List the models of a media gateway, with parameters, limits and prices of those for images and videos',
		builderHint: {
			searchHint:
				'Not charged. Lists the image and video models of the gateway, and the names of its message models.',
		},
		defaults: { name: 'List Models' },
		usableAsTool: true,
		inputs: [NodeConnectionTypes.Main],
		outputs: [NodeConnectionTypes.Main],
		credentials: [{ name: 'mediaGatewayApi', required: true, testedBy: 'testMediaGateway' }],
		properties: [
			{
				displayName: 'Operation',
				name: 'operation',
				type: 'options',
				noDataExpression: true,
				default: 'getMany',
				hint: 'The model list needs no API key. The names of other models, such as message models, are requested with the key.',
				options: [
					{
						name: 'Get',
						value: 'get',
						description: 'Get one model by its exact name',
						action: 'Get model',
					},
					{
						name: 'Get Many',
						value: 'getMany',
						description: 'Get all models available on the gateway',
						action: 'Get many models',
					},
				],
			},
			{
				...modelField,
				description: 'The model to get',
				displayOptions: { show: { operation: ['get'] } },
			},
			{
				displayName: 'Return All',
				name: 'returnAll',
				type: 'boolean',
				default: false,
				description: 'Whether to return all results or only up to a given limit',
				displayOptions: { show: { operation: ['getMany'] } },
			},
			{
				displayName: 'Limit',
				name: 'limit',
				type: 'number',
				typeOptions: { minValue: 1 },
				default: 50,
				description: 'Max number of results to return',
				displayOptions: { show: { operation: ['getMany'], returnAll: [false] } },
			},
			simplifyField,
			optionsField(
				['timeout'],
				[
					{
						displayName: 'Format',
						name: 'format',
						type: 'options',
						default: 'json',
						description:
							'JSON returns one item for each model. JSONC returns the original text with its comments.',
						options: [
							{ name: 'JSON', value: 'json' },
							{ name: 'JSONC (With Comments)', value: 'jsonc' },
						],
						displayOptions: { show: { '/simplify': [false] } },
					},
				],
			),
		],
	};

	methods = {
		listSearch: { searchModels: searchModelsFor() },
		credentialTest: { testMediaGateway },
	};

	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		return await runNode(this, async () => await readModels(this));
	}
}

async function readModels(context: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const run = await openRun(context, readLimits(new ItemParameters(context, 0)), {
		needsKey: false,
	});
	try {
		const items = await runItems(run, context.getInputData().length, {
			prepare: (itemIndex) => {
				const item = new ItemParameters(context, itemIndex);
				const paired = (json: IDataObject) => ({ json, pairedItem: { item: itemIndex } });
				const simplify = item.switch('simplify', 'Simplify', true);
				const output = {
					format: item.options.choice('format', 'Format', ['json', 'jsonc']),
					itemOf: simplify ? rowOf : rawOf,
				};
				if (item.choice('operation', 'Operation', ['getMany', 'get']) === 'get') {
					const advice = "Enter the exact name of a model, as listed by 'Get Many'.";
					const model = item.text('model', 'Model', advice).trim();
					return async () => [paired(await getModel(run, model, output))];
				}
				const all = item.switch('returnAll', 'Return All', false);
				const limit = all ? Infinity : (item.count('limit', 'Limit', Infinity) ?? 50);
				return async () => (await getModels(run, limit, output)).map(paired);
			},
		});
		addHints(context, run.hints);
		return [items.flat()];
	} finally {
		run.gateway.end();
	}
}
