/** Wherever an item fails, it says what it is about and what it cost, as the gateway's records do. */
import '../fast-time.mjs';
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { RunResult } from '../../../harness/engine/host.mjs';
import { Container, core } from '../../../harness/engine/n8n.mjs';
import { until } from '../../until.mjs';
import { opened } from '../opened.mjs';
import {
	byName,
	hostFor,
	MODEL,
	NODE,
	openBench,
	sendJson,
	serve,
	TINY_PNG,
	workflowOf,
	type Bench,
	type NodeName,
	type Settings,
} from '../workbench.mjs';
import { factsIn, factsOf, parametersOf, PLACES, PROMPT, type Place } from './failure-places.mjs';

let bench: Bench;
let source: string;
/** The items of the list that a stopped run leaves. */
let left: N8n.IDataObject[];
beforeAll(async () => {
	const onSubExecution = (result: RunResult): void => {
		left = result.json('Image Tasks of the Stopped Run');
	};
	bench = await opened(openBench({ host: { onSubExecution } }));
	const image = (response: { end(bytes: Buffer): void }): void => response.end(TINY_PNG);
	({ url: source } = await opened(serve((_, response) => image(response))));
});
beforeEach(() => {
	bench.gateway.reset();
	left = [];
});
afterEach(() => jest.restoreAllMocks());

const RETRY = { retryOnFail: true, maxTries: 2, waitBetweenTries: 1 };
const ON_ERROR: Array<[string, Settings]> = [
	['Stop', {}],
	['Continue', { onError: 'continueRegularOutput' }],
	['Continue (using error output)', { onError: 'continueErrorOutput' }],
	['Continue, with Retry On Fail', { onError: 'continueRegularOutput', ...RETRY }],
];

/** What a node that gets tasks is given: an item of mode Submit Only. */
async function submitted(prompt: string): Promise<N8n.IDataObject> {
	const parameters = { model: byName(MODEL), prompt, mode: 'submit' };
	const { json } = await bench.run('imageGeneration', parameters);
	return json(NODE)[0]!;
}

/** Lets n8n store no file from now on, but the source image of an edit. */
function fillStore(node: NodeName): void {
	const store = Container.get(core.BinaryDataService);
	const { store: storeFile } = store;
	const full = jest.spyOn(store, 'store').mockRejectedValue(new Error('ENOSPC: disk full'));
	if (node === 'imageEdit') full.mockImplementationOnce(storeFile.bind(store));
}

async function fail(place: Place, node: NodeName, settings: Settings) {
	const { parameters, faults = [], prompt = PROMPT, key, stopsAt } = place;
	const isGetting = node === 'imageWait' || node === 'imageTask';
	const json = isGetting ? await submitted(prompt) : {};
	bench.gateway.setFaults(faults);
	const own = parametersOf(node, prompt);
	const file = node === 'imageEdit' ? { images: `${source}/one.png` } : {};
	const workflow = workflowOf(node, { ...own, ...file, ...parameters }, settings);
	const credential = { baseUrl: bench.gateway.url, apiKey: key };
	const host = key === undefined ? bench.host : await hostFor(credential);
	if (place.isStoreFull === true) fillStore(node);
	const before = stopsAt === undefined ? 0 : bench.gateway.count(stopsAt);
	const execution = host.start(workflow, { input: [{ json }] });
	if (stopsAt !== undefined) {
		await until(() => bench.gateway.count(stopsAt) > before);
		execution.stop();
	}
	const result = await execution.promise;
	if (stopsAt !== undefined) {
		await until(() => left.length > 0);
		return { items: left, details: left[0]! };
	}
	const items = [0, 1].flatMap((output) => result.json(NODE, output));
	const error = result.error as { context?: { details?: N8n.IDataObject } } | undefined;
	return { items, details: error?.context?.details ?? (items[0]?.details as N8n.IDataObject) };
}

/** Each place in one of its nodes, with one of the settings of On Error, in turn. */
const rows = PLACES.map((place, index) => {
	const node = place.nodes[index % place.nodes.length]!;
	const [name, settings] = ON_ERROR[index % ON_ERROR.length]!;
	return [`${node}: ${place.where} (${name})`, place, node, settings] as const;
});

test.each(rows)('%s', async (_, place, node, settings) => {
	const { items, details } = await fail(place, node, settings);
	const facts = factsIn(details);
	expect(facts).toEqual(factsOf(place, node));
	// On the regular output and on the error output alike: the engine must recognize it.
	if (settings.onError !== undefined) expect(items).toHaveLength(1);
	const { paid } = bench.gateway;
	if (facts.charged === 'no') expect(paid).toBe(0);
	if (facts.charged === 'yes') expect(paid).toBe(1);
});

test('an image without an address that cannot be stored leaves its task', async () => {
	const data = [{ b64_json: TINY_PNG.toString('base64') }];
	const body = { id: 'task_1', status: 'completed', data };
	const server = await opened(serve((_, response) => sendJson(response, body)));
	const host = await hostFor({ baseUrl: server.url });
	fillStore('imageWait');
	const workflow = workflowOf('imageWait', {}, { onError: 'continueRegularOutput' });
	const input = [{ json: { taskId: 'task_1', taskType: 'generation' } }];
	const [item] = (await host.run(workflow, { input })).json(NODE);
	expect(item!.error).toBe("n8n couldn't store the image: ENOSPC: disk full");
	const { charged, taskId, status, description } = item!.details as N8n.IDataObject;
	expect([charged, taskId, status]).toEqual(['yes', 'task_1', 'completed']);
	expect(description).toMatch(/^The image is finished and paid for\. Check where n8n stores/);
});

/** An agent's tool with fields of its input in its items, failed ones too. */
const withInput = ({ options, ...others }: Record<string, unknown> = {}) => ({
	...others,
	options: { includeInputFields: true, ...(options as object) },
});

/** What an agent reads first, of a node whose calls are charged. */
const FIRST_SENTENCE = {
	no: 'This call was not charged, and may be repeated once its cause is removed.',
	maybe: 'This call may have been charged: do not repeat it.',
	yes: 'This call was charged: do not repeat it.',
};

/** The two marks by which a node knows an agent's call, and the two ways in which its errors go on. */
const CALLS: Array<['engine' | 'subNode', Settings]> = [
	['engine', { onError: 'continueRegularOutput' }],
	['subNode', {}],
];

describe('an agent reads first', () => {
	// A tool returns addresses and downloads nothing.
	const isReached = ({ faults = [], parameters, isStoreFull = false, stopsAt }: Place): boolean =>
		!isStoreFull &&
		stopsAt === undefined &&
		parameters?.download === undefined &&
		!faults.some(({ call }) => call === 'download');
	const tools = PLACES.filter(isReached).map((place, index) => {
		const node = place.nodes[(index + 1) % place.nodes.length]!;
		const [through, settings] = CALLS[index % CALLS.length]!;
		return [`${node} by ${through}: ${place.where}`, place, node, through, settings] as const;
	});

	test.each(tools)('%s', async (_, place, node, through, settings) => {
		const { parameters, faults = [], prompt = PROMPT, key, facts } = place;
		const isGetting = node === 'imageWait' || node === 'imageTask';
		const task = isGetting ? { taskId: String((await submitted(prompt)).taskId) } : {};
		bench.gateway.setFaults(faults);
		const file = node === 'imageEdit' ? { images: `${source}/one.png` } : {};
		const own = { ...parametersOf(node, prompt), ...task, ...file, ...withInput(parameters) };
		const credential = { baseUrl: bench.gateway.url, apiKey: key };
		const host = key === undefined ? bench.host : await hostFor(credential);
		const tool = `n8n-nodes-media-gateway.${node}`;
		const call = { through, node: settings };
		const answer = await host.runAsTool(tool, own as N8n.INodeParameters, call);
		const [{ error: text }] = JSON.parse(answer) as [{ error: string }];
		// To get a task costs nothing, whatever the task has cost.
		const sentence = FIRST_SENTENCE[isGetting ? 'no' : facts.charged];
		expect(text.slice(0, sentence.length)).toBe(sentence);
	});

	test.each([2, 4])('%s tries of Retry On Fail: the last one answers', async (maxTries) => {
		bench.gateway.setFaults([{ call: 'message', kind: 'status', status: 502, message: 'x' }]);
		const node = { ...RETRY, maxTries };
		const parameters = parametersOf('message', PROMPT) as N8n.INodeParameters;
		const answer = await bench.host.runAsTool(`n8n-nodes-media-gateway.message`, parameters, {
			node,
		});
		const [{ error }] = JSON.parse(answer) as [{ error: string }];
		expect(error).toContain(FIRST_SENTENCE.maybe);
		// What a person may do would contradict it.
		expect(error).not.toMatch(/again|retry|details/i);
		expect(bench.gateway.count('message')).toBe(maxTries);
	});
});
