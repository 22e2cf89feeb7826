/** The words of the table in `retries.test.mts`, and what a row does. */
import type {
	IDataObject,
	INodeExecutionData,
	INodeParameters,
} from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { RunResult } from '../../../harness/engine/host.mjs';
import type { Fault } from '../../../simulator/gateway.mjs';
import { errorOf } from '../one-node.mjs';
import { opened, sharedBench } from '../opened.mjs';
import {
	byName,
	MODEL,
	NODE,
	reachedAgain,
	sendJson,
	serve,
	TINY_PNG,
	workflowOf,
	type NodeName,
	type OwnServer,
	type Settings,
} from '../workbench.mjs';

export type Row = [
	node: string,
	before: string,
	who: keyof typeof WHO,
	changed: string,
	sent: string,
	shown: string,
	charged: string,
];

/** What surrounds the nodes: the credential, the source image of edits, and a model list of its own. */
const world = {
	apiKey: '',
	/** What the credential has in place of its fields once it was read that often. */
	later: { reads: Infinity, fields: {} as { apiKey?: string; baseUrl?: string } },
	source: TINY_PNG as Buffer | 'gone',
	/** Undefined: the gateway's own. */
	list: undefined as Change['list'],
	listReads: 0,
};
let server: OwnServer;

const credentials = {
	get mediaGatewayApi() {
		const { apiKey, later, list } = world;
		// Model lists are cached by address.
		const mediaUrl = list && `${server.url}/${rows}`;
		const fields = { apiKey, baseUrl: bench.gateway.url, gatewaySettings: true, mediaUrl };
		return (later.reads -= 1) < 0 ? { ...fields, ...later.fields } : fields;
	},
};
export const bench = sharedBench({ host: { credentials } });
let rows = 0;

beforeAll(async () => {
	server = await opened(
		serve(({ url }, response) => {
			if (url === '/source.png') {
				if (world.source === 'gone') return sendJson(response, {}, 403);
				return void response.writeHead(200, { 'content-type': 'image/png' }).end(world.source);
			}
			const isThere = world.list?.[(world.listReads += 1) > 1 ? 1 : 0];
			// Else it would be cached for the next try.
			response.setHeader('cache-control', 'no-store');
			const billing = { unit: 'image', mode: 'price', value: 0.04 };
			const items = [
				{ model: MODEL, media_type: 'image', parameters: { seed: ['7', '8'] }, billing },
			];
			const body = { success: true, data: { items, total: 1 } };
			sendJson(response, isThere === true ? body : {}, isThere === true ? 200 : 403);
		}),
	);
});
beforeEach(() => {
	rows += 1;
	const [apiKey] = bench.gateway.keys;
	const later = { reads: Infinity, fields: {} };
	Object.assign(world, { apiKey, later, source: TINY_PNG, list: undefined, listReads: 0 });
});

const form = (value: object | null, more: object = {}) => ({
	modelParameters: { mappingMode: 'defineBelow', value, ...more },
});
const options = (given: object) => ({ options: given });

const NODES: Record<string, [NodeName, Record<string, unknown>]> = {
	sync: ['imageGeneration', { mode: 'sync' }],
	wait: ['imageGeneration', { mode: 'wait', ...options({ pollInterval: 1 }) }],
	submit: ['imageGeneration', { mode: 'submit' }],
	edit: ['imageEdit', { mode: 'sync' }],
	editOfUrl: ['imageEdit', { mode: 'sync' }],
	message: ['message', { model: 'reason-large' }],
	form: [
		'imageGeneration',
		{
			mode: 'sync',
			model: { __rl: true, mode: 'list', value: MODEL, cachedResultName: `${MODEL} (0.04)` },
			download: false,
			...form({ size: '1024x1024', quality: null }),
			...options({ extraFields: '{ "user": "u", "style": "s", "seed": 7 }' }),
		},
	],
};

/** What happens to the request of an item, or to its task or image. */
const BEFORE: Record<string, Partial<Fault>> = {
	image: {},
	fails: {},
	refused: { kind: 'status', status: 400, times: 1 },
	'no response': { kind: 'cutAfter', times: 1 },
	'half a response': { kind: 'badJson', times: 1 },
	'status 504': { kind: 'status', status: 504, times: 1 },
	'no download': { call: 'download', kind: 'status', status: 404, times: 1 },
	'no status': { call: 'poll', kind: 'status', status: 403 },
	'no status once': { call: 'poll', kind: 'status', status: 403, times: 1 },
	slow: { call: 'poll', kind: 'status', status: 503 },
};

const FIVE = { retryOnFail: true, maxTries: 5, waitBetweenTries: 1 };
const GO_ON = { onError: 'continueRegularOutput' } as const;
const TWO_OUTPUTS = { onError: 'continueErrorOutput' } as const;

const WHO = {
	nobody: GO_ON,
	tries: FIVE,
	'tries, goes on': { ...FIVE, ...GO_ON },
	'tries, two outputs': { ...FIVE, ...TWO_OUTPUTS },
	loop: FIVE,
	'loop, two outputs': { ...FIVE, ...TWO_OUTPUTS },
	'tool of engine': FIVE,
	'tool of engine, goes on': { ...FIVE, ...GO_ON },
	'tool of agent': FIVE,
	Retry: {},
	'new run': {},
} satisfies Record<string, Settings>;

interface Change {
	parameters?: Record<string, unknown>;
	settings?: Settings;
	/** Whether the model list is there at first, and whether it is later. */
	list?: [boolean, boolean];
	/** Happens before the node runs again. @param failed the execution that is retried */
	act?: (failed?: RunResult) => void;
}

const CHANGES: Record<string, Change> = {
	nothing: {},
	'short Max Wait': { parameters: options({ pollInterval: 1, maxWait: 3 }) },
	'random n': {
		parameters: options({ n: '={{ 1 + Math.floor(Math.random() * 4) }}', addSummary: true }),
	},
	'how it is stored': {
		parameters: {
			model: byName(`=${MODEL}`),
			prompt: '={{$json.prompt}} {{Math.random()}}',
			...form({ size: '=1024x1024', quality: '', seed: null }, { schema: [{ id: 'size' }] }),
		},
	},
	'how it is written': {
		parameters: options({
			extraFields: '{"style":"s","seed":7,"user":"u"}',
			n: 1,
		}),
	},
	'the field of a parameter': {
		parameters: {
			...form({ size: '1024x1024', seed: ' 7' }),
			...options({ extraFields: '{ "user": "u", "style": "s" }' }),
		},
	},
	'what is not sent': {
		parameters: {
			download: true,
			...options({
				...{ maxWait: 900, pollInterval: 4, concurrency: 3, timeout: 60 },
				...{ addSummary: true, fileName: 'another' },
			}),
		},
	},
	'mode sync': { parameters: { mode: 'sync' } },
	'mode wait': { parameters: { mode: 'wait' } },
	'mode submit': { parameters: { mode: 'submit' } },
	size: { parameters: form({ size: '512x512' }) },
	prompt: { parameters: { prompt: '={{ $json.prompt }} at night {{ Math.random() }}' } },
	'number of images': { parameters: options({ n: 2 }) },
	seed: { parameters: options({ extraFields: '{ "user": "u", "style": "s", "seed": 8 }' }) },
	model: { parameters: { model: byName('plain-image'), ...options({ checkLimits: false }) } },
	'one prompt, budget': { parameters: { prompt: 'number 2.', ...options({ budget: 0.000001 }) } },
	'prompts, budget': {
		parameters: {
			prompt: '={{ $itemIndex === 2 ? "number 0." : "number 2." }}',
			...options({ budget: 0.000001 }),
		},
	},
	'dry run': { parameters: options({ dryRun: true }) },
	'bad dry run': { parameters: options({ dryRun: true, maxWait: 'long' }) },
	'bad dry run of one': {
		parameters: options({ dryRun: '={{ $itemIndex === 1 }}', maxWait: 'long' }),
	},
	'key renewed': { act: () => void ([, world.apiKey] = bench.gateway.keys) },
	'key gone': {
		parameters: options({ checkLimits: false }),
		act: (failed) => changeLater({ apiKey: '<API_KEY>' }, failed),
	},
	address: {
		parameters: options({ checkLimits: false }),
		act: () => changeLater({ baseUrl: bench.gateway.url.replace('127.0.0.1', 'localhost') }),
	},
	'other credential': {
		settings: { credentials: { mediaGatewayApi: { id: 'other', name: 'Other' } } },
	},
	'file replaced': {
		act: (failed) => {
			const [items] = failed!.data.executionData!.nodeExecutionStack[0]!.data.main!;
			for (const { binary } of items!) binary!.data!.data = OTHER_PNG.toString('base64');
		},
	},
	'source replaced': { act: () => void (world.source = OTHER_PNG) },
	'source gone': { act: () => void (world.source = 'gone') },
	'prompt field, mode wait': {
		parameters: { mode: 'wait', prompt: '={{ $json.prompt + "" }}' },
	},
	'prompt field, list comes': {
		// Its seed is a text.
		parameters: { prompt: '={{ $json.prompt + "" }}' },
		list: [false, true],
	},
	'list comes, budget': { parameters: options({ budget: 0.08 }), list: [false, true] },
	'no list, budget': { parameters: options({ budget: 0.08 }), list: [false, false] },
	'list goes, budget': { parameters: options({ budget: 1 }), list: [true, false] },
};
/** In a Retry at once; else after the first try, which reads the credential for each of two items. */
const changeLater = (fields: object, failed?: RunResult): void =>
	void (world.later = { reads: failed === undefined ? 2 : 0, fields });
const OTHER_PNG = Buffer.concat([TINY_PNG, Buffer.from([0])]);

/** What errors say. */
const ERRORS: Record<string, RegExp> = {
	refused: /rejected the request \(400\)/,
	unknown: /outcome is unknown|nothing of use/i,
	failed: /ended with the status \\?"failed\\?"/,
	open: /still open/,
	'no status': /\(403\)/,
	'no key': /placeholder/,
	'no price': /price of the model '.*' is unknown/,
	'no source': /403/,
	'over budget': /exceeds the (remaining )?budget/,
	'bad option': /'Max Wait \(Seconds\)' must be/,
};
const wordFor = (text: string) =>
	Object.entries(ERRORS).find(([, said]) => said.test(text))?.[0] ?? text;

/** Does what a row says. @returns the last three cells of the row */
export async function play(
	node: string,
	before: string,
	who: keyof typeof WHO,
	changed: string,
): Promise<[sent: string, shown: string, charged: string]> {
	const changes = changed.split(' → ').map((word) => CHANGES[word]!);
	world.list = changes[0]!.list;
	const happened = before.split(', ');
	const sent: string[] = [];
	const shown: string[] = [];
	for await (const one of runsOf(setUp(node, happened), who, changes)) {
		sent.push(perItem(happened, () => true));
		shown.push(one);
	}
	const charged = perItem(happened, ({ paid }) => paid);
	return [changes.length > 1 ? sent.join(' → ') : sent.at(-1)!, shown.join(' → '), charged];
}

/** The paid requests of each item so far, by the number in their prompts. */
const perItem = (happened: string[], isCounted: (request: { paid: boolean }) => boolean) =>
	happened
		.map((_, index) => {
			const isOwn = (body: unknown) => JSON.stringify(body ?? '').includes(`number ${index}.`);
			return bench.gateway.requests.filter(
				(request) =>
					/^(sync|submit|message)$/.test(request.call) && isOwn(request.body) && isCounted(request),
			).length;
		})
		.join(' ');

/** Makes the gateway do what a row says to the items of a node. @returns both, and how to change the node */
function setUp(node: string, happened: string[]) {
	const [name, prompts] = node.split(' ').reverse() as [string, string?];
	const [type, base] = NODES[name]!;
	const { mode = 'message' } = base;
	const call = (mode === 'wait' ? 'submit' : mode) as Fault['call'];
	const faults = happened.map((word, index) => ({
		call,
		match: `number ${index}.`,
		...BEFORE[word]!,
	}));
	bench.gateway.setFaults(faults.filter(({ kind }) => kind !== undefined) as Fault[]);
	const file = { data: { data: TINY_PNG.toString('base64'), mimeType: 'image/png' } };
	const input = happened.map((word, index) => {
		const number = `number ${prompts === 'equal' ? 0 : index}.`;
		const json = { prompt: word === 'fails' ? `${number} [fail]` : number };
		return name === 'edit' ? { json, binary: structuredClone(file) } : { json };
	});
	const prompt = `={{ $json.prompt }}${prompts === 'random' ? ' {{ Math.random() }}' : ''}`;
	const source = name === 'editOfUrl' ? { images: `${server.url}/source.png` } : {};
	// The first fault is for the first of equal items.
	const inOrder = prompts === 'equal' ? { concurrency: 1 } : {};
	const parametersOf = ({ parameters = {} }: Change) => ({
		...{ prompt, ...source, ...base, ...parameters },
		options: { ...inOrder, ...(base.options as object), ...(parameters.options as object) },
	});
	const workflow = (change: Change, settings: Settings) =>
		workflowOf(type, parametersOf(change), { ...settings, ...change.settings });
	/** The items of which a failed run leaves something that was paid for, or may have been. */
	const left = happened.flatMap((word, index) => (/^(refused|fails)$/.test(word) ? [] : index));
	return { type, input, parametersOf, workflow, left };
}
type SetUp = ReturnType<typeof setUp>;

/** What is shown each time that the node has run again. */
async function* runsOf(
	{ type, input, parametersOf, workflow, left }: SetUp,
	who: keyof typeof WHO,
	changes: Change[],
): AsyncGenerator<string> {
	const [change] = changes as [Change];
	const { host } = bench;
	if (who === 'Retry' || who === 'new run') {
		let failed = await host.run(workflow({}, {}), { input });
		expect(failed.status).toBe('error');
		expect(itemsIn(errorOf(failed).messages)).toEqual(left);
		for (const [place, one] of changes.entries()) {
			one.act?.(failed);
			const now = workflow(one, place === changes.length - 1 ? GO_ON : {});
			const result = await (who === 'Retry' ? host.retry(failed, now) : host.run(now, { input }));
			yield shownIn(result);
			if (result.status === 'error') failed = result;
		}
	} else if (who.startsWith('tool')) {
		const { prompt } = input[0]!.json;
		const parameters = { ...parametersOf(change), model: byName(MODEL), prompt };
		const through = who === 'tool of agent' ? 'subNode' : 'engine';
		const options = { through, node: WHO[who] } as const;
		yield await host
			.runAsTool(`n8n-nodes-media-gateway.${type}`, parameters as INodeParameters, options)
			.catch(({ message }: Error) => message)
			.then(wordFor);
	} else {
		change.act?.();
		const once = workflow(change, WHO[who]);
		const isLoop = who.startsWith('loop');
		const result = await host.run(isLoop ? reachedAgain(once, 2) : once, { input });
		yield shownIn(result);
		if (isLoop) yield shownIn(result, 1);
	}
}

/** The items that lines of an error name, each with something that was paid for. */
function itemsIn(lines: string[]): number[] {
	const line =
		/^Item (\d+)(?: \(".*"\))?: (http\S+|(generation|edit) task \S+|the response to a message|the outcome of the request is unknown.*)$/;
	return lines.flatMap((text) => line.exec(text)?.[1] ?? []).map((row) => Number(row) - 1);
}

/** What a run of the node shows, in the words of the table. */
function shownIn(result: RunResult, run = 0): string {
	expectTrue(result);
	if (result.error !== undefined) {
		const { message, messages } = errorOf(result);
		return `stops: ${wordFor(message)}; lists ${itemsIn(messages).join(' ')}`;
	}
	const items = [0, 1].flatMap((output) => result.output(NODE, output, run));
	const words: string[][] = [];
	for (const item of items) {
		const { item: place } = item.pairedItem as { item: number };
		(words[place] ??= []).push(wordOf(item, place));
	}
	return words.map((own) => [...new Set(own)].join(' + ')).join(', ');
}

function wordOf({ json, binary }: INodeExecutionData, place: number): string {
	const { dryRun, error, prompt, taskId, text, url } = json;
	if (error !== undefined) {
		const { description } = json.details as IDataObject;
		const named = /(generation|edit) task task_/.test(String(description)) ? ', task' : '';
		return `${wordFor(String(error))}${named}`;
	}
	if (dryRun === true) return 'dry run';
	const word = (binary && 'image') ?? (url && 'address') ?? (taskId && 'task') ?? (text && 'text');
	const number = /^number (\d)\./.exec(String(prompt ?? text))?.[1];
	return `${String(word)}${number === undefined || number === String(place) ? '' : ` of ${number}`}`;
}

/** What items tell of their requests is what was sent and charged. */
function expectTrue(result: RunResult): void {
	const outputs = (result.runData[NODE] ?? []).flatMap(({ data }) => data?.main ?? []);
	const rows = outputs.flatMap((items) => items ?? []).map(({ json }) => json);
	const good = rows.filter(({ error, dryRun }) => error === undefined && dryRun !== true);
	const sent = bench.gateway.requests.filter(({ paid }) => paid);
	const isSent = ({ prompt }: IDataObject) =>
		sent.some(({ body }) => JSON.stringify(body).includes(JSON.stringify(prompt)));
	expect(good.filter((row) => row.prompt !== undefined && !isSent(row))).toEqual([]);
	const urls = good.flatMap(({ url }) => url ?? []);
	expect(new Set(urls).size).toBe(urls.length);
	for (const { error, details } of rows) {
		if (error === undefined) continue;
		const { charged, outcome, ...facts } = details as IDataObject;
		if (charged === 'yes') expect(facts.taskId ?? facts.url).toBeDefined();
		if (charged !== 'no' && outcome !== 'unknown') expect(isSent(facts)).toBe(true);
		const isOther = good.some(({ prompt }) => prompt === facts.prompt);
		if (charged === 'no' && !isOther) expect(isSent(facts)).toBe(false);
	}
	const costs = good.flatMap(({ estimatedCost }) => estimatedCost ?? []);
	expect(costs.filter((cost) => cost !== 0.04)).toEqual([]);
	const { estimatedCost } = (rows.at(-1)?.summary ?? {}) as IDataObject;
	if (estimatedCost !== undefined) expect(estimatedCost).toBeCloseTo(costs.length * 0.04, 4);
}
