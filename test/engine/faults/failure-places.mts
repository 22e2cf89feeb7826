/**
 * Where an item fails, in which node, and what it then says of itself: the tests run each row, and
 * docs/errors-and-charges.md says it in short.
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
const ALL = [...MAKING, ...GETTING];

const no = { charged: 'no' } as const;
/** A task whose type is its node's, or that of its item. */
const task = (charged: Facts['charged'], status?: string) =>
	({ charged, taskId: true, ...(status === undefined ? {} : { status }) }) as const;
/** The task of an item that a node is given. */
const given = task('maybe', 'queued');
const open = task('yes', 'queued');
const completed = task('yes', 'completed');
const withUrl = { ...completed, url: true } as const;
const fails = (call: Fault['call'], status: number): Fault[] => [{ call, kind: 'status', status }];
const withOptions = (options: object): Pick<Place, 'parameters'> => ({ parameters: { options } });

const badKey = { key: '<API_KEY>' };
const badSetting = withOptions({ concurrency: 'many' });
const badSize = withOptions({ extraFields: { size: '1x1' } });
const badSource = { images: 'http://127.0.0.1:9/missing.png' };
const unknown = { faults: [...fails('submit', 500), ...fails('message', 500)] };
const failed = { prompt: `${PROMPT} [fail]` };
const slow = { prompt: `${PROMPT} [slow 999]` };
const late = { ...slow, ...withOptions({ maxWait: 10 }) };
const lateInWait = { ...slow, parameters: { maxWait: 10 } };
const huge: Fault[] = [{ call: 'download', kind: 'huge', bytes: 600e6 }];
const tooLarge = { faults: huge };
const silence: Fault[] = [{ call: 'message', kind: 'silence' }];
const stopped = { faults: silence, stopsAt: 'message' } as const;
const stoppedInWait = { ...slow, stopsAt: 'poll' } as const;

/** In the order of what a node does. */
const ROWS: Array<[where: string, NodeName[], Place['facts'], how: Partial<Place>]> = [
	['The credential is invalid', PAYING, no, badKey],
	['The credential is invalid', GETTING, given, badKey],
	['A setting of the run is invalid', PAYING, no, badSetting],
	['A setting of the run is invalid', GETTING, given, badSetting],
	['A parameter of the item is invalid', MAKING, no, withOptions({ maxWait: 'long' })],
	['A parameter of the item is invalid', ['message'], no, { parameters: { maxTokens: 'many' } }],
	['A parameter of the item is invalid', GETTING, given, { parameters: { download: 'perhaps' } }],
	["The model's limits don't allow it", ['imageGeneration'], no, badSize],
	['Its source image is missing', ['imageEdit'], no, { parameters: badSource }],
	['The budget is exceeded', MAKING, no, withOptions({ budget: 0.001 })],
	['The gateway refuses the request', PAYING, no, { faults: fails('any', 400) }],
	['The outcome of the request is unknown', PAYING, { charged: 'maybe' }, unknown],
	['The task has failed', MAKING, task('maybe', 'failed'), failed],
	['The task has failed', ['imageWait'], task('maybe', 'failed'), failed],
	['The task is still open after Max Wait', MAKING, open, late],
	['The task is still open after Max Wait', ['imageWait'], open, lateInWait],
	['The status check is refused', MAKING, open, { faults: fails('poll', 401) }],
	['The status check is refused', GETTING, given, { faults: fails('poll', 401) }],
	['The task has finished without an image', ALL, completed, { prompt: `${PROMPT} [empty]` }],
	["The image can't be downloaded", ALL, withUrl, { faults: fails('download', 404) }],
	['The image is larger than 500 MB', ALL, withUrl, tooLarge],
	["n8n can't store the image", ALL, withUrl, { isStoreFull: true }],
	['The execution is stopped during the request', ['message'], { charged: 'maybe' }, stopped],
	['The execution is stopped during the wait', MAKING, task('yes'), stoppedInWait],
	['The execution is stopped during the wait', ['imageWait'], task('maybe'), stoppedInWait],
];
export const PLACES = ROWS.map(([where, nodes, facts, how]): Place => {
	return { where, nodes, facts, ...how };
});

/** The parameters of a node that would do its work if nothing failed. */
export function parametersOf(node: NodeName, prompt: string): Record<string, unknown> {
	if (node === 'message') return { model: 'reason-large', prompt, maxTokens: 500 };
	if (node === 'imageTask' || node === 'imageWait') return {};
	const request = { model: byName(MODEL), prompt, mode: 'wait' };
	return request;
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
