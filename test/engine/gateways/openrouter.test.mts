/**
 * OpenRouter's Image API, which NanoGPT has as well: lists, prices and responses as their documentation
 * has them, and the embedded gateway as one of that kind.
 */
import { openPanel } from '../../../harness/engine/editor-calls.mjs';
import { startGateway } from '../../../simulator/gateway.mjs';
import { opened } from '../opened.mjs';
import { errorOf, filesNode, openTap, runChain, type Given } from '../one-node.mjs';
import { byName, deadAddress, hostFor, NODE, sendJson, serve, TINY_PNG } from '../workbench.mjs';

const SEEDREAM = 'bytedance-seed/seedream-4.5';
const ENDPOINTS = `/api/v1/images/models/${SEEDREAM}/endpoints`;

/** An entry of OpenRouter's list. */
const seedream = {
	id: SEEDREAM,
	name: 'Seedream 4.5',
	description: 'A text-to-image model.',
	created: 1692901234,
	architecture: { input_modalities: ['text', 'image'], output_modalities: ['image'] },
	supported_parameters: {
		resolution: { type: 'enum', values: ['1K', '2K', '4K'] },
		aspect_ratio: { type: 'enum', values: ['1:1', '16:9'] },
		n: { type: 'range', min: 1, max: 10 },
		input_references: { type: 'range', min: 0, max: 14 },
		output_compression: { type: 'range', min: 0, max: 100 },
		seed: { type: 'boolean' },
	},
	supports_streaming: false,
	endpoints: ENDPOINTS,
};

/** An entry of NanoGPT's. */
const gptImage = {
	id: 'gpt-image-2',
	name: 'GPT Image 2',
	description: 'Model description...',
	created: 1760000000,
	owned_by: 'openai',
	architecture: { input_modalities: ['text', 'image'], output_modalities: ['image'] },
	supported_parameters: {
		resolution: { type: 'enum', values: ['1024x1024', '1024x768'], default: '1024x1024' },
		n: { type: 'range', min: 1, max: 4, default: 1 },
	},
	supports_streaming: false,
	endpoints: '/api/v1/images/models/gpt-image-2/endpoints',
};

const textOnly = {
	id: 'text-only',
	architecture: { input_modalities: ['text'], output_modalities: ['image'] },
	supported_parameters: {
		output_format: { type: 'enum', values: ['png', 'webp'] },
		style: { type: 'enum', values: Array.from({ length: 200 }, (_, index) => `style ${index}`) },
		...{ strength: { type: 'range' }, steps: { type: 'range', min: 4 } },
		...{ mood: { type: 'palette', of: [1] }, odd: 7, none: null, empty: { type: 'enum' } },
	},
};

type Row = { billable: string; unit: string; cost_usd: unknown; variant?: string };
const image = (cost: unknown, variant?: string): Row => ({
	billable: 'output_image',
	unit: 'image',
	cost_usd: cost,
	variant,
});

const BILL = { prompt_tokens: 0, completion_tokens: 4175, total_tokens: 4175, cost: 0.04 };
const response = {
	created: 1748372400,
	data: [{ b64_json: TINY_PNG.toString('base64'), media_type: 'image/png' }],
	usage: BILL,
};

interface RouterOptions {
	models?: unknown;
	/** By endpoint, its prices; none: the address is missing. */
	pricing?: Row[][];
	answer?: { status: number; body: unknown };
}

interface Asked {
	path: string;
	key?: string;
	body: Record<string, unknown>;
}

/** A gateway of this kind. */
async function openRouter({ models, pricing, answer }: RouterOptions = {}) {
	const asked: Asked[] = [];
	const { url } = await opened(
		serve(({ url: path = '', headers }, reply, _url, sent) => {
			// An edit with the usual setting is a form.
			const text = sent.toString();
			const body = (text.startsWith('{') ? JSON.parse(text) : {}) as Asked['body'];
			asked.push({ path, key: headers.authorization, body });
			const [status, answered] = respond(path);
			sendJson(reply, answered, status);
		}),
	);
	function respond(path: string): [number, unknown] {
		if (path === '/api/v1/images') return [answer?.status ?? 200, answer?.body ?? response];
		if (path === '/api/v1/images/models' && models !== null) {
			return [200, models ?? { data: [seedream, gptImage, textOnly] }];
		}
		if (path === ENDPOINTS && pricing !== undefined) {
			const endpoints = pricing.map((rows, index) => ({
				...{ provider_name: `P${index}`, provider_slug: `p${index}`, provider_tag: null },
				...{ supported_parameters: seedream.supported_parameters, supports_streaming: false },
				...{ allowed_passthrough_parameters: [], pricing: rows },
			}));
			return [200, { id: SEEDREAM, endpoints }];
		}
		return [404, { error: { code: 404, message: 'Not Found' } }];
	}
	const credential = { baseUrl: `${url}/api/v1`, imageApi: 'openRouter', gatewaySettings: true };
	const host = await hostFor(credential, { extraNodeTypes: filesNode });
	const paid = () => asked.filter(({ path }) => path === '/api/v1/images');
	const run = async (type: string, parameters: object, items: Given[] = [{}]) =>
		await runChain(host, items, [
			{
				type,
				parameters: { model: byName(SEEDREAM), prompt: 'a red panda', mode: 'wait', ...parameters },
			},
		]);
	return { url, asked, paid, run, credential };
}

const form = (value: Record<string, unknown>) => ({
	modelParameters: { mappingMode: 'defineBelow', value, schema: [] },
});

describe('requests', () => {
	test('a generation is one synchronous request, and its image comes out with its bill', async () => {
		const router = await openRouter({ pricing: [[image(0.05)]] });
		const chosen = { resolution: '2K', aspect_ratio: '16:9', output_compression: 80, seed: 7 };
		const result = await router.run('imageGeneration', { ...form(chosen), options: { n: 2 } });
		expect(result.error).toBeUndefined();
		expect(router.paid().map(({ body }) => body)).toEqual([
			{ model: SEEDREAM, prompt: 'a red panda', n: 2, ...chosen },
		]);
		expect(router.paid()[0]!.key).toBe('Bearer sk-embedded-gateway-one');
		const [item] = result.output(NODE);
		expect(item!.json).toMatchObject({ cost: 0.04, estimatedCost: 0.05, created: 1748372400 });
		expect(item!.binary).toMatchObject({ data: { mimeType: 'image/png' } });
		// The list and the prices are public.
		const lists = router.asked.filter(({ path }) => path.includes('/models'));
		expect(lists.map(({ path, key }) => [path, key])).toEqual([
			['/api/v1/images/models', undefined],
			[ENDPOINTS, undefined],
		]);
	});

	test('an edit names its images as a list, addresses as they are and files as data: URLs', async () => {
		const router = await openRouter();
		const address = 'https://images.example.com/one.png';
		const files = { data: { bytes: TINY_PNG, fileName: 'a.png', mimeType: 'image/png' } };
		const items = [{ files }, { files }];
		const images = `={{ $itemIndex === 0 ? ["${address}", "data"] : "data" }}`;
		const result = await router.run('imageEdit', { images }, items);
		expect(result.error).toBeUndefined();
		const asUrl = (url: string) => ({ type: 'image_url', image_url: { url } });
		const data = asUrl(`data:image/png;base64,${TINY_PNG.toString('base64')}`);
		expect(router.paid().map(({ body }) => body.input_references)).toEqual(
			expect.arrayContaining([[asUrl(address), data], [data]]),
		);
		expect(Object.keys(router.paid()[0]!.body)).toEqual(['model', 'prompt', 'input_references']);
	});

	test.each([['of a listed model', SEEDREAM, 15, /15; allowed: at most 14/]])(
		'too many images %s are an error before anything is sent',
		async (_, model, count, says) => {
			const router = await openRouter();
			const images = Array.from({ length: count }, (__, index) => `https://a.example.com/${index}`);
			const parameters = { model: byName(model), images: `={{ ${JSON.stringify(images)} }}` };
			const error = errorOf(
				await router.run(
					'imageEdit',
					{
						...parameters,
						images: `={{ $itemIndex === 0 ? "${images[0]}" : ${JSON.stringify(images)} }}`,
					},
					[{}, {}],
				),
			);
			expect(error.message).toMatch(says);
			expect(error.context).toMatchObject({ itemIndex: 1 });
			expect(router.paid()).toEqual([]);
		},
	);

	test("'Submit Only' is refused: there are no tasks", async () => {
		const router = await openRouter();
		const error = errorOf(await router.run('imageGeneration', { mode: 'submit' }));
		expect(error.message).toMatch(/The mode is asynchronous; allowed: synchronous/);
		expect(router.paid()).toEqual([]);
	});

	test.each([
		['is away', { models: null }],
		['is an error', { models: { error: { message: 'down' } } }],
		['is huge', { models: { data: [seedream], filler: 'x'.repeat(1_200_000) } }],
	] as const)('a list that %s lets a request be sent', async (_, options) => {
		const router = await openRouter(options);
		const result = await router.run('imageGeneration', { options: { checkLimits: true } });
		expect(result.error).toBeUndefined();
		expect(router.paid()).toHaveLength(1);
	});

	test.each([
		[400, 'resolution and size conflict', /\(400\).*resolution and size conflict/, 'no'],
		[402, 'Insufficient credits', /Insufficient quota \(402\): Insufficient credits/, 'no'],
		[524, 'Edge network timeout', /outcome is unknown.* 524 /, 'maybe'],
		[529, 'Provider overloaded', /outcome is unknown.* 529 /, 'maybe'],
	])(
		'%d is told in the words of the gateway, and nothing is sent twice',
		async (status, message, says, charged) => {
			const body = { error: { code: status, message } };
			const router = await openRouter({ answer: { status, body } });
			const settings = { onError: 'continueRegularOutput' as const };
			const host = await hostFor(router.credential, { extraNodeTypes: filesNode });
			const parameters = {
				model: byName(SEEDREAM),
				...{ prompt: 'a', mode: 'wait' },
				...form({ resolution: '2K', size: '512x512' }),
			};
			const step = { type: 'imageGeneration', parameters, settings };
			const [item] = (await runChain(host, [{}], [step])).json(NODE);
			expect(item!.error).toMatch(says);
			expect(item!.error).toContain(message);
			expect(item!.details).toMatchObject({ charged });
			expect(router.paid()).toHaveLength(1);
		},
	);

	test('a first try with another setting names the setting', async () => {
		const router = await openRouter();
		const { baseUrl } = router.credential;
		const usual = await hostFor({ baseUrl }, { extraNodeTypes: filesNode });
		for (const type of ['imageGeneration', 'imageEdit']) {
			const images = 'data:image/png;base64,' + TINY_PNG.toString('base64');
			const parameters = { model: byName(SEEDREAM), prompt: 'a', mode: 'wait', images };
			const error = errorOf(await runChain(usual, [{}], [{ type, parameters }]));
			expect(error.message).toMatch(/\(404\)/);
			expect(error.description).toMatch(
				/another image API.* See .*'Image API' under 'Gateway Settings'/,
			);
		}
		expect(router.paid()).toEqual([]);
	});

	test('a gateway without it names the setting, too', async () => {
		const tap = await opened(openTap(undefined, () => 404));
		const credential = { baseUrl: tap.url, imageApi: 'openRouter' };
		const host = await hostFor(credential, { extraNodeTypes: filesNode });
		const parameters = { model: byName('m'), prompt: 'a', mode: 'sync' };
		const error = errorOf(await runChain(host, [{}], [{ type: 'imageGeneration', parameters }]));
		expect(error.description).toMatch(/another image API/);
	});
});

describe('what the list says', () => {
	const dry = { options: { dryRun: true } };

	test.each([
		[{ resolution: '8K' }, /resolution is "8K"; allowed: 1K, 2K, 4K/],
		[{ output_compression: 101 }, /output_compression is 101; allowed: from 0 up to 100/],
		[{ output_compression: 'most' }, /output_compression is "most"; allowed: from 0 up to 100/],
	])('%j is refused', async (chosen, says) => {
		const router = await openRouter();
		const error = errorOf(await router.run('imageGeneration', form(chosen)));
		expect(error.message).toMatch(says);
		expect(router.paid()).toEqual([]);
	});

	test.each([
		[{ output_format: 'svg' }, 'output_format is "svg"; allowed: png, webp'],
		[{ style: 'style 200' }, /^style is "style 200"; allowed: style 0, .{1,2000}$/],
		[{ steps: 3 }, 'steps is 3; allowed: from 4'],
		[{ strength: 'strong' }, 'strength is "strong"; allowed: any number'],
	])('%j too', async (chosen, says) => {
		const router = await openRouter();
		const parameters = { ...dry, model: byName('text-only'), ...form(chosen) };
		const [item] = (await router.run('imageGeneration', parameters)).json(NODE);
		const { violations } = item!.checks as { violations: string[] };
		expect(violations).toEqual([typeof says === 'string' ? says : expect.stringMatching(says)]);
	});

	test.each<[Record<string, unknown>]>([
		[{ mood: 'dark', odd: 1, none: 'x', empty: 'y' }],
		[{ steps: 4, strength: -2.5, constructor: 'z' }],
	])('%j may be sent', async (chosen) => {
		const router = await openRouter();
		const parameters = { ...dry, model: byName('text-only'), ...form(chosen) };
		const [item] = (await router.run('imageGeneration', parameters)).json(NODE);
		expect(item!.checks).toEqual({ passed: true, violations: [] });
	});

	test('a model that takes no images edits none', async () => {
		const router = await openRouter();
		const parameters = { model: byName('text-only'), images: 'https://a.example.com/1.png' };
		const error = errorOf(await router.run('imageEdit', parameters));
		expect(error.message).toMatch(/requested operation is image_edit; allowed: text_to_image/);
	});

	test('the Models node has rows of it, and of one model the price', async () => {
		const router = await openRouter({ pricing: [[image(0.05)]] });
		const rows = (await router.run('mediaModels', { returnAll: true })).json(NODE);
		expect(rows.map(({ model }) => model)).toEqual([SEEDREAM, 'gpt-image-2', 'text-only']);
		expect(rows[0]).toMatchObject({
			...{ price: null, maxInputImages: 14, answers: ['sync'], note: 'A text-to-image model.' },
			capabilities: ['text_to_image', 'image_edit'],
			parameters:
				'resolution: 1K | 2K | 4K; aspect_ratio: 1:1 | 16:9; n: 1–10; output_compression: 0–100; seed: ',
		});
		const get = { operation: 'get', model: SEEDREAM };
		const [one] = (await router.run('mediaModels', get)).json(NODE);
		expect(one).toMatchObject({ model: SEEDREAM, price: 0.05, priceUnit: 'image' });
		const raw = { ...get, simplify: false };
		expect((await router.run('mediaModels', raw)).json(NODE)).toEqual([seedream]);
		const text = { ...raw, options: { format: 'jsonc' } };
		const [commented] = (await router.run('mediaModels', text)).json(NODE);
		expect(JSON.parse(String(commented!.text))).toEqual(seedream);
		const none = errorOf(await router.run('mediaModels', { ...get, model: 'gpt-image-3' }));
		expect(none.message).toMatch(/no model 'gpt-image-3'/);
		expect(none.description).toMatch(/gpt-image-2/);
	});
});

describe('the price', () => {
	const byToken = { billable: 'output_image', unit: 'token', cost_usd: 0.00003 };
	const prompt = { billable: 'input_text', unit: 'token', cost_usd: 5e-7 };
	const input = { billable: 'input_image', unit: 'image', cost_usd: 0.003 };
	const estimate = async (
		pricing: Row[][] | undefined,
		type = 'imageGeneration',
		extraFields: object = {},
	) => {
		const router = await openRouter({ pricing });
		const images = 'https://a.example.com/1.png';
		const options = { dryRun: true, n: 2, extraFields: JSON.stringify(extraFields) };
		const [item] = (await router.run(type, { images, options })).json(NODE);
		return item!.estimatedCost;
	};

	test.each<[string, Row[][] | undefined, number | null]>([
		['of an image', [[image(0.05)]], 0.1],
		['is the highest of two endpoints', [[image(0.04)], [image(0.06)]], 0.12],
		['is the highest of the resolutions', [[image(0.03, '1k'), image(0.09, '4k')]], 0.18],
		['leaves out what the prompt costs in tokens', [[prompt, image(0.05)]], 0.1],
		['leaves out images that a generation has not', [[image(0.05), input]], 0.1],
		['is none by the token', [[byToken]], null],
		['is none where one endpoint has another unit', [[image(0.05)], [byToken]], null],
		['is none where a row has none', [[image(0.05), image(null)]], null],
		['is none without rows', [[]], null],
		['is none where one endpoint has none', [[image(0.05)], [prompt]], null],
		['is none where one is negative', [[image(-1)]], null],
		['is none where its address is away', undefined, null],
	])('%s', async (_, pricing, cost) => {
		expect(await estimate(pricing)).toBe(cost);
	});

	test('of an edit is unknown where each image to edit costs, too', async () => {
		expect(await estimate([[image(0.05)]], 'imageEdit')).toBe(0.1);
		expect(await estimate([[prompt, image(0.05)]], 'imageEdit')).toBe(0.1);
		expect(await estimate([[image(0.05), input]], 'imageEdit')).toBeNull();
		expect(await estimate([[image(0.05), { ...input, unit: 'token' }]], 'imageEdit')).toBeNull();
		expect(await estimate([[image(0.05), { ...input, cost_usd: 0 }]], 'imageEdit')).toBe(0.1);
	});

	test('of a generation is unknown where it sends images that cost', async () => {
		const reference = { type: 'image_url', image_url: { url: 'https://a.example.com/1.png' } };
		const withCosts = async (input_references: unknown) =>
			await estimate([[image(0.05), input]], undefined, { input_references });
		expect(await withCosts([reference])).toBeNull();
		expect([await withCosts([]), await withCosts(null)]).toEqual([0.1, 0.1]);
		expect(await estimate([[image(0.05)]], undefined, { input_references: [reference] })).toBe(0.1);
	});

	test('is asked once for all items, of the chosen model, and the budget holds', async () => {
		const router = await openRouter({ pricing: [[image(0.05)]] });
		const parameters = { options: { budget: 0.12 } };
		const error = errorOf(await router.run('imageGeneration', parameters, [{}, {}, {}]));
		expect(error.message).toMatch(/estimated cost of 0.15 exceeds the budget of 0.12/);
		expect(router.paid()).toEqual([]);
		expect(router.asked.map(({ path }) => path)).toEqual(['/api/v1/images/models', ENDPOINTS]);
		expect((await router.run('imageGeneration', parameters, [{}, {}])).error).toBeUndefined();
		expect(router.paid()).toHaveLength(2);
	});

	test.each([
		[[[byToken]], /^The model list has no fixed price/],
		// Its address is away.
		[
			undefined,
			/^Its price couldn't be read: Not found on the gateway \(404\): Not Found\. This req/,
		],
	])('that is unknown is an error with a budget, and says why: %j', async (pricing, says) => {
		const router = await openRouter({ pricing });
		const error = errorOf(await router.run('imageGeneration', { options: { budget: 1 } }));
		expect(error.message).toMatch(/the price of the model '.*' is unknown/);
		expect(error.description).toMatch(says);
		expect(router.paid()).toEqual([]);
	});

	test.each([
		[{ type: 'range', min: 1, max: 4, default: 4 }, {}, 0.2],
		[{ type: 'range', min: 1, max: 4, default: 4 }, { n: 2 }, 0.1],
		[{ type: 'enum', values: [1, 2], default: 2 }, {}, 0.1],
		[{ type: 'range', min: 1, max: 4, default: null }, {}, 0.05],
	])('is that of all images, also by default: %j, %j', async (n, chosen, cost) => {
		const model = { ...seedream, supported_parameters: { n } };
		const router = await openRouter({ models: { data: [model] }, pricing: [[image(0.05)]] });
		const options = { ...chosen, dryRun: true };
		const [item] = (await router.run('imageGeneration', { options })).json(NODE);
		expect(item!.estimatedCost).toBe(cost);
		expect(item!.request).toMatchObject({ body: chosen });
	});

	test('is known for each of many models', async () => {
		const data = Array.from({ length: 103 }, (_, index) => ({ ...seedream, id: `m${index}` }));
		const router = await openRouter({ models: { data }, pricing: [[image(0.05)]] });
		const parameters = { model: byName('={{ "m" + $itemIndex }}'), options: { dryRun: true } };
		const items = Array<Given>(data.length).fill({});
		const costs = (await router.run('imageGeneration', parameters, items)).json(NODE);
		expect(costs.filter(({ estimatedCost }) => estimatedCost !== 0.05)).toEqual([]);
	});

	test('at another host is not asked for', async () => {
		const other = await opened(openTap());
		const away = { ...seedream, endpoints: `${other.url}${ENDPOINTS}` };
		const router = await openRouter({ models: { data: [away] }, pricing: [[image(0.05)]] });
		const options = { dryRun: true };
		const [item] = (await router.run('imageGeneration', { options })).json(NODE);
		expect(item!.estimatedCost).toBeNull();
		expect(router.asked.map(({ path }) => path)).toEqual(['/api/v1/images/models']);
		expect(other.posts).toEqual([]);
	});
});

describe('the editor', () => {
	const panel = async (
		credential: Record<string, unknown>,
		parameters: Record<string, unknown> = {},
		type = 'imageGeneration',
	) =>
		await openPanel(`n8n-nodes-media-gateway.${type}`, parameters, {
			mediaGatewayApi: { apiKey: 'sk-1', ...credential },
		});

	test('lists the models, with the prices of a few, and for an edit those that take images', async () => {
		const router = await openRouter({ pricing: [[image(0.05)]] });
		const names = async (type: string, filter?: string) => {
			const { results } = await (await panel(router.credential, {}, type)).search(filter);
			return results.map(({ name }) => name);
		};
		expect(await names('imageEdit')).toEqual([
			`${SEEDREAM} (0.05 USD per image · also generates)`,
			'gpt-image-2 (also generates)',
		]);
		expect(await names('imageGeneration', 'seed')).toHaveLength(1);
		const many = Array.from({ length: 6 }, (_, index) => ({ ...seedream, id: `m${index}` }));
		const large = await openRouter({ models: { data: many }, pricing: [[image(0.05)]] });
		await (await panel(large.credential)).search();
		expect(large.asked.map(({ path }) => path)).toEqual(['/api/v1/images/models']);
	});

	test('offers the parameters: values to choose, numbers, and any text', async () => {
		const router = await openRouter();
		const typesOf = async (model: string) => {
			const { fields } = await (await panel(router.credential, { model: byName(model) })).form();
			return fields.map(({ id, type, options = [] }) => [id, type, options.length]);
		};
		expect(await typesOf(SEEDREAM)).toEqual([
			['resolution', 'options', 4],
			['aspect_ratio', 'options', 3],
			['output_compression', 'number', 0],
			['seed', 'number', 0],
		]);
		expect(await typesOf('text-only')).toEqual([
			['output_format', 'options', 3],
			['style', 'options', 201],
			['strength', 'number', 0],
			['steps', 'number', 0],
			['mood', 'string', 0],
			['odd', 'string', 0],
			['none', 'string', 0],
			['empty', 'string', 0],
		]);
	});

	test('says when the gateway is away', async () => {
		const credential = { baseUrl: await deadAddress(), imageApi: 'openRouter' };
		await expect((await panel(credential)).search()).rejects.toThrow();
	});
});

test('the embedded gateway speaks it as an option', async () => {
	const options = { imageApi: 'openRouter', imageSize: 32, bill: 0.04 } as const;
	const gateway = await opened(startGateway(options));
	const host = await hostFor(
		{ baseUrl: `${gateway.url}/v1`, imageApi: 'openRouter' },
		{ extraNodeTypes: filesNode },
	);
	const bytes = { data: { bytes: TINY_PNG, fileName: 'a.png', mimeType: 'image/png' } };
	const parameters = {
		...{ model: byName('aurora-image-1'), prompt: 'a fox', mode: 'wait', images: 'data, data' },
		...form({ aspect_ratio: '16:9', output_format: 'png' }),
	};
	for (const type of ['imageGeneration', 'imageEdit']) {
		const result = await runChain(host, [{ files: bytes }], [{ type, parameters }]);
		expect(result.error).toBeUndefined();
		expect(result.output(NODE)[0]).toMatchObject({
			json: { cost: 0.04, estimatedCost: 0.04 },
			binary: { data: { mimeType: 'image/png' } },
		});
	}
	expect(gateway.paid).toBe(2);
	const both = { ...parameters, ...form({ size: '512x512', aspect_ratio: '16:9' }) };
	const error = errorOf(
		await runChain(host, [{}], [{ type: 'imageGeneration', parameters: both }]),
	);
	expect(error.message).toMatch(/size conflicts with resolution or aspect_ratio/);
});
