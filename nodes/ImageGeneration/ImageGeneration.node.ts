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

const fields = imageNodeFields('generation', {
	placeholder: 'e.g. A fox in the morning mist, watercolor',
	description: 'Text prompt describing the image to generate',
	actions: {
		wait: 'Generate image',
		sync: 'Generate image synchronously',
		submit: 'Submit generation task',
	},
});

export class ImageGeneration implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Media Gateway Image',
		name: 'imageGeneration',
		icon: {
			light: 'file:../../icons/imageGeneration.svg',
			dark: 'file:../../icons/imageGeneration.dark.svg',
		},
		group: ['transform'],
		version: 1,
		subtitle: '={{ $parameter["mode"] + ": " + $parameter["model"] }}',
		description: 'Generate images from text through a media gateway',
		builderHint: { searchHint: IMAGE_NODES_HINT },
		defaults: { name: 'Generate Image' },
		waitingNodeTooltip: WAITING_TOOLTIP,
		usableAsTool: true,
		inputs: [NodeConnectionTypes.Main],
		outputs: [NodeConnectionTypes.Main],
		credentials: [{ name: 'mediaGatewayApi', required: true, testedBy: 'testMediaGateway' }],
		properties: fields,
	};

	methods = {
		listSearch: { searchModels: searchModelsFor('text_to_image') },
		resourceMapping: { getModelParameters: modelParametersFor('generation') },
		credentialTest: { testMediaGateway },
	};

	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		return await createImages(this, fields, builder);
	}
}

const builder: RequestBuilder = {
	taskType: 'generation',
	read: (item) => readRequest(item, 'generation', 'Enter a text prompt describing the image.'),
};
