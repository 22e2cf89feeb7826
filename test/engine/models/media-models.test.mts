import { defaultModels } from '../../../simulator/models/default-models.mjs';
import { startGateway, type Gateway } from '../../../simulator/gateway.mjs';
import type { Host } from '../../../harness/engine/host.mjs';
import { opened } from '../opened.mjs';
import { errorOf, filesNode, runChain } from '../one-node.mjs';
import { hostFor, NODE, serve, type Settings } from '../workbench.mjs';

let gateway: Gateway;
let host: Host;

const hostAt = async (baseUrl: string, credential: Record<string, unknown> = {}) =>
	await hostFor({ baseUrl, ...credential }, { extraNodeTypes: filesNode });

// The nodes' clock stands still: answers are kept for as long as a test says.
let now = 1_000_000;
const realSetTimeout = globalThis.setTimeout;

beforeAll(async () => {
	jest.spyOn(performance, 'now').mockImplementation(() => now);
	gateway = await startGateway();
	host = await hostAt(gateway.url);
});
beforeEach(() => {
	gateway.reset();
	// No test sees what another one has asked for.
	now += 100_000;
});
afterAll(async () => {
	jest.restoreAllMocks();
	await gateway.close();
});

type Parameters = Record<string, unknown>;

const list = async (parameters: Parameters = {}, settings: Settings = {}, count = 1, to = host) =>
	await runChain(
		to,
		Array.from({ length: count }, () => ({})),
		[{ type: 'mediaModels', parameters: { simplify: false, ...parameters }, settings }],
	);

const namesOf = async (parameters: Parameters) => {
	const result = await list(parameters);
	expect(result.error).toBeUndefined();
	return result.json(NODE).map(({ model }) => model);
};
const allNames = defaultModels.map(({ model }) => model);
/** Named by /v1/models alone. */
const otherNames = ['reason-large', 'reason-next', 'reason-small'];
const otherModels = otherNames.map((model) => ({ model }));

describe('get many', () => {
	test('gives the records as the gateway sent them', async () => {
		const result = await list({ returnAll: true });
		expect(result.json(NODE)).toEqual([...defaultModels, ...otherModels]);
		expect(result.output(NODE).map(({ pairedItem }) => pairedItem)).toEqual(
			[...allNames, ...otherNames].map(() => ({ item: 0 })),
		);
		const headers = { accept: 'application/json' };
		expect(gateway.requests).toMatchObject([
			{ method: 'GET', path: '/v1/media/models', query: {}, headers },
			{ method: 'GET', path: '/v1/models', query: {}, headers },
		]);
	});

	test.each([
		[{ limit: 2 }, allNames.slice(0, 2)],
		[{ limit: allNames.length + 1 }, [...allNames, 'reason-large']],
	])('%j', async (parameters, names) => {
		expect(await namesOf(parameters)).toEqual(names);
	});

	test('simplified, a model is a row: every row has the same columns', async () => {
		const rows = (await list({ simplify: undefined, returnAll: true })).json(NODE);
		const [first] = rows;
		expect(first).toEqual({
			model: 'aurora-image-1',
			mediaType: 'image',
			capabilities: ['text_to_image', 'image_edit'],
			answers: ['sync', 'async'],
			price: 0.04,
			ratio: null,
			priceUnit: 'image',
			parameters: expect.stringMatching(/^size: 512x512 \| 1024x1024.*; /),
			maxInputImages: expect.any(Number),
			maxInputMb: expect.any(Number),
			note: expect.any(String),
		});
		for (const row of rows) {
			expect(Object.keys(row)).toEqual(Object.keys(first!));
			const objects = Object.values(row).filter((value) => typeof value === 'object' && value);
			expect(objects.every(Array.isArray)).toBe(true);
		}
		expect(rows.map(({ model }) => model)).toEqual([...allNames, ...otherNames]);
		const { model, ...unknown } = rows.at(-1)!;
		expect([model, new Set(Object.values(unknown))]).toEqual(['reason-small', new Set([null])]);
		expect(rows.filter(({ ratio }) => ratio !== null).map(({ price }) => price)).toContain(null);
		const one = await list({ simplify: undefined, operation: 'get', model: 'aurora-image-1' });
		expect(one.json(NODE)).toEqual([first]);
	});
});

describe('get', () => {
	test('a name arrives whole', async () => {
		const model = 'atelier/Schöne Farben 2';
		const result = await list({ operation: 'get', model: `  ${model} ` });
		expect(result.json(NODE)).toEqual(defaultModels.filter((record) => record.model === model));
		const path = '/v1/media/models/atelier%2FSch%C3%B6ne%20Farben%202';
		expect(gateway.requests).toMatchObject([{ path, query: {} }]);
		for (const odd of ['100%/a?b#c&d=e', '../models']) {
			const record = { model: odd, media_type: 'image' };
			const own = await opened(startGateway({ models: [record] }));
			const get = { operation: 'get', model: odd };
			expect((await list(get, {}, 1, await hostAt(own.url))).json(NODE)).toEqual([record]);
		}
	});

	test('a message model has a name, and nothing else is known', async () => {
		const get = { operation: 'get', model: 'reason-large' };
		expect((await list(get)).json(NODE)).toEqual([{ model: 'reason-large' }]);
		expect((await list({ ...get, simplify: true })).json(NODE)).toMatchObject([
			{ model: 'reason-large', price: null, capabilities: null },
		]);
	});

	test('each item gets its own model', async () => {
		const model = `={{ ${JSON.stringify(allNames)}[$itemIndex] }}`;
		const result = await list({ operation: 'get', model }, {}, allNames.length);
		expect(result.json(NODE)).toEqual(defaultModels);
		expect(result.output(NODE).map(({ pairedItem }) => pairedItem)).toEqual(
			allNames.map((_, item) => ({ item })),
		);
	});

	test('of a model that is not published: its item fails, and the nearest name is told', async () => {
		const model = '={{ $itemIndex === 1 ? "plain-imagi" : "plain-image" }}';
		const go = { onError: 'continueRegularOutput' } as const;
		const result = await list({ operation: 'get', model }, go, 3);
		const record = { model: 'plain-image', media_type: 'image' };
		const description = expect.stringMatching(/its name misspelled\. Did you mean 'plain-image'\?/);
		expect(result.json(NODE)).toEqual([
			record,
			{
				error: "The gateway has no model 'plain-imagi' (404): model plain-imagi is not published",
				details: { charged: 'no', httpCode: 404, description },
			},
			record,
		]);
	});
});

describe('the key', () => {
	test.each([
		['a right one', 'sk-embedded-gateway-one', 'authorization'],
		['a wrong one', 'sk-of-someone-else', 'xApiKey'],
	])('%s in the credential: none arrives with the model list', async (_, apiKey, messageAuth) => {
		const to = await hostAt(gateway.url, { apiKey, messageAuth });
		for (const parameters of [{ returnAll: true }, { operation: 'get', model: 'plain-image' }]) {
			expect((await list(parameters, {}, 1, to)).error).toBeUndefined();
		}
		const listings = gateway.requests.filter(({ call }) => call === 'listing');
		expect(listings).toHaveLength(2);
		const allowed = ['accept', 'accept-encoding', 'connection', 'host', 'user-agent'];
		for (const { headers } of listings) {
			expect(Object.keys(headers).filter((name) => !allowed.includes(name))).toEqual([]);
			expect(JSON.stringify(headers)).not.toContain(apiKey);
		}
	});

	test('a key that names no models is told, and the model list is there all the same', async () => {
		const to = await hostAt(gateway.url, { apiKey: 'sk-of-someone-else' });
		const result = await list({ returnAll: true }, {}, 1, to);
		expect(result.json(NODE)).toEqual(defaultModels);
		expect(result.hints(NODE)).toMatchObject([
			{ message: expect.stringMatching(/^Message models may be missing: .*401/) },
		]);
	});

	test('a gateway without names is no reason for a hint', async () => {
		gateway.setFaults([{ call: 'names', kind: 'status', status: 404 }]);
		const result = await list({ returnAll: true });
		expect(result.json(NODE)).toEqual(defaultModels);
		expect(result.hints(NODE)).toEqual([]);
	});

	test('names are not requested where none would come out', async () => {
		await list({ limit: allNames.length });
		expect(gateway.count('names')).toBe(0);
	});

	test('the listing may live at another address', async () => {
		const home = await opened(serve((_, response) => response.writeHead(500).end()));
		const to = await hostAt(home.url, { mediaUrl: `${gateway.url}/v1/` });
		const result = await list({ returnAll: true }, {}, 1, to);
		expect(result.json(NODE)).toEqual(defaultModels);
		expect(home.requests.map(({ url }) => url)).toEqual(['/v1/models']);
		expect(JSON.stringify(gateway.requests)).not.toContain(gateway.keys[0]);
	});
});

test('the address of the listing may have a key of its own', async () => {
	const media = await opened(serve((_, response) => response.end('{"data":[]}')));
	const mediaUrl = `${media.url}?key=abcd1234efgh`;
	await list({ returnAll: true }, {}, 1, await hostAt(gateway.url, { mediaUrl }));
	expect(media.requests[0]?.url).toContain('key=abcd1234efgh');
});

describe('JSONC', () => {
	const jsonc = { options: { format: 'jsonc' } };

	test.each([
		['the list', { returnAll: true }, '/v1/media/models'],
		['one model', { operation: 'get', model: 'plain-image' }, '/v1/media/models/plain-image'],
	])('%s comes as the gateway wrote it', async (_, parameters, path) => {
		const asked = await fetch(`${gateway.url}${path}?format=jsonc`);
		const text = await asked.text();
		expect(text).toMatch(/\/\* .* \*\/.* \/\/ /s);
		gateway.reset();
		const result = await list({ ...parameters, ...jsonc });
		expect(result.json(NODE)).toEqual([{ format: 'jsonc', text }]);
		// Both ways at once, and one request: it is good although it is no JSON.
		expect(gateway.requests).toMatchObject([
			{ path, query: { format: 'jsonc' }, headers: { accept: 'application/jsonc' } },
		]);
	});

	test('and JSON are cached separately', async () => {
		const steps = [jsonc, {}].map((more) => ({
			type: 'mediaModels',
			parameters: { simplify: false, ...more },
		}));
		const result = await runChain(host, [{}], steps);
		expect(result.output(NODE)).toHaveLength(1);
		expect(result.output(`${NODE} 1`)).toHaveLength(allNames.length + otherNames.length);
		expect(gateway.count('listing')).toBe(2);
	});
});

test('the response is cached for a batch and for the nodes after it: one request', async () => {
	const step = { type: 'mediaModels', parameters: { limit: 1 } };
	const items = Array.from({ length: 20 }, () => ({}));
	const result = await runChain(host, items, [step, step]);
	expect(result.output(`${NODE} 1`)).toHaveLength(20);
	expect(gateway.count('any')).toBe(1);
});

describe('a listing that is down', () => {
	// Pauses between the attempts are short.
	beforeAll(() => {
		const fast = (run: () => void, ms = 0) => realSetTimeout(run, ms / 100);
		jest.spyOn(globalThis, 'setTimeout').mockImplementation(fast as typeof setTimeout);
	});
	afterAll(() => void jest.mocked(globalThis.setTimeout).mockRestore());

	test('JSONC: a sentence, after some attempts', async () => {
		gateway.setFaults([{ call: 'listing', kind: 'status', status: 502 }]);
		const { message } = errorOf(await list({ options: { format: 'jsonc' } }));
		expect(message).toMatch(/was unavailable \(502\).*tried 6 times/);
		expect(gateway.count('listing')).toBe(6);
	});

	test('a fault that passes is not noticed', async () => {
		gateway.setFaults([{ call: 'listing', kind: 'status', status: 503, times: 2 }]);
		const result = await list({ returnAll: true });
		expect(result.json(NODE)).toEqual([...defaultModels, ...otherModels]);
		expect(gateway.count('listing')).toBe(3);
	});
});
