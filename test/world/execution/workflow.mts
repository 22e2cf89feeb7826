/** The workflow of a flow. */
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { WorkflowJson } from '../../../harness/engine/host.mjs';
import type { Flow } from '../plan/world.mjs';

/** Names of the nodes that are looked at afterwards. */
export const MAKE = 'Make';
export const COLLECT = 'Collect';
export const AGENT = 'Agent';
/** Image Wait, where what has failed passes it on its way back. */
export const ON_WAY = 'On its way';

const PACKAGE = 'n8n-nodes-media-gateway';
const TYPES = {
	generation: 'imageGeneration',
	edit: 'imageEdit',
	message: 'message',
} as const;

type Node = WorkflowJson['nodes'][number];

export const isTool = ({ as }: Flow): boolean => as === 'engineTool' || as === 'subNodeTool';

/** The names of the package's nodes in this flow, in order. */
export function nodesOf({ make, mode, collect }: Flow): string[] {
	if (make === 'nothing') return [COLLECT];
	const submits = (make === 'generation' || make === 'edit') && mode === 'submit';
	return submits && collect !== 'none' ? [MAKE, COLLECT] : [MAKE];
}

/** Whether what is waited for outlives the process. */
export const survives = (flow: Flow): boolean =>
	flow.isStored &&
	!isTool(flow) &&
	(makesTasks(flow) ? flow.mode !== 'sync' : flow.make === 'nothing');

/** Whether what nodes keep with the workflow is stored. */
export const isProduction = (flow: Flow): boolean => flow.production || flow.isStored;

const makesTasks = ({ make }: Flow): boolean => make === 'generation' || make === 'edit';

/** The items that enter, each as its JSON. */
export type Input = IDataObject[];

export function workflowFor(flow: Flow, input: Input, edited: string): WorkflowJson {
	if (isTool(flow)) return toolWorkflow(flow, input, edited);
	const names = nodesOf(flow);
	const nodes: Node[] = [
		{ name: 'Give', type: 'world.give', parameters: { items: JSON.stringify(input) } },
		...names.map((name) => packageNode(flow, name, edited)),
	];
	const connections: N8n.IConnections = { Give: { main: [to(names[0]!)] } };
	names.forEach((name, index) => {
		const next = names[index + 1];
		connections[name] = { main: [next === undefined ? [] : to(next)] };
	});
	if (flow.as === 'back') wireBack(flow, nodes, connections);
	if (flow.as === 'loop') {
		const rounds = { items: JSON.stringify(input), rounds: flow.rounds };
		nodes.push({ name: 'Again', type: 'world.again', parameters: rounds as never });
		const last = names.at(-1)!;
		// By both outputs: it goes round whatever came out.
		connections[last] = { main: [to('Again'), to('Again')] };
		connections.Again = { main: [to(names[0]!)] };
	}
	return { nodes, connections, settings: { saveExecutionProgress: flow.savesProgress } };
}

/** Leads what has failed back to the node that has sent it, there perhaps by an Image Wait. */
function wireBack(flow: Flow, nodes: Node[], connections: N8n.IConnections): void {
	const names = nodesOf(flow);
	nodes.push({ name: 'Again', type: 'world.back', parameters: { rounds: flow.rounds } });
	if (flow.waitsOnWay === true) {
		nodes.push({ ...packageNode({ ...flow, collect: 'imageWait' }, COLLECT, ''), name: ON_WAY });
		connections[ON_WAY] = { main: [[], to('Again')] };
	}
	const way = to(flow.waitsOnWay === true ? ON_WAY : 'Again');
	for (const name of names) connections[name] = { main: [connections[name]!.main[0]!, way] };
	connections.Again = { main: [to(MAKE)] };
}

function toolWorkflow(flow: Flow, input: Input, edited: string): WorkflowJson {
	const [name] = nodesOf(flow);
	const node = packageNode(flow, name!, edited);
	const parameters = {
		calls: JSON.stringify(input),
		again: flow.again,
		together: flow.together,
		through: flow.as === 'engineTool' ? 'engine' : 'subNode',
	};
	return {
		nodes: [
			{ name: 'Give', type: 'world.give', parameters: { items: '[{}]' } },
			{ name: AGENT, type: 'world.agent', parameters: parameters as never },
			{ ...node, type: `${node.type}Tool` },
		],
		connections: {
			Give: { main: [to(AGENT)] },
			[name!]: { ai_tool: [[{ node: AGENT, type: 'ai_tool', index: 0 }]] },
		},
	};
}

const to = (node: string) => [{ node, type: 'main' as const, index: 0 }];

function packageNode(flow: Flow, name: string, edited: string): Node {
	const own = name === COLLECT ? flow.collect : TYPES[flow.make as keyof typeof TYPES];
	const type = `${PACKAGE}.${own}`;
	const settings = {
		onError: flow.onError,
		credentials: credentialOf(flow),
		...(flow.tries > 1 && {
			retryOnFail: true,
			maxTries: flow.tries,
			waitBetweenTries: 1000,
		}),
	};
	const parameters = name === COLLECT ? collectParameters(flow) : makeParameters(flow, edited);
	return { name, type, parameters: parameters as never, ...settings };
}

/** Each account has a credential of its own. */
function credentialOf({ account }: Flow): N8n.INodeCredentials {
	const name = `account ${account + 1}`;
	return { mediaGatewayApi: { id: name, name } };
}

/** What an item says of itself: an agent gives it as the arguments of its call. */
const given = (flow: Flow, field: string): string =>
	isTool(flow) ? `$fromAI("${field}", "", "string")` : `$json.${field}`;

function makeParameters(flow: Flow, edited: string): IDataObject {
	const { make, mode, options, maxWait, pollInterval, download, model, countedBy } = flow;
	const prompt = `={{ ${given(flow, 'prompt')} }}${edited}`;
	const own = troubled(flow, options);
	if (make === 'message') return { model: 'reason-large', prompt, options: own as IDataObject };
	const n = '={{ $json.n }}';
	const foreign = { extraFields: `={{ { ${countedBy}: $json.n } }}` };
	const count = isTool(flow) ? {} : countedBy === 'n' ? { n } : foreign;
	const survive = mode === 'sync' ? {} : survival(flow);
	return {
		model: { __rl: true, mode: 'name', value: model },
		prompt,
		mode,
		download,
		...(make === 'edit' && (isTool(flow) ? fileByAddress : fileOfItem(flow))),
		options: {
			...own,
			...count,
			...survive,
			maxWait,
			pollInterval,
		} as IDataObject,
	};
}

function fileOfItem({ editFrom, fileShift }: Flow): IDataObject {
	if (editFrom === 'binary') return {};
	const address = `={{ $json.sources }}{{ ($json.file + ${fileShift}) % 3 }}/one.png`;
	return { images: address };
}

/** A tool has no input item whose file it could take. */
const fileByAddress = {
	images:
		'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
};

function collectParameters(flow: Flow): IDataObject {
	const { options, maxWait, pollInterval, download, collect } = flow;
	const survive = collect === 'imageWait' ? survival(flow) : {};
	return {
		taskId: `={{ ${given(flow, 'taskId')} }}`,
		...(isTool(flow) ? { taskType: `={{ ${given(flow, 'taskType')} }}` } : {}),
		maxWait,
		pollInterval: flow.trouble === 'badPollInterval' ? 'abc' : pollInterval,
		download,
		options: { ...troubled(flow, options), ...survive } as IDataObject,
	};
}

function survival({ isStored, onError }: Flow): Record<string, unknown> {
	if (!isStored) return {};
	// The node refuses to have three outputs then.
	const outputs = onError === 'continueErrorOutput' ? { onTimeout: 'error' } : {};
	return { surviveRestarts: true, ...outputs };
}

function troubled({ trouble }: Flow, options: Record<string, unknown>): Record<string, unknown> {
	return trouble === 'badOption' ? { ...options, concurrency: 'abc' } : options;
}
