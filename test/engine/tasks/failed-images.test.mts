/** A failed item about one image of several leads to that image alone: the others came out beside it. */
import '../fast-time.mjs';
import { Container, core } from '../../../harness/engine/n8n.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { Host } from '../../../harness/engine/host.mjs';
import type { Fault } from '../../../simulator/gateway.mjs';
import { opened, sharedBench } from '../opened.mjs';
import {
	hostFor,
	NODE,
	sendJson,
	serve,
	TINY_PNG,
	workflowOf,
	type Bench,
	type Settings,
} from '../workbench.mjs';

const BASE64 = TINY_PNG.toString('base64');
const PRICE = 0.07;
const bench = sharedBench({ bill: PRICE });

const SHORT = { pollInterval: 1, maxWait: 3 };
const onError: Settings['onError'] = 'continueErrorOutput';
const gone = (times: number): Partial<Fault> => ({
	call: 'download',
	kind: 'status',
	status: 404,
	times,
});

/** Runs a node, and gives its finished and its failed items. */
async function run(
	type: 'imageGeneration' | 'imageWait' | 'imageTask',
	parameters: object,
	items: IDataObject[],
	faults: Array<Partial<Fault>> = [],
	{ gateway, run: runNode }: Pick<Bench, 'gateway' | 'run'> = bench,
) {
	gateway.setFaults(faults as Fault[]);
	const result = await runNode(type, { ...parameters }, items, { onError });
	expect(result.error).toBeUndefined();
	const [done = [], failed = []] = result.runData[NODE]![0]!.data!.main;
	return { done: done!.map(({ json }) => json), failed: failed!.map(({ json }) => json) };
}

const makes = (options: object = {}) => ({
	mode: 'wait',
	prompt: '={{ $json.prompt }}',
	options: { ...SHORT, n: 3, ...options },
});

const FOX = [{ prompt: 'a fox' }];
const indexes = (items: IDataObject[]) => items.map(({ index }) => index);
const sum = (items: IDataObject[]) => items.reduce((all, { cost }) => all + Number(cost), 0);

test.each<['imageWait' | 'imageGeneration', object]>([
	['imageWait', SHORT],
	['imageGeneration', makes()],
])(
	'all failed images of a task come out of %s, each once, and the bill once',
	async (type, own) => {
		const { failed } = await run('imageGeneration', makes(), FOX, [gone(3)]);
		expect(indexes(failed.map(({ details }) => details as IDataObject))).toEqual([0, 1, 2]);
		const { done } = await run(type, own, failed);
		expect(indexes(done)).toEqual([0, 1, 2]);
		expect(new Set(done.map(({ url }) => url)).size).toBe(3);
		expect(sum(done)).toBeCloseTo(3 * PRICE);
		expect(bench.gateway.paid).toBe(1);
	},
);

test('of an image that failed beside two others, Image Wait returns that one, with its share of the bill', async () => {
	const { done, failed } = await run('imageGeneration', makes(), FOX, [gone(1)]);
	expect([done.length, failed.length]).toEqual([2, 1]);
	const { index, url } = failed[0]!.details as IDataObject;
	const waited = await run('imageWait', SHORT, failed);
	expect(waited.done).toMatchObject([{ index, url, cost: PRICE }]);
	// It is in an item beside it.
	expect(waited.done[0]).not.toHaveProperty('usage');
	expect(indexes([...done, ...waited.done]).sort()).toEqual([0, 1, 2]);
});

test.each<[string, Array<Partial<Fault>>]>([
	['its task can not be asked for', [{ call: 'poll', kind: 'status', status: 404 }]],
	['its task is not finished', [{ call: 'poll', kind: 'status', status: 503 }]],
	['its image fails again', [gone(9)]],
])('it still leads to that image after an Image Wait in which %s', async (_, faults) => {
	const { failed } = await run('imageGeneration', makes(), FOX, [gone(3)]);
	const again = await run('imageWait', SHORT, failed.slice(1), faults);
	expect(indexes(again.failed.map(({ details }) => details as IDataObject))).toEqual([1, 2]);
	const { done } = await run('imageWait', SHORT, again.failed);
	expect(indexes(done)).toEqual([1, 2]);
});

test('an ID that was entered is about its whole task, and so is Image Task', async () => {
	const { failed } = await run('imageGeneration', makes(), FOX, [gone(3)]);
	const [other] = await bench.submit('an owl');
	const waited = await run('imageWait', { ...SHORT, taskId: other }, failed.slice(2));
	expect(waited.done).toMatchObject([{ taskId: other, index: 0 }]);
	const asked = await run('imageTask', {}, failed.slice(2));
	expect(asked.done).toMatchObject([{ images: [{}, {}, {}] }]);
});

test('where the task has no such image, all that it has comes out', async () => {
	const { failed } = await run('imageGeneration', makes(), FOX, [gone(1)]);
	const { details, ...item } = failed[0]!;
	const edited = { ...item, details: { ...(details as IDataObject), index: 7, url: undefined } };
	const { done } = await run('imageWait', SHORT, [edited]);
	expect(indexes(done)).toEqual([0, 1, 2]);
});

test('an open task that comes out of Still Open says nothing of the image', async () => {
	const { failed } = await run('imageGeneration', makes(), FOX, [gone(1)]);
	const options = { onTimeout: 'output' };
	const lost = { call: 'poll', kind: 'status', status: 503 } as const;
	bench.gateway.setFaults([lost]);
	const result = await bench.run('imageWait', { ...SHORT, options }, failed, { onError });
	const [, open] = result.runData[NODE]![0]!.data!.main;
	expect(open).toHaveLength(1);
	expect(open![0]!.json).toMatchObject({ taskId: (failed[0]!.details as IDataObject).taskId });
	expect(open![0]!.json).not.toHaveProperty('indexes');
});

test('the usage of a request comes out once, also where all of its images have failed', async () => {
	const { failed } = await run('imageGeneration', makes(), FOX, [gone(3)]);
	const { done } = await run('imageWait', SHORT, failed);
	expect(done.filter(({ usage }) => usage !== undefined)).toHaveLength(1);
});

test('one image that fails again in an item for all images of its request still leads to itself', async () => {
	const { failed } = await run('imageGeneration', makes(), FOX, [gone(3)]);
	const joined = { ...SHORT, options: { oneItemPerRequest: true } };
	const again = await run('imageWait', joined, failed.slice(1, 2), [gone(1)]);
	const { done } = await run('imageWait', SHORT, again.failed);
	expect(indexes(done)).toEqual([1]);
});

test('a request of unknown outcome stays one after an Image Wait that finds the failed task before it', async () => {
	const sending = { mode: 'submit', prompt: '={{ $json.prompt }}' };
	const [submitted] = (await run('imageGeneration', sending, [{ prompt: 'a fox [fail]' }])).done;
	const { failed } = await run('imageWait', SHORT, [submitted!]);
	const lost = { call: 'submit', kind: 'status', status: 500, charged: true } as const;
	// The error output adds the columns of the input: those of the task that has failed, as it was submitted.
	const unknown = (await run('imageGeneration', sending, failed, [lost])).failed;
	expect(unknown).toMatchObject([{ status: 'queued', details: { outcome: 'unknown' } }]);
	const waited = await run('imageWait', SHORT, unknown);
	expect(waited.failed).toMatchObject([{ details: { outcome: 'unknown' } }]);
	const { paid } = bench.gateway;
	const back = await run('imageGeneration', sending, waited.failed);
	expect(back.failed).toMatchObject([{ details: { outcome: 'unknown', charged: 'maybe' } }]);
	expect(bench.gateway.paid).toBe(paid);
});

const IMAGES = ['one', 'two', 'three'].map((name) => `https://images.test/${name}.png`);

describe('a gateway whose tasks say what a test has them say', () => {
	let data: object[] = [];
	let host: Host;
	let submitted = 0;
	beforeAll(async () => {
		const server = await opened(
			serve((request, response) => {
				const isPaid = request.method === 'POST';
				submitted += isPaid ? 1 : 0;
				const task = { id: 'task_1', status: isPaid ? 'queued' : 'completed' };
				sendJson(response, isPaid ? task : { ...task, data });
			}),
		);
		host = await hostFor({ baseUrl: server.url });
	});
	beforeEach(() => {
		submitted = 0;
		data = [{ b64_json: BASE64 }, { b64_json: BASE64 }, { b64_json: BASE64 }];
	});
	const onHost: Pick<Bench, 'gateway' | 'run'> = {
		get gateway() {
			return bench.gateway;
		},
		run: async (type, parameters = {}, items = [], settings = {}) =>
			await host.run(workflowOf(type, parameters, settings), {
				input: items.map((json) => ({ json })),
			}),
	};

	test.each<[string, unknown[], number[]]>([
		['forgets the first', [IMAGES[1], IMAGES[2]], [1]],
		['has another order', [IMAGES[2], IMAGES[0], IMAGES[1]], [1]],
		['signs each address anew', IMAGES.map((url) => `${url}?signed=2`), [1]],
		['has only another one', [IMAGES[2]], [0]],
	])('an image is known by its address, where the gateway %s', async (_, urls, wanted) => {
		const item = {
			error: 'x',
			details: { charged: 'yes', taskId: 'task_1', index: 1, url: IMAGES[1]! },
		};
		data = urls.map((url) => ({ url }));
		const own = { ...SHORT, download: false };
		const { done } = await run('imageWait', own, [item], [], onHost);
		expect(indexes(done)).toEqual(wanted);
		if (wanted[0] === 1) expect(done[0]!.url).toContain(IMAGES[1]);
	});

	test.each<['imageWait' | 'imageGeneration', object, object, unknown[]]>([
		['imageWait', SHORT, {}, [0, 1, 2]],
		['imageGeneration', makes({ checkLimits: false }), {}, [0, 1, 2]],
		['imageWait', SHORT, { oneItemPerRequest: true }, [0, 1, 2]],
	])(
		'images in the response, which n8n could not store, come out of %s, each once',
		async (type, own, options, wanted) => {
			const store = Container.get(core.BinaryDataService);
			const full = jest.spyOn(store, 'store').mockRejectedValue(new Error('ENOSPC: disk full'));
			const made = makes({ checkLimits: false, ...options });
			const { failed } = await run('imageGeneration', made, FOX, [], onHost);
			full.mockRestore();
			expect(failed).toHaveLength('oneItemPerRequest' in options ? 1 : 3);
			const { done } = await run(type, own, failed, [], onHost);
			expect([submitted, indexes(done)]).toEqual([1, wanted]);
		},
	);
});
