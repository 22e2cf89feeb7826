import type {
	IExecuteFunctions,
	INodeExecutionData,
	INodeType,
	INodeTypeDescription,
} from 'n8n-workflow';
import { NodeConnectionTypes } from 'n8n-workflow';
import type { RequestBuilder } from '../shared/create/prepareItem';
import { createImages } from '../shared/create/createImages';
import { readRequest } from '../shared/create/imageRequest';
import { testMediaGateway } from '../shared/transport/credentialTest';
import { IMAGE_NODES_HINT, imageNodeFields } from '../shared/fields/imageFields';
import { modelParametersFor, searchModelsFor } from '../shared/models/modelChoice';
import { WAITING_TOOLTIP } from '../shared/suspend/suspend';
import { countImages, readFiles } from './editFiles';

const fields = imageNodeFields(
	'edit',
	{
		placeholder: 'e.g. Make it night, and let the windows glow',
		description: 'Instructions for editing the image',
		actions: {
			wait: 'Edit image',
			sync: 'Edit image synchronously',
			submit: 'Submit edit task',
		},
	},
	[
		{
			displayName: 'Images',
			name: 'images',
			shapesRequest: true,
			type: 'string',
			default: 'data',
			required: true,
			placeholder: 'e.g. data, reference',
			description:
				'Images to edit: names of input binary fields, web addresses, Base64, data: URLs or file IDs (file-…), separated by commas, or an expression that returns a list. n8n downloads an image without sending the API key.',
		},
	],
);

export class ImageEdit implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Media Gateway Image Edit',
		name: 'imageEdit',
		icon: {
			light: 'file:../../icons/imageEdit.svg',
			dark: 'file:../../icons/imageEdit.dark.svg',
		},
		group: ['transform'],
		version: 1,
		subtitle: '={{ $parameter["mode"] + ": " + $parameter["model"] }}',
		description: 'Edit images with text instructions through a media gateway',
		builderHint: {
			searchHint: `${IMAGE_NODES_HINT} The image comes from a binary field of the input item or from an address.`,
		},
		defaults: { name: 'Edit Image' },
		waitingNodeTooltip: WAITING_TOOLTIP,
		usableAsTool: true,
		inputs: [NodeConnectionTypes.Main],
		outputs: [NodeConnectionTypes.Main],
		credentials: [{ name: 'mediaGatewayApi', required: true, testedBy: 'testMediaGateway' }],
		properties: fields,
	};

	methods = {
		listSearch: { searchModels: searchModelsFor('image_edit') },
		resourceMapping: { getModelParameters: modelParametersFor('edit') },
		credentialTest: { testMediaGateway },
	};

	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		return await createImages(this, fields, builder);
	}
}

const builder: RequestBuilder = {
	taskType: 'edit',
	read: (item) => {
		const request = readRequest(item, 'edit', 'Enter instructions for editing the image.');
		return { ...request, imageCount: countImages(item) };
	},
	load: async (request, item, run) => ({ ...request, files: await readFiles(item, run) }),
};
