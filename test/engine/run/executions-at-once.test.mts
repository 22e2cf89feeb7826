/** Executions side by side in one process: what they share must not let one pay for the other. */
import { createRequire } from 'node:module';
import type { ServerResponse } from 'node:http';
import { Container, core } from '../../../harness/engine/n8n.mjs';
import { filesNode, runChain } from '../one-node.mjs';
import {
	byName,
	hostFor,
	NODE,
	sendJson,
	serve,
	TINY_PNG,
	workflowOf,
	type OwnServer,
} from '../workbench.mjs';
import { until } from '../../until.mjs';

const servers: OwnServer[] = [];
afterEach(async () => void (await Promise.all(servers.splice(0).map((server) => server.close()))));

/** How long nodes sleep: what n8n's `sleep` is told, in milliseconds. */
const sleeps: number[] = [];
const fromN8n = createRequire(createRequire(import.meta.url).resolve('n8n-workflow'));
const sleepModule = fromN8n('@n8n/utils/sleep') as {
	sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
};
const realSleep = sleepModule.sleep;
beforeAll(() => {
	sleepModule.sleep = async (ms, signal) => {
		sleeps.push(ms);
		await realSleep(ms, signal);
	};
});
beforeEach(() => void sleeps.splice(0));
afterEach(() => jest.restoreAllMocks());
afterAll(() => void (sleepModule.sleep = realSleep));

/** The parameters of an image by a model. */
const imageBy = (model: string) => ({
	model: byName(model),
	prompt: 'a fox',
	download: false,
	options: { checkLimits: false },
});

const image = { created: 1, data: [{ url: 'http://127.0.0.1:9/x.png' }] };

test('a model list that comes late: a short time-out of one execution is none of another', async () => {
	const models = { success: true, data: { items: [{ model: 'm', media_type: 'image' }] } };
	const held: ServerResponse[] = [];
	const server = await serve(({ method }, response) => {
		if (method !== 'GET') sendJson(response, image);
		else if (held.length === 0) held.push(response);
		else sendJson(response, models);
	});
	servers.push(server);
	const host = await hostFor({ baseUrl: server.url });
	const parameters = { prompt: 'a fox', download: false, options: { timeout: 1 } };
	const generating = host.run(workflowOf('imageGeneration', { ...parameters, model: byName('m') }));
	await until(() => held.length > 0);
	const listed = await host.run(workflowOf('mediaModels', { returnAll: true }));
	expect([listed.error, listed.json(NODE).length]).toEqual([undefined, 1]);
	held.forEach((response) => sendJson(response, models));
	expect((await generating).json(NODE)).toHaveLength(1);
});

test('the Retry-After of the model list holds back no image of another execution', async () => {
	const server = await serve(({ method }, response) => {
		if (method !== 'GET') return sendJson(response, image);
		response.setHeader('retry-after', '250');
		sendJson(response, { error: { message: 'Slow down' } }, 429);
	});
	servers.push(server);
	const host = await hostFor({ baseUrl: server.url });
	const isPausing = (): boolean => sleeps.some((ms) => ms > 200_000);
	const stop = new AbortController();
	const listing = host.run(workflowOf('mediaModels', { returnAll: true }), { signal: stop.signal });
	await until(isPausing);
	stop.abort();
	await listing;
	sleeps.splice(0);
	const parameters = { prompt: 'a fox', download: false, options: { checkLimits: false } };
	const generating = host.start(workflowOf('imageGeneration', parameters));
	const isSent = (): boolean => server.requests.some(({ method }) => method === 'POST');
	await until(() => isSent() || isPausing());
	expect(isPausing()).toBe(false);
	expect((await generating.promise).json(NODE)).toHaveLength(1);
});

test.each([
	['messages', workflowOf('message', { model: byName('chat'), prompt: 'Hi' })],
	['images of another model', workflowOf('imageGeneration', imageBy('b'))],
])('the Retry-After of %s holds back no image', async (_name, workflow) => {
	const server = await serve((_request, response) => {
		if (server.requests.length > 1) return sendJson(response, image);
		response.setHeader('retry-after', '250');
		sendJson(response, { error: { message: 'Slow down' } }, 429);
	});
	servers.push(server);
	const host = await hostFor({ baseUrl: server.url });
	const isPausing = (): boolean => sleeps.some((ms) => ms > 200_000);
	const stop = new AbortController();
	const refused = host.run(workflow, { signal: stop.signal });
	await until(isPausing);
	sleeps.splice(0);
	const generating = host.start(workflowOf('imageGeneration', imageBy('a')));
	await until(() => server.requests.length > 1 || isPausing());
	expect(isPausing()).toBe(false);
	expect((await generating.promise).json(NODE)).toHaveLength(1);
	stop.abort();
	await refused;
});

test('source files that never arrive hold up their own execution only', async () => {
	const server = await serve((_, response) => sendJson(response, image));
	servers.push(server);
	const host = await hostFor({ baseUrl: server.url }, { extraNodeTypes: filesNode });
	const file = { bytes: TINY_PNG, mimeType: 'image/png' };
	const items = Array.from({ length: 9 }, () => ({ files: { data: file } }));
	const options = { checkLimits: false, concurrency: 7 };
	const edit = {
		type: 'imageEdit',
		parameters: { model: byName('m'), prompt: 'a fox', download: false, options },
	};
	const store = Container.get(core.BinaryDataService);
	const hang = async (): Promise<never> => await new Promise(() => undefined);
	const asked = jest.spyOn(store, 'getAsStream').mockImplementation(hang);
	const stop = new AbortController();
	const stuck = runChain(host, items, [edit], { signal: stop.signal });
	await until(() => asked.mock.calls.length === 7);
	asked.mockRestore();
	const other = await runChain(host, items.slice(1), [edit]);
	expect(other.json(NODE)).toHaveLength(8);
	stop.abort();
	expect((await stuck).status).toBe('canceled');
});

test('a Retry-After pauses all executions with the model, and a Stop of the one that met it ends no other', async () => {
	const server = await serve((_request, response) => {
		response.setHeader('retry-after', '250');
		sendJson(response, { error: { message: 'Slow down' } }, 429);
	});
	servers.push(server);
	const host = await hostFor({ baseUrl: server.url });
	const posts = (): number => server.requests.filter(({ method }) => method === 'POST').length;
	const isPausing = (): boolean => sleeps.some((ms) => ms > 200_000);
	const parameters = { prompt: 'a fox', download: false, options: { checkLimits: false } };
	const [first, second] = [new AbortController(), new AbortController()];
	const start = ({ signal }: AbortController) =>
		host.run(workflowOf('imageGeneration', parameters), { signal });
	const met = start(first);
	await until(isPausing);
	sleeps.splice(0);
	const other = start(second);
	first.abort();
	await met;
	// The other one now keeps the time by itself.
	await until(() => isPausing() || posts() > 1);
	expect(posts()).toBe(1);
	second.abort();
	await other;
});
