import type { IBuilderHint, IParameterBuilderHint, IRelatedNode } from 'n8n-workflow';

/*
 * What n8n's Assistant is told of a node when it builds a workflow. It may run one for real: so each
 * hint says first what a run costs.
 */

const related = (name: string, relationHint: string): IRelatedNode => ({
	nodeType: `n8n-nodes-media-gateway.${name}`,
	relationHint,
});

const models = related('mediaModels', 'Lists models with parameters and prices, free of charge');
const wait = related('imageWait', "Waits for tasks of mode 'submit' and gets their images");
const task = related('imageTask', 'Checks a task once, for workflows that collect images later');
const edit = related('imageEdit', 'Changes existing images by instructions');
const generation = related('imageGeneration', 'Generates images from text');

const IMAGE_NODES = [
	"Every item is a paid request, also in a test run: to test a workflow, set the option 'dryRun' to true, which checks everything and sends nothing.",
	"Mode 'wait', the default, takes all items at once, so add no loop and no Wait node.",
	"To limit the cost, set the option 'budget'.",
].join(' ');

export const generationHint: IBuilderHint = {
	searchHint: IMAGE_NODES,
	relatedNodes: [wait, task, models, edit],
};

export const editHint: IBuilderHint = {
	searchHint: `${IMAGE_NODES} The image comes from a binary field of the input item or from an address.`,
	relatedNodes: [wait, task, models, generation],
};

export const taskHint: IBuilderHint = {
	searchHint:
		"Not charged. Checks each task once. To wait until tasks finish, use Image Wait instead of a loop. Takes items of Image Generation or Image Edit in mode 'submit' as they are.",
	relatedNodes: [wait, generation],
};

export const waitHint: IBuilderHint = {
	searchHint:
		"Not charged. Waits for all tasks of its input together, so add no loop. Takes items of Image Generation or Image Edit in mode 'submit' as they are. Not needed after mode 'sync' or 'wait'.",
	relatedNodes: [generation, edit, task],
};

export const modelsHint: IBuilderHint = {
	searchHint:
		'Not charged. Lists the image and video models of the gateway, not its message models.',
	relatedNodes: [generation, edit],
};

export const messageHint: IBuilderHint = {
	searchHint:
		'Every item is a paid request, also in a test run. For agents, tools and memory, use AI Agent with Media Gateway Chat Model.',
	relatedNodes: [
		related('lmChatMediaGateway', 'The same models for AI agents and chains'),
		{
			nodeType: '@n8n/n8n-nodes-langchain.agent',
			relationHint: 'Uses the chat model with tools and memory',
		},
	],
};

export const chatModelHint: IBuilderHint = {
	searchHint: 'Every response is charged, also in a test run. Connect it to an AI agent or chain.',
	relatedNodes: [
		related('message', 'Sends single messages without an agent'),
		{
			nodeType: '@n8n/n8n-nodes-langchain.agent',
			relationHint: 'Uses this chat model with tools and memory',
		},
	],
};

/** Of a model chosen from the list. */
export const listedModelHint: IParameterBuilderHint = {
	propertyHint:
		"Use mode 'list' with a model that the gateway lists, or with an empty value for the user to choose one. Never invent a name.",
};

/** Of a message model. */
export const messageModelHint: IParameterBuilderHint = {
	propertyHint:
		"Use mode 'name' with the name that the user gives, or mode 'list' with an empty value for the user to choose one. Never invent a name.",
};
