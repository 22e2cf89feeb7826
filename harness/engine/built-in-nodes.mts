/**
 * Stand-ins for the few nodes of n8n itself that the examples and tests use: n8n-nodes-base cannot be
 * installed beside this package. Each does what the original does for the parameters it knows.
 */
import type {
	EngineRequest,
	EngineResponse,
	IDataObject,
	IExecuteFunctions,
	INodeExecutionData,
	INodeProperties,
	INodeTypeDescription,
} from 'n8n-workflow' with { 'resolution-mode': 'require' };

/** A node type that is complete enough for the engine. */
export interface BuiltInNode {
	description: INodeTypeDescription;
	execute(
		this: IExecuteFunctions,
		response?: EngineResponse,
	): Promise<INodeExecutionData[][] | EngineRequest>;
}

interface Shape extends Pick<INodeTypeDescription, 'credentials'> {
	versions?: number[];
	group?: 'trigger' | 'transform';
	inputs?: INodeTypeDescription['inputs'];
	outputs?: INodeTypeDescription['outputs'];
	properties?: Array<Partial<INodeProperties> & Pick<INodeProperties, 'name'>>;
}

/** A node type of a few lines, for examples, tests and benchmarks. */
export function smallNode(
	name: string,
	execute: BuiltInNode['execute'],
	shape: Shape = {},
): BuiltInNode {
	const {
		versions = [1],
		group = 'transform',
		inputs,
		outputs = ['main'],
		properties = [],
		credentials,
	} = shape;
	return {
		description: {
			name,
			displayName: name,
			description: name,
			group: [group],
			version: versions,
			defaults: { name },
			inputs: inputs ?? (group === 'trigger' ? [] : ['main']),
			outputs,
			credentials,
			properties: properties.map((property) => ({
				displayName: property.name,
				type: 'string',
				default: '',
				...property,
			})),
		},
		execute,
	};
}

async function passOn(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	return [this.getInputData()];
}

/** Edit Fields (Set), in its JSON mode. */
async function set(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const items = this.getInputData().map(({ json }, item): INodeExecutionData => {
		const output = this.getNodeParameter('jsonOutput', item, '{}');
		const fields = (typeof output === 'string' ? JSON.parse(output) : output) as IDataObject;
		const kept = this.getNodeParameter('includeOtherFields', item, false) ? json : {};
		return { json: { ...kept, ...fields }, pairedItem: { item } };
	});
	return [items];
}

/** Split Out, for one field and without the item's other fields. */
async function splitOut(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const items = this.getInputData().flatMap(({ json }, item) => {
		const field = this.getNodeParameter('fieldToSplitOut', item) as string;
		const options = this.getNodeParameter('options', item, {}) as IDataObject;
		const renamed = options.destinationFieldName as string | undefined;
		const entries = [json[field]].flat().filter((entry) => entry !== undefined);
		return entries.map((entry): INodeExecutionData => {
			const isObject = typeof entry === 'object' && entry !== null && !renamed;
			return {
				json: isObject ? (entry as IDataObject) : { [renamed ?? field]: entry as string },
				pairedItem: { item },
			};
		});
	});
	return [items];
}

/** If, for conditions that compare texts, all of which must hold. */
async function ifEqual(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const outputs: [INodeExecutionData[], INodeExecutionData[]] = [[], []];
	this.getInputData().forEach((given, item) => {
		const { conditions } = this.getNodeParameter('conditions', item) as {
			conditions: Array<{ leftValue: unknown; rightValue: unknown }>;
		};
		const isTrue = conditions.every(({ leftValue, rightValue }) => leftValue === rightValue);
		outputs[isTrue ? 0 : 1].push({ ...given, pairedItem: { item } });
	});
	return outputs;
}

/** Gives out the items it is told to, one for each object of its list. */
async function giveItems(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const list = this.getNodeParameter('items', 0) as IDataObject[] | string;
	const objects = (typeof list === 'string' ? JSON.parse(list) : list) as IDataObject[];
	return [objects.map((json) => ({ json, pairedItem: { item: 0 } }))];
}

/**
 * Calls the tool that is connected to it, in either of the two ways that n8n has: `subNode` within
 * its own run, as older agents do, or `engine` by asking the engine to run the tool as a node, as the
 * agents of n8n 2 do.
 */
async function agent(
	this: IExecuteFunctions,
	response?: EngineResponse,
): Promise<INodeExecutionData[][] | EngineRequest> {
	const args = JSON.parse(this.getNodeParameter('args', 0) as string) as IDataObject;
	const [tool] = (await this.getInputConnectionData('ai_tool', 0)) as Array<{
		metadata: { sourceNodeName: string };
		invoke(args: IDataObject): Promise<string>;
	}>;
	const answered = response?.actionResponses[0]?.data;
	if (answered?.error) throw answered.error;
	if (answered) {
		const answer = JSON.stringify(answered.data?.ai_tool?.[0]?.map(({ json }) => json));
		return [[{ json: { answer }, pairedItem: { item: 0 } }]];
	}
	if (this.getNodeParameter('through', 0) === 'engine') {
		const nodeName = tool!.metadata.sourceNodeName;
		const action = { nodeName, input: args, type: 'ai_tool' as const, id: 'call-1', metadata: {} };
		return { actions: [{ actionType: 'ExecutionNodeAction', ...action }], metadata: {} };
	}
	return [[{ json: { answer: await tool!.invoke(args) }, pairedItem: { item: 0 } }]];
}

export const builtInNodeTypes: Record<string, BuiltInNode> = {
	'n8n-nodes-base.manualTrigger': smallNode('manualTrigger', passOn, { group: 'trigger' }),
	'n8n-nodes-base.executeWorkflowTrigger': smallNode('executeWorkflowTrigger', passOn, {
		group: 'trigger',
		versions: [1, 1.1],
		properties: [{ name: 'inputSource', default: 'passthrough' }],
	}),
	'n8n-nodes-base.noOp': smallNode('noOp', passOn),
	// Where an example saves its images: the demo has a folder of its own.
	'n8n-nodes-base.readWriteFile': smallNode('readWriteFile', passOn),
	'n8n-nodes-base.googleDrive': smallNode('googleDrive', passOn, { versions: [3] }),
	'n8n-nodes-base.set': smallNode('set', set, {
		versions: [3, 3.1, 3.2, 3.3, 3.4],
		properties: [
			{ name: 'mode', default: 'manual' },
			{ name: 'jsonOutput', type: 'json' },
			{ name: 'includeOtherFields', type: 'boolean', default: false },
			{ name: 'options', type: 'json', default: {} },
		],
	}),
	'n8n-nodes-base.splitOut': smallNode('splitOut', splitOut, {
		properties: [
			{ name: 'fieldToSplitOut' },
			{ name: 'include', default: 'noOtherFields' },
			{
				name: 'options',
				type: 'collection',
				default: {},
				options: [
					{
						displayName: 'Destination Field Name',
						name: 'destinationFieldName',
						type: 'string',
						default: '',
					},
				],
			},
		],
	}),
	'n8n-nodes-base.if': smallNode('if', ifEqual, {
		versions: [2.2],
		outputs: ['main', 'main'],
		properties: [{ name: 'conditions', type: 'json', default: {} }],
	}),
	'test.items': smallNode('items', giveItems, {
		group: 'trigger',
		properties: [{ name: 'items', type: 'json', default: '[]' }],
	}),
	'test.agent': smallNode('agent', agent, {
		inputs: ['main', 'ai_tool'],
		properties: [{ name: 'args', type: 'json', default: '{}' }, { name: 'through' }],
	}),
};
