/** Nodes that a world's workflows need beside the package's: items, rounds, and an agent. */
import type {
	EngineRequest,
	EngineResponse,
	IDataObject,
	IExecuteFunctions,
	INodeExecutionData,
	NodeConnectionType,
} from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { smallNode, type BuiltInNode } from '../../../harness/engine/built-in-nodes.mjs';
import { fileOf } from '../service/one-pixel-pictures.mjs';

function node(
	name: string,
	execute: BuiltInNode['execute'],
	inputs: NodeConnectionType[],
	outputs: NodeConnectionType[],
	properties: string[],
): BuiltInNode {
	return smallNode(name, execute, {
		group: inputs.length === 0 ? 'trigger' : 'transform',
		inputs,
		outputs,
		properties: properties.map((property) => ({ name: property, type: 'json', default: '[]' })),
	});
}

const listOf = (context: IExecuteFunctions, name: string): IDataObject[] => {
	const value = context.getNodeParameter(name, 0) as IDataObject[] | string;
	return (typeof value === 'string' ? JSON.parse(value) : value) as IDataObject[];
};

/** Each with a file to edit. */
function asItems(list: IDataObject[]): INodeExecutionData[] {
	return list.map((json) => {
		const number = Number(json.file ?? 0);
		const data = {
			data: fileOf(number).toString('base64'),
			// Not every node says of what type its file is.
			mimeType: number % 2 > 0 ? 'application/octet-stream' : 'image/png',
			fileName: 'one.png',
		};
		return { json: { ...json }, binary: { data } };
	});
}

async function give(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	return [asItems(listOf(this, 'items'))];
}

/** Sends the same items round again, so many times; then lets nothing go on. */
async function again(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const notes = this.getContext('node') as { rounds?: number };
	notes.rounds = (notes.rounds ?? 1) + 1;
	const rounds = Number(this.getNodeParameter('rounds', 0));
	return notes.rounds <= rounds ? [asItems(listOf(this, 'items'))] : [[]];
}

/** Hands failed items back, so many times; each with its file, which failed items don't keep. */
async function back(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const notes = this.getContext('node') as { rounds?: number };
	notes.rounds = (notes.rounds ?? 0) + 1;
	const rounds = Number(this.getNodeParameter('rounds', 0));
	const items = this.getInputData().map(({ json }) => json);
	return [notes.rounds <= rounds ? asItems(items) : []];
}

/** What became of a call of the tool. */
export type ToolCall = {
	args: IDataObject;
	failed: boolean;
	answer: string;
	/** It repeats one that failed. */
	repeats: boolean;
};

/** A call that is still to be made: the argument list's place, and how often it has failed. */
interface Planned {
	at: number;
	repeated: number;
}

interface AgentState {
	calls: ToolCall[];
	open: Planned[];
}

interface Tool {
	metadata: { sourceNodeName: string };
	invoke(args: IDataObject): Promise<string>;
}

/**
 * Makes the calls of its tool one after the other, or all at once, and repeats one that failed so many
 * times; in either of the two ways that n8n has.
 */
async function agent(
	this: IExecuteFunctions,
	response?: EngineResponse,
): Promise<INodeExecutionData[][] | EngineRequest> {
	const list = listOf(this, 'calls');
	const most = Number(this.getNodeParameter('again', 0));
	const atOnce = this.getNodeParameter('together', 0) === true ? list.length : 1;
	const [tool] = (await this.getInputConnectionData('ai_tool', 0)) as Tool[];
	const state = (response?.metadata as { state?: AgentState } | undefined)?.state ?? {
		calls: [],
		open: list.map((_, at) => ({ at, repeated: 0 })),
	};
	const note = ({ at, repeated }: Planned, { failed, answer }: Answer): void => {
		state.calls.push({ args: list[at]!, failed, answer, repeats: repeated > 0 });
		if (failed && repeated < most) state.open.unshift({ at, repeated: repeated + 1 });
	};
	const done = (): INodeExecutionData[][] => [
		[{ json: { calls: state.calls }, pairedItem: { item: 0 } }],
	];

	if (this.getNodeParameter('through', 0) !== 'engine') {
		while (state.open.length > 0) {
			const batch = state.open.splice(0, atOnce);
			const answers = await Promise.all(
				batch.map(async ({ at }) => await answerOf(tool!, list[at]!)),
			);
			batch.forEach((planned, place) => note(planned, answers[place]!));
		}
		return done();
	}
	const answered = response?.actionResponses ?? [];
	for (const [place, planned] of state.open.splice(0, answered.length).entries()) {
		const own = answered.find(({ action }) => action.id === idOf(place));
		const { error, data } = own?.data ?? {};
		const items = data?.ai_tool?.[0]?.map(({ json }) => json);
		const told = error === undefined ? '' : `${error.message} ${error.description ?? ''}`;
		const answer = `${told}${JSON.stringify(items ?? '')}`;
		note(planned, { failed: error !== undefined || answer.includes('"error"'), answer });
	}
	if (state.open.length === 0) return done();
	const nodeName = tool!.metadata.sourceNodeName;
	return {
		actions: state.open.slice(0, atOnce).map(({ at }, place) => ({
			actionType: 'ExecutionNodeAction' as const,
			nodeName,
			input: list[at]!,
			type: 'ai_tool' as const,
			id: idOf(place),
			metadata: {},
		})),
		metadata: { state } as never,
	};
}

const idOf = (place: number): string => `call-${place}`;

type Answer = Pick<ToolCall, 'failed' | 'answer'>;

async function answerOf(tool: Tool, args: IDataObject): Promise<Answer> {
	try {
		const answer = String(await tool.invoke(args));
		return { failed: answer.includes('"error"'), answer };
	} catch (error) {
		const { message, description } = error as Error & { description?: string };
		return { failed: true, answer: `${message} ${description ?? ''}` };
	}
}

export const worldNodes: Record<string, BuiltInNode> = {
	'world.give': node('give', give, [], ['main'], ['items']),
	'world.again': node('again', again, ['main'], ['main'], ['items', 'rounds']),
	'world.back': node('back', back, ['main'], ['main'], ['rounds']),
	'world.agent': node(
		'agent',
		agent,
		['main', 'ai_tool'],
		['main'],
		['calls', 'again', 'through', 'together'],
	),
};
