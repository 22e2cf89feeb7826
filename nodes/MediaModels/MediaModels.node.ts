import type {
	IExecuteFunctions,
	INodeExecutionData,
	INodeType,
	INodeTypeDescription,
} from 'n8n-workflow';
import { NodeConnectionTypes } from 'n8n-workflow';
import type { ListingFormat } from '../../gateway/listing';
import { testMediaGateway } from '../shared/credentialTest';
import { runItems } from '../shared/items';
import { readLimits, readOptions, readText } from '../shared/options';
import { readParameter } from '../shared/parameters';
import { openRun } from '../shared/run';
import { mediaModelsFields } from './fields';
import { getModel, getModels, type ModelFilters } from './models';

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

	methods = { credentialTest: { testMediaGateway } };

	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		const run = await openRun(this, readLimits(this), false);
		try {
			const items = await runItems(run, this.getInputData().length, {
				prepare: (itemIndex) => {
					const format = (readOptions(this, itemIndex).format ?? 'json') as ListingFormat;
					if (readParameter(this, 'operation', itemIndex, 'getMany') === 'get') {
						const advice = 'Enter the exact name of a model, as "Get Many" lists it.';
						const model = readText(this, 'model', 'Model', itemIndex, advice).trim();
						return async () => [await getModel(run, model, format, itemIndex)];
					}
					const filters = readParameter(this, 'filters', itemIndex, {}) as ModelFilters;
					const limit = readParameter(this, 'returnAll', itemIndex, false)
						? Infinity
						: Math.max(1, Number(readParameter(this, 'limit', itemIndex, 50)) || 50);
					return async () => await getModels(run, filters, limit, format, itemIndex);
				},
			});
			return [items.flat()];
		} finally {
			run.end();
		}
	}
}
