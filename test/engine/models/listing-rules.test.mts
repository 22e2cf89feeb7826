/** What the process keeps of the listing, and for how long. */
import type { ServerResponse } from 'node:http';
import {
	byName,
	hostFor,
	NODE,
	sendJson,
	serve,
	workflowOf,
	type NodeName,
	type OwnServer,
} from '../workbench.mjs';

const servers: OwnServer[] = [];
let now = 1_000_000;
beforeAll(() => void jest.spyOn(performance, 'now').mockImplementation(() => now));
beforeEach(() => void (now += 1_000_000));
// An open server would keep a failed run from ending.
afterEach(async () => void (await Promise.all(servers.splice(0).map((server) => server.close()))));
afterAll(() => jest.restoreAllMocks());

const RECORD = {
	model: 'm',
	media_type: 'image',
	parameters: { size: ['1K', '2K'] },
	billing: { unit: 'image', mode: 'price', value: 2 },
};
const many = (records: unknown[] = [RECORD]) => ({ success: true, data: { items: records } });

/** A listing whose response a test may change; anything else is an image. */
async function open(
	respond: (response: ServerResponse, path: string) => void = (response, path) =>
		sendJson(response, path.endsWith('/m') ? { success: true, data: RECORD } : many()),
) {
	const image = { created: 1, data: [{ url: 'http://127.0.0.1:9/x.png' }] };
	const server = await serve(({ method, url }, response) =>
		method === 'GET' ? respond(response, url ?? '') : sendJson(response, image),
	);
	servers.push(server);
	const asked = () => server.requests.filter(({ url }) => url.startsWith('/v1/media/')).length;
	return { ...server, asked };
}

async function run(
	url: string,
	type: NodeName,
	parameters: Record<string, unknown> = {},
	credential: Record<string, unknown> = {},
	items = 1,
) {
	const host = await hostFor({ baseUrl: url, ...credential });
	const settings = { onError: 'continueErrorOutput' as const };
	const result = await host.run(workflowOf(type, parameters, settings), {
		input: Array.from({ length: items }, () => ({ json: {} })),
	});
	return { items: result.json(NODE, 0), failed: result.json(NODE, 1), result };
}

/** What a careless node does to its items. */
function spoil(value: unknown): void {
	if (typeof value !== 'object' || value === null) return;
	for (const [name, part] of Object.entries(value)) {
		spoil(part);
		if (typeof part !== 'object') (value as Record<string, unknown>)[name] = 0;
		else if (Array.isArray(part)) part.push('more');
	}
	Object.assign(value, { added: true });
}

test('what is done to an item of the Models node changes nothing for others', async () => {
	const server = await open();
	const list = async (items: number) =>
		await run(server.url, 'mediaModels', { simplify: false, returnAll: true }, {}, items);
	const [one, two] = (await list(2)).items;
	const before = server.asked();
	spoil(one);
	expect(two).toEqual(RECORD);
	spoil(two);
	expect((await list(1)).items).toEqual([RECORD]);
	// It was the cache that gave it.
	expect(server.asked()).toBe(before);

	const paint = async (size: string, budget: number) =>
		await run(server.url, 'imageGeneration', {
			model: byName('m'),
			prompt: 'x',
			download: false,
			options: { extraFields: { size }, budget },
		});
	expect((await paint('1K', 1)).failed[0]?.error ?? '').toMatch(/exceeds the budget|cost/);
	expect((await paint('more', 3)).failed[0]?.error).toMatch(/Invalid parameters/);
	expect((await paint('1K', 3)).items).toHaveLength(1);
});

test('a failure with status 200 is an error in every form, and is not kept', async () => {
	const server = await open((response) =>
		sendJson(response, { success: false, message: 'under repair', data: { items: [] } }),
	);
	const jsonc = { simplify: false, options: { format: 'jsonc' } };
	for (const parameters of [
		{ returnAll: true },
		{ returnAll: true },
		{ operation: 'get', model: 'm' },
		{ operation: 'get', model: 'm', ...jsonc },
		jsonc,
	]) {
		const before = server.asked();
		const { items, failed } = await run(server.url, 'mediaModels', parameters);
		expect(items).toEqual([]);
		expect(failed[0]?.error).toMatch(/reported an error: under repair/);
		expect(server.asked()).toBeGreaterThan(before);
	}
});

test.each<[Record<string, string>, number]>([
	[{}, 5],
	[{ 'cache-control': 'max-age=60', age: '45' }, 15],
])('the listing with %j is kept for %d s', async (headers, seconds) => {
	const server = await open((response) => {
		Object.entries(headers).forEach(([name, value]) => response.setHeader(name, value));
		sendJson(response, many());
	});
	for (const [later, asked] of [
		[0, 1],
		[seconds * 1000 - 1, 1],
		[1, 2],
	] as const) {
		now += later;
		await run(server.url, 'mediaModels', { returnAll: true });
		expect(server.asked()).toBe(asked);
	}
});

describe('a list in pages', () => {
	const records = (from: number, to: number) =>
		Array.from({ length: to - from }, (_, index) => ({ ...RECORD, model: `m${from + index}` }));
	const numberIn = (path: string) => Number(/[?&]page=(\d+)/.exec(path)?.[1] ?? 1);

	/** A media list of 25 models, ten a page, of which the gateway gives some pages. */
	const inPages = (most = 3) =>
		open((response, path) => {
			const [, model] = /\/models\/(\w+)/.exec(path) ?? [];
			if (model === 'm24') return sendJson(response, { success: true, data: { ...RECORD, model } });
			if (model !== undefined) return sendJson(response, { success: false, message: 'no' }, 404);
			const page = Math.min(numberIn(path), most);
			const items = records(10 * (page - 1), Math.min(25, 10 * page));
			return sendJson(response, { success: true, data: { items, total: 25 } });
		});

	test('Get Many returns all of them', async () => {
		const server = await inPages();
		const { items, result } = await run(server.url, 'mediaModels', { returnAll: true });
		expect(items.map(({ model }) => model)).toEqual(records(0, 25).map(({ model }) => model));
		expect(result.hints(NODE)).toEqual([]);
		expect(server.asked()).toBe(3);
	});

	test('that is cut: a hint says so, and Budget asks for the single model', async () => {
		const server = await inPages(2);
		const { items, result } = await run(server.url, 'mediaModels', { returnAll: true });
		expect(items).toHaveLength(20);
		expect(JSON.stringify(result.hints(NODE))).toMatch(/models are missing/);

		const paint = async (model: string) =>
			await run(server.url, 'imageGeneration', {
				model: byName(model),
				prompt: 'x',
				download: false,
				options: { budget: 3, extraFields: { size: '1K' } },
			});
		expect((await paint('m24')).items).toMatchObject([{ estimatedCost: 2 }]);
		expect((await paint('m23')).failed[0]?.error).toMatch(/price of the model 'm23' is unknown/);
		expect(server.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
	});

	test('that is cut is asked once for a model, whose items all get the answer', async () => {
		const server = await inPages(2);
		const parameters = {
			model: byName('m24'),
			prompt: 'x',
			download: false,
			options: { budget: 6, extraFields: { size: '1K' } },
		};
		const { items } = await run(server.url, 'imageGeneration', parameters, {}, 3);
		expect(items.map(({ estimatedCost }) => estimatedCost)).toEqual([2, 2, 2]);
		expect(server.requests.filter(({ url }) => url.endsWith('/m24'))).toHaveLength(1);
	});

	test('is read until Get Many has what it was asked for', async () => {
		const server = await inPages();
		const get = async (limit: number) => await run(server.url, 'mediaModels', { limit });
		const { items, result } = await get(3);
		expect(items.map(({ model }) => model)).toEqual(['m0', 'm1', 'm2']);
		expect([server.asked(), result.hints(NODE)]).toEqual([1, []]);
		await get(11);
		expect(server.asked()).toBe(2);
	});

	test('that names its own last page as the next ends', async () => {
		const server = await open((response, path) => {
			if (path.startsWith('/v1/media')) return sendJson(response, {}, 404);
			return sendJson(response, { data: [{ id: 'a' }], has_more: true, last_id: 'a' });
		});
		const { items } = await run(server.url, 'mediaModels', { returnAll: true });
		expect(items.map(({ model }) => model)).toEqual(['a']);
		expect(server.asked()).toBeLessThanOrEqual(4);
	});

	test('that never ends is read to a limit', async () => {
		const server = await open((response, path) => {
			if (path.startsWith('/v1/media')) return sendJson(response, {}, 404);
			const after = Number(new URL(path, 'http://a').searchParams.get('after') ?? 0);
			const last_id = String(after + 1);
			return sendJson(response, { data: [{ id: last_id }], has_more: true, last_id });
		});
		const { items, result } = await run(server.url, 'mediaModels', { returnAll: true });
		expect(items).toHaveLength(20);
		expect(JSON.stringify(result.hints(NODE))).toMatch(/models are missing/);
	});
});
