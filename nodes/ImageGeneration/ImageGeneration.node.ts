import type {
	IExecuteFunctions,
	INodeExecutionData,
	INodeType,
	INodeTypeDescription,
} from 'n8n-workflow';
import { NodeConnectionTypes } from 'n8n-workflow';
import { planGeneration } from '../../gateway/protocol/requestPlan';
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

export class ImageGeneration implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Media Gateway Image Generation',
		name: 'imageGeneration',
		icon: {
			light: 'file:../../icons/mediaGateway.svg',
			dark: 'file:../../icons/mediaGateway.dark.svg',
		},
		group: ['transform'],
		version: 1,
		subtitle: '={{ $parameter["model"] }}',
		description: 'Generate images from text through a media gateway',
		defaults: { name: 'Generate Image' },
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
				placeholder: 'e.g. A fox in the morning mist, watercolor',
				description: 'Text prompt describing the image to generate',
			},
			modeFieldFor({
				sync: 'Generate image',
				wait: 'Submit generation task and wait',
				submit: 'Submit generation task',
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
				survivalFields(['wait', 'submit']),
			),
		],
	};

	methods = {
		listSearch: { searchModels: searchModelsFor('text_to_image') },
		resourceMapping: { getModelParameters },
		credentialTest: { testMediaGateway },
	};

	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		return await runNode(
			this,
			async () =>
				await createImages(this, 'generation', {
					read: (_run, itemIndex) =>
						readRequest(this, itemIndex, 'Enter a text prompt describing the image.'),
					plan: planGeneration,
				}),
		);
	}
}
