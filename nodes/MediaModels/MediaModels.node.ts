import type {
	IExecuteFunctions,
	INodeExecutionData,
	INodeType,
	INodeTypeDescription,
} from 'n8n-workflow';
import { NodeConnectionTypes } from 'n8n-workflow';
import type { ListingFormat } from '../../gateway/protocol/models';
import { testMediaGateway } from '../shared/methods/credentialTest';
import { searchModelsFor } from '../shared/methods/listSearch';
import { runItems } from '../shared/run/itemRunner';
import {
	readChoice,
	readCount,
	readLimits,
	readOptions,
	readSwitch,
	readText,
} from '../shared/parameters/optionValues';
import { readParameter } from '../shared/parameters/reader';
import { openRun } from '../shared/run/runContext';
import { runNode } from '../shared/run/runNode';
import { mediaModelsFields } from './modelFields';
import { getModel, getModels, type ModelFilters } from './getModels';

export class MediaModels implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Media Gateway Models',
		name: 'mediaModels',
		icon: {
			light: 'file:../../icons/mediaGateway.svg',
			dark: 'file:../../icons/mediaGateway.dark.svg',
		},
		group: ['transform'],
		version: 1,
		subtitle: '={{ $parameter["operation"] === "get" ? $parameter["model"] : "get many" }}',
		description:
			'List the image and video models of a media gateway, with parameters, limits and prices',
		defaults: { name: 'List Models' },
		usableAsTool: true,
		inputs: [NodeConnectionTypes.Main],
		outputs: [NodeConnectionTypes.Main],
		credentials: [{ name: 'mediaGatewayApi', required: true, testedBy: 'testMediaGateway' }],
		properties: mediaModelsFields,
	};

	methods = {
		listSearch: { searchModels: searchModelsFor() },
		credentialTest: { testMediaGateway },
	};

	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		return await runNode(this, async () => await readModels(this));
	}
}

const OPERATIONS = ['getMany', 'get'] as const;
const FORMATS: [ListingFormat, ...ListingFormat[]] = ['json', 'jsonc'];

async function readModels(context: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const run = await openRun(context, readLimits(context), false);
	try {
		const items = await runItems(run, context.getInputData().length, {
			prepare: (itemIndex) => {
				const read = (name: string, fallback: unknown): unknown =>
					readParameter(context, name, itemIndex, fallback);
				const chosen = readOptions(context, itemIndex).format;
				const format = readChoice(context, 'Format', chosen, FORMATS, itemIndex);
				const operation = read('operation', 'getMany');
				if (readChoice(context, 'Operation', operation, OPERATIONS, itemIndex) === 'get') {
					const advice = "Enter the exact name of a model, as listed by 'Get Many'.";
					const model = readText(context, 'model', 'Model', itemIndex, advice).trim();
					return async () => [await getModel(run, model, format, itemIndex)];
				}
				const filters = (read('filters', {}) ?? {}) as ModelFilters;
				const all = readSwitch(context, 'Return All', read('returnAll', false), false, itemIndex);
				const limit = all
					? Infinity
					: readCount(context, 'Limit', read('limit', 50), itemIndex, Infinity);
				return async () => await getModels(run, filters, limit ?? 50, format, itemIndex);
			},
		});
		return [items.flat()];
	} finally {
		run.end();
	}
}
