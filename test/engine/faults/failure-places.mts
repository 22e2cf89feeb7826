/**
 * Where an item fails, in which node, and what it then says of itself: docs/faults.md shows the table,
 * and the tests run each row.
 */
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { Fault } from '../../../simulator/gateway.mjs';
import { byName, MODEL, type NodeName } from '../workbench.mjs';

/** What a failed item says; `taskId` and `url` differ from run to run. */
export interface Facts {
	charged: 'no' | 'maybe' | 'yes';
	taskId?: true;
	taskType?: string;
	status?: string;
	model?: string;
	prompt?: string;
	url?: true;
}

export interface Place {
	/** Where it fails, as the documentation names it. */
	where: string;
	nodes: NodeName[];
	parameters?: Record<string, unknown>;
	faults?: Fault[];
	/** The prompt, which may contain directives for the gateway. */
	prompt?: string;
	/** The call during which a person stops the execution; the facts are in the list of what it leaves. */
	stopsAt?: 'message' | 'poll';
	/** Whether n8n can't store the image. */
	isStoreFull?: boolean;
	/** The key in the credential, where it isn't the right one. */
	key?: string;
	facts: Omit<Facts, 'model' | 'prompt'>;
}

export const PROMPT = 'a lighthouse';

const PAYING: NodeName[] = ['imageGeneration', 'imageEdit', 'message'];
const MAKING: NodeName[] = ['imageGeneration', 'imageEdit'];
const GETTING: NodeName[] = ['imageWait', 'imageTask'];

const no = { charged: 'no' } as const;
/** A task whose type is its node's, or that of its item. */
const task = (charged: Facts['charged'], status?: string) =>
	({ charged, taskId: true, ...(status === undefined ? {} : { status }) }) as const;
const fails = (call: Fault['call'], status: number): Fault[] => [{ call, kind: 'status', status }];
const PLACEHOLDER = '<API_KEY>';

/** In the order of what a node does. */
export const PLACES: Place[] = [
	{ where: 'The credential is invalid', nodes: PAYING, key: PLACEHOLDER, facts: no },
	{
		where: 'The credential is invalid',
		nodes: GETTING,
		key: PLACEHOLDER,
		facts: task('maybe', 'queued'),
	},
	{
		where: 'A setting of the run is invalid',
		nodes: PAYING,
		parameters: { options: { concurrency: 'many' } },
		facts: no,
	},
	{
		where: 'A setting of the run is invalid',
		nodes: GETTING,
		parameters: { options: { concurrency: 'many' } },
		facts: task('maybe', 'queued'),
	},
	{
		where: 'A parameter of the item is invalid',
		nodes: MAKING,
		parameters: { options: { maxWait: 'long' } },
		facts: no,
	},
	{
		where: 'A parameter of the item is invalid',
		nodes: ['message'],
		parameters: { maxTokens: 'many' },
		facts: no,
	},
	{
		where: 'A parameter of the item is invalid',
		nodes: GETTING,
		parameters: { download: 'perhaps' },
		facts: task('maybe', 'queued'),
	},
	{
		where: "The model's limits don't allow it",
		nodes: ['imageGeneration'],
		parameters: { options: { parametersByName: { parameter: [{ name: 'size', value: '1x1' }] } } },
		facts: no,
	},
	{
		where: 'Its source image is missing',
		nodes: ['imageEdit'],
		parameters: { imageSource: 'url', imageUrl: 'http://127.0.0.1:9/missing.png' },
		facts: { ...no, url: true },
	},
	{
		where: 'The budget is exceeded',
		nodes: MAKING,
		parameters: { options: { budget: 0.001 } },
		facts: no,
	},
	{ where: 'The gateway refuses the request', nodes: PAYING, faults: fails('any', 400), facts: no },
	{
		where: 'The outcome of the request is unknown',
		nodes: PAYING,
		faults: ['submit' as const, 'message' as const].flatMap((call) => fails(call, 500)),
		facts: { charged: 'maybe' },
	},
	{
		where: 'The task has failed',
		nodes: MAKING,
		prompt: `${PROMPT} [fail]`,
		facts: task('maybe', 'failed'),
	},
	{
		where: 'The task has failed',
		nodes: ['imageWait'],
		prompt: `${PROMPT} [fail]`,
		facts: task('maybe', 'failed'),
	},
	{
		where: 'The task is still open after Max Wait',
		nodes: MAKING,
		prompt: `${PROMPT} [slow 999]`,
		parameters: { options: { maxWait: 10 } },
		facts: task('yes', 'queued'),
	},
	{
		where: 'The task is still open after Max Wait',
		nodes: ['imageWait'],
		prompt: `${PROMPT} [slow 999]`,
		parameters: { maxWait: 10 },
		facts: task('yes', 'queued'),
	},
	{
		where: 'The status check is refused',
		nodes: MAKING,
		faults: fails('poll', 401),
		facts: task('yes', 'queued'),
	},
	{
		where: 'The status check is refused',
		nodes: GETTING,
		faults: fails('poll', 401),
		facts: task('maybe', 'queued'),
	},
	{
		where: 'The task has finished without an image',
		nodes: [...MAKING, ...GETTING],
		prompt: `${PROMPT} [empty]`,
		facts: task('yes', 'completed'),
	},
	{
		where: "The image can't be downloaded",
		nodes: [...MAKING, ...GETTING],
		faults: fails('download', 404),
		facts: { ...task('yes', 'completed'), url: true },
	},
	{
		where: 'The image is larger than Max Download Size',
		nodes: [...MAKING, ...GETTING],
		parameters: { options: { maxDownloadMb: 1 } },
		faults: [{ call: 'download', kind: 'huge', bytes: 2e6 }],
		facts: { ...task('yes', 'completed'), url: true },
	},
	{
		where: "n8n can't store the image",
		nodes: [...MAKING, ...GETTING],
		isStoreFull: true,
		facts: { ...task('yes', 'completed'), url: true },
	},
	{
		where: 'The execution is stopped during the request',
		nodes: ['message'],
		faults: [{ call: 'message', kind: 'silence' }],
		stopsAt: 'message',
		facts: { charged: 'maybe' },
	},
	{
		where: 'The execution is stopped during the wait',
		nodes: MAKING,
		prompt: `${PROMPT} [slow 999]`,
		stopsAt: 'poll',
		facts: task('yes'),
	},
	{
		where: 'The execution is stopped during the wait',
		nodes: ['imageWait'],
		prompt: `${PROMPT} [slow 999]`,
		stopsAt: 'poll',
		facts: task('maybe'),
	},
];

/** The parameters of a node that would do its work if nothing failed. */
export function parametersOf(node: NodeName, prompt: string): Record<string, unknown> {
	if (node === 'message') return { model: 'reason-large', prompt, maxTokens: 500 };
	if (node === 'imageTask' || node === 'imageWait') return {};
	const request = { model: byName(MODEL), prompt, mode: 'wait' };
	return node === 'imageEdit' ? { ...request, imageSource: 'url' } : request;
}

/** All facts of a failed item, as its details have them. */
export function factsIn(details: N8n.IDataObject): Facts {
	const { charged, taskId, taskType, status, model, prompt, url } = details;
	const found = { charged, taskType, status, model, prompt };
	const present = { taskId: taskId && true, url: url && true };
	return JSON.parse(JSON.stringify({ ...found, ...present })) as Facts;
}

/** The facts that a place expects in a node. */
export function factsOf({ facts, prompt = PROMPT }: Place, node: NodeName): Facts {
	const model = node === 'message' ? 'reason-large' : MODEL;
	const taskType = node === 'imageEdit' ? 'edit' : 'generation';
	return { ...facts, ...(facts.taskId && { taskType }), model, prompt };
}
