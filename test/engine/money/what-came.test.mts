/** What images cost follows from how many came, where the model is priced by the image. */
import '../fast-time.mjs';
import type { RunResult } from '../../../harness/engine/host.mjs';
import {
	byName,
	hostFor,
	NODE,
	reachedAgain,
	sendJson,
	serve,
	workflowOf,
	type NodeName,
	type OwnServer,
	type Settings,
} from '../workbench.mjs';

const MODELS = [
	{ model: 'by the image', billing: { unit: 'image', mode: 'price', value: 0.5 } },
	{ model: 'by the request', billing: { unit: 'request', mode: 'price', value: 0.9 } },
].map((model) => ({ ...model, media_type: 'image', modes: ['text_to_image'] }));

/** How many images come of a request, and when: at once, or of a task. */
let images = 1;
let isTask = false;
let posts = 0;
/** Whether the gateway has forgotten its tasks; addresses that it no longer serves. */
let isForgetful = false;
let expired: string[] = [];
let round = 1;
let server: OwnServer;

const body = () => ({
	id: 'task_1',
	status: 'completed',
	data: Array.from({ length: images }, (_, index) => ({
		url: `${server.url}/${round}/${index}.png`,
	})),
});

beforeAll(async () => {
	server = await serve(({ method, url = '' }, response) => {
		if (url.includes('/media/models')) return sendJson(response, { data: { items: MODELS } });
		if (method === 'POST') {
			posts += 1;
			const task = { id: 'task_1', status: 'queued' };
			return sendJson(response, isTask ? task : body());
		}
		if (url.endsWith('.png')) {
			const isGone = expired.some((start) => url.startsWith(start));
			return void response.writeHead(isGone ? 403 : 200, { 'content-type': 'image/png' }).end(PNG);
		}
		if (isForgetful) return sendJson(response, { error: { message: 'no such task' } }, 404);
		return sendJson(response, body());
	});
});
beforeEach(() => {
	posts = 0;
	isTask = false;
	isForgetful = false;
	expired = [];
	round = 1;
});
afterAll(async () => await server.close());

const PNG = Buffer.concat([
	Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
	Buffer.alloc(100),
]);

async function run(parameters: object, type: NodeName = 'imageGeneration', settings?: Settings) {
	const host = await hostFor({ baseUrl: server.url });
	return await host.run(
		workflowOf(type, { prompt: 'a fox', download: false, ...parameters }, settings),
	);
}

const costs = (result: RunResult) => result.json(NODE).map(({ estimatedCost }) => estimatedCost);
const told = (result: RunResult) =>
	result.hints(NODE).flatMap(({ type, message }) => (type === 'info' ? [message] : []));

test.each([
	['sync', 'by the image', 1, 4, [0.5, 0.5, 0.5, 0.5], '4 images; estimated cost 2.'],
	['wait', 'by the image', 4, 1, [0.5], '1 image; 1 task; estimated cost 0.5.'],
	['wait', 'by the image', 1, 2, [0.5, 0.5], '2 images; 1 task; estimated cost 1.'],
	['sync', 'by the request', 1, 3, [0.3, 0.3, 0.3], '3 images; estimated cost 0.9.'],
])('%s, %s: %i asked for, %i came', async (mode, model, n, came, wanted, hint) => {
	images = came;
	isTask = mode === 'wait';
	const result = await run({ model: byName(model), mode, options: { n } });
	expect([costs(result), told(result)]).toEqual([wanted, [hint]]);
});

test.each(['imageWait', 'imageTask'] as const)('a task that goes on to %s', async (type) => {
	isTask = true;
	const submitted = await run({ model: byName('by the image'), mode: 'submit', options: { n: 4 } });
	expect(submitted.json(NODE)).toMatchObject([{ estimatedCost: 2, pricePerImage: 0.5 }]);
	images = 3;
	const host = await hostFor({ baseUrl: server.url });
	const waited = await host.run(workflowOf(type, { download: false }), {
		input: submitted.output(NODE),
	});
	expect(costs(waited)).toEqual(type === 'imageWait' ? [0.5, 0.5, 0.5] : [1.5]);
	if (type === 'imageWait') expect(told(waited)).toEqual(['3 images; 1 task; estimated cost 1.5.']);
});

describe('a budget is charged for what came', () => {
	test.each([
		['more than was asked for', 1, 2, 1.5, 2],
		['fewer', 2, 1, 2, 3],
	])('%s', async (_, n, came, budget, sent) => {
		images = came;
		const options = { n, budget };
		const parameters = { model: byName('by the image'), prompt: 'a fox', download: false, options };
		const goOn = { onError: 'continueRegularOutput' } as const;
		const workflow = reachedAgain(workflowOf('imageGeneration', parameters, goOn), 3);
		const host = await hostFor({ baseUrl: server.url });
		await host.run(workflow, { input: [{ json: {} }] });
		expect(posts).toBe(sent);
	});
});

describe('a retry of an execution whose images are recorded', () => {
	/** The first try gets the addresses, and fails at the second item; the retry comes later. */
	const retried = async (settle: () => void) => {
		isTask = true;
		images = 2;
		const host = await hostFor({ baseUrl: server.url });
		const parameters = {
			model: byName('by the image'),
			prompt: 'a fox',
			mode: 'wait',
			options: { pollInterval: 1 },
		};
		expired = [`/${round}/`];
		const workflow = workflowOf('imageGeneration', parameters);
		const failed = await host.run(workflow, { input: [{ json: {} }] });
		expect(failed.error?.message).toMatch(/responded with 403/);
		settle();
		const result = await host.retry(failed);
		expect(posts).toBe(1);
		return result;
	};

	test('gets new addresses, and counts each image once', async () => {
		const result = await retried(() => void (round = 2));
		expect(result.output(NODE).map(({ json }) => json.url)).toEqual(
			[0, 1].map((index) => `${server.url}/2/${index}.png`),
		);
		expect(told(result)[0]).toBe('2 images; 1 task; 1 item paid for by an earlier try.');
	});

	test('takes the recorded ones where the gateway has forgotten the task', async () => {
		const result = await retried(() => {
			isForgetful = true;
			expired = [];
		});
		expect(result.output(NODE)).toHaveLength(2);
		expect(told(result)[0]).toBe('2 images; 1 task; 1 item paid for by an earlier try.');
	});

	test('takes the recorded ones where the gateway has kept only some of them', async () => {
		const result = await retried(() => {
			images = 1;
			expired = [];
		});
		expect(result.output(NODE).map(({ json }) => json.url)).toEqual(
			[0, 1].map((index) => `${server.url}/1/${index}.png`),
		);
	});

	test('counts no image twice where the new address fails as well', async () => {
		const result = await retried(() => {
			round = 2;
			expired = ['/1/', '/2/'];
		});
		expect(result.error?.message).toMatch(/responded with 403/);
		expect(result.error).toMatchObject({ description: expect.stringContaining('/2/0.png') });
	});
});
