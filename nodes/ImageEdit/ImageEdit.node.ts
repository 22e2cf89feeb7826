import type {
	IExecuteFunctions,
	INodeExecutionData,
	INodeType,
	INodeTypeDescription,
} from 'n8n-workflow';
import { NodeConnectionTypes } from 'n8n-workflow';
import { planEdit } from '../../gateway/protocol/requestPlan';
import { createImages } from '../shared/create/createImages';
import { testMediaGateway } from '../shared/methods/credentialTest';
import {
	downloadFieldsFor,
	modeFieldFor,
	modeNotices,
	modelField,
	modelParametersField,
} from '../shared/descriptions/imageFields';
import { optionsField } from '../shared/descriptions/optionFields';
import { getModelParameters } from '../shared/methods/resourceMapping';
import { searchModelsFor } from '../shared/methods/listSearch';
import { readRequest } from '../shared/parameters/imageRequest';
import { runNode } from '../shared/run/runNode';
import { survivalFields, WAITING_TOOLTIP } from '../shared/suspend/survivalFields';
import { readFiles } from './editFiles';

export class ImageEdit implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Media Gateway Image Edit',
		name: 'imageEdit',
		icon: {
			light: 'file:../../icons/mediaGateway.svg',
			dark: 'file:../../icons/mediaGateway.dark.svg',
		},
		group: ['transform'],
		version: 1,
		subtitle: '={{ $parameter["model"] }}',
		description: 'Edit images by an instruction in words on a media gateway',
		defaults: { name: 'Edit Image' },
		waitingNodeTooltip: WAITING_TOOLTIP,
		usableAsTool: true,
		inputs: [NodeConnectionTypes.Main],
		outputs: [NodeConnectionTypes.Main],
		credentials: [{ name: 'mediaGatewayApi', required: true, testedBy: 'testMediaGateway' }],
		properties: [
			modelField,
			{
				displayName: 'Prompt',
				name: 'prompt',
				type: 'string',
				typeOptions: { rows: 3 },
				default: '',
				required: true,
				placeholder: 'e.g. Make it night, and let the windows glow',
				description: 'What is to be changed in the image',
			},
			{
				displayName: 'Image Source',
				name: 'imageSource',
				type: 'options',
				default: 'binary',
				required: true,
				description: 'Where the image to edit comes from',
				options: [
					{
						name: 'Binary Field',
						value: 'binary',
						description: 'A file of the input item, from a form, a download or another node',
					},
					{
						name: 'URL',
						value: 'url',
						description: 'Fetched by n8n from a web address, without the API key',
					},
				],
			},
			{
				displayName: 'Input Binary Field',
				name: 'imageBinaryProperty',
				type: 'string',
				default: 'data',
				required: true,
				placeholder: 'e.g. data, reference',
				hint: 'The name of the input binary field that holds the image; several are separated by commas',
				displayOptions: { show: { imageSource: ['binary'] } },
			},
			{
				displayName: 'Image URL',
				name: 'imageUrl',
				type: 'string',
				typeOptions: { rows: 2 },
				default: '',
				required: true,
				placeholder: 'e.g. https://example.com/photo.jpg',
				description: 'Address of the image to edit; several are separated by line breaks',
				displayOptions: { show: { imageSource: ['url'] } },
			},
			modeFieldFor({
				sync: 'Edit image',
				wait: 'Submit edit task and wait',
				submit: 'Submit edit task',
			}),
			...modeNotices,
			modelParametersField,
			...downloadFieldsFor(['sync', 'wait']),
			optionsField(
				[
					'addSummary',
					'asyncFlag',
					'budget',
					'budgetPeriod',
					'checkLimits',
					'concurrency',
					'dryRun',
					'extraFields',
					'fileName',
					'maxDownloadMb',
					'maxWait',
					'n',
					'parametersByName',
					'pollInterval',
					'requestsPerSecond',
					'responseFormat',
					'timeout',
				],
				[
					...survivalFields(['wait', 'submit']),
					{
						displayName: 'Additional Files',
						name: 'extraFiles',
						type: 'fixedCollection',
						typeOptions: { multipleValues: true },
						placeholder: 'Add File',
						default: {},
						description: 'Further files that the model takes, a mask for example',
						options: [
							{
								name: 'file',
								displayName: 'File',
								values: [
									{
										displayName: 'Form Field Name',
										name: 'field',
										type: 'string',
										default: 'mask',
										placeholder: 'e.g. mask',
										description: 'The name under which the model expects the file',
									},
									{
										displayName: 'Input Binary Field',
										name: 'binaryProperty',
										type: 'string',
										default: 'mask',
										placeholder: 'e.g. mask',
										description: 'The name of the input binary field that holds the file',
									},
								],
							},
						],
					},
					{
						displayName: 'Image Field Name',
						name: 'imageFieldName',
						type: 'options',
						default: 'image',
						description:
							'The name of the form field that carries the image. Some gateways want brackets where there are several.',
						options: [
							{ name: 'Image', value: 'image' },
							{ name: 'Image[]', value: 'image[]' },
						],
					},
				],
			),
		],
	};

	methods = {
		listSearch: { searchModels: searchModelsFor('image_edit') },
		resourceMapping: { getModelParameters },
		credentialTest: { testMediaGateway },
	};

	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		return await runNode(
			this,
			async () =>
				await createImages(this, 'edit', {
					read: async (run, itemIndex) => ({
						...readRequest(this, itemIndex, 'Say what is to be changed in the image.'),
						files: await readFiles(run, itemIndex),
					}),
					plan: planEdit,
				}),
		);
	}
}
