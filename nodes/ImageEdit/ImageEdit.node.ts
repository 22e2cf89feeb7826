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
import { getModelParameters, searchModelsFor } from '../shared/models/modelChoice';
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
			displayName: 'Image Source',
			name: 'imageSource',
			shapesRequest: true,
			type: 'options',
			default: 'binary',
			required: true,
			description: 'Where the image to edit comes from',
			options: [
				{
					name: 'Binary Field',
					value: 'binary',
					description: 'A file in the input item, for example from a form or a download',
				},
				{
					name: 'URL',
					value: 'url',
					description: 'A web address. n8n downloads the image without sending the API key.',
				},
			],
		},
		{
			displayName: 'Input Binary Field',
			name: 'imageBinaryProperty',
			shapesRequest: true,
			type: 'string',
			default: 'data',
			required: true,
			placeholder: 'e.g. data, reference',
			hint: 'The name of the input binary field containing the image. Separate several names with commas; web addresses and file IDs (file-…) can be among them.',
			displayOptions: { show: { imageSource: ['binary'] } },
		},
		{
			displayName: 'Image URL',
			name: 'imageUrl',
			shapesRequest: true,
			type: 'string',
			typeOptions: { rows: 2 },
			default: '',
			required: true,
			placeholder: 'e.g. https://example.com/photo.jpg',
			description:
				'Web address of the image to edit, or the image itself as Base64 or a data: URL. Enter several on separate lines, or use an expression that returns a list.',
			displayOptions: { show: { imageSource: ['url'] } },
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
		resourceMapping: { getModelParameters },
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
	load: async (request, item, run) => ({ ...request, files: await readFiles(item, run, request) }),
};
