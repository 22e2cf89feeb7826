/** What is looked at before anything is paid for: limits, cost, budget, and the dry run. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { Fault, Gateway, GatewayOptions } from '../../../simulator/gateway.mjs';
import { startGateway } from '../../../simulator/gateway.mjs';
import type { Host, RunResult } from '../../../harness/engine/host.mjs';
import { errorOf, filesNode, openTap, partsOf, runChain, type Given } from '../one-node.mjs';
import { opened } from '../opened.mjs';
import { byName, hostFor, NODE, sendJson, serve, TINY_PNG, type Settings } from '../workbench.mjs';

const SLASH = 'Haus/Größe 1';
const MB = 1024 * 1024;
const COUNT = 'The number of images';

/** Each record is odd in its own way. */
const MODELS = [
	{
		model: SLASH,
		media_type: 'image',
		modes: ['text_to_image'],
		generation_modes: ['sync'],
		parameters: {
			size: ['512x512', '768x512'],
			steps: [10, 20, 30],
			scale: [0.5, 1],
			hires: [true, false],
			mixed: [1, 'auto', false],
			n: [1, 2, 3],
		},
		billing: { unit: 'image', mode: 'price', value: 0.03 },
	},
	{ model: 'bare', media_type: 'image' },
	{ model: 'later', media_type: 'image', generation_modes: ['async'] },
	{ model: 'film', media_type: 'video', modes: ['text_to_video'] },
	{ model: 'film that says it paints', media_type: 'video', modes: ['text_to_image'] },
	{
		model: 'strict',
		media_type: 'image',
		modes: ['image_edit'],
		inputs: {
			reference_images: {
				max_count: 2,
				max_size_mb: 1,
				formats: ['PNG'],
				source_types: ['base64'],
			},
		},
		billing: { unit: 'request', mode: 'price', value: 0.1 },
	},
	{
		model: 'flat',
		media_type: 'image',
		generation_modes: ['sync', 'async'],
		billing: { unit: 'request', mode: 'price', value: 0.1 },
	},
	{
		model: 'multiple',
		media_type: 'image',
		billing: { unit: 'image', mode: 'ratio', value: 1000 },
	},
];

let gateway: Gateway;
let host: Host;

const hostAt = async (baseUrl: string, more: Record<string, unknown> = {}) =>
	await hostFor({ baseUrl, ...more }, { extraNodeTypes: filesNode });

/** A gateway at an address of its own: nobody has its listing yet. */
async function another(options: GatewayOptions = {}): Promise<{ gateway: Gateway; host: Host }> {
	const own = await opened(
		startGateway({ taskSeconds: 0, imageSize: 32, models: MODELS, ...options }),
	);
	return { gateway: own, host: await hostAt(own.url) };
}

beforeAll(async () => {
	({ gateway, host } = await another());
});
beforeEach(() => gateway.reset());

type Parameters = Record<string, unknown>;

async function make(
	model: string,
	parameters: Parameters = {},
	items: Given[] = [{}],
	settings: Settings = {},
	to = host,
	type = 'imageGeneration',
): Promise<RunResult> {
	const all = { model: byName(model), prompt: 'a fox', download: false, ...parameters };
	return await runChain(to, items, [{ type, parameters: all, settings }]);
}

const edit = async (model: string, files: Given['files'], parameters: Parameters = {}) =>
	await make(model, parameters, [{ files }], {}, host, 'imageEdit');

/** What the form of a model holds. */
const form = (value: IDataObject) => ({ modelParameters: { mappingMode: 'defineBelow', value } });

const paidRequests = (of = gateway) => of.requests.filter(({ method }) => method === 'POST');
const bodies = (of = gateway) => paidRequests(of).map(({ body }) => body as IDataObject);
const hintsOf = (result: RunResult) =>
	result
		.hints(NODE)
		.filter(({ type }) => type !== 'info')
		.map(({ message }) => message);
const times = (count: number, json: (index: number) => IDataObject = () => ({})): Given[] =>
	Array.from({ length: count }, (_, index) => ({ json: json(index) }));

function expectRefused(result: RunResult, model: string, ...violations: string[]): void {
	const { message, description } = errorOf(result);
	expect(message).toBe(`Invalid parameters for model '${model}': ${violations.join('; ')}`);
	expect(description).toBe(
		"Nothing was sent. To send it anyway, turn off 'Check Limits Before Sending' in the options.",
	);
	expect([paidRequests(), gateway.paid]).toEqual([[], 0]);
}

const notOf = (mode: string) => `The requested operation is ${mode}; allowed: videos`;

test.each([
	['imageGeneration', 'text_to_image'],
	['imageEdit', 'image_edit'],
])('%s with a video model says so', async (type, mode) => {
	const model = 'film that says it paints';
	const files = { data: { bytes: TINY_PNG, mimeType: 'image/png' } };
	const result = await make(model, { mode: 'submit' }, [{ files }], {}, host, type);
	expectRefused(result, model, notOf(mode));
});

test('a video model is no other limit: a dry run goes on, and whoever turns checks off meets the budget', async () => {
	const [item] = (await make('={{ "fi" + "lm" }}', { options: { dryRun: true } })).json(NODE);
	expect(item!.verdict).toBe(`Would be refused: ${notOf('text_to_image')}`);
	const options = { checkLimits: false, budget: 5 };
	const { message } = errorOf(await make('film', { options }));
	expect(message).toBe("'Budget' is set, but the price of the model 'film' is unknown");
	expect([paidRequests(), gateway.paid]).toEqual([[], 0]);
});

describe('a limit of the model', () => {
	test('holds for the extra field that wins over the form', async () => {
		const parameters = { ...form({ steps: 10 }), options: { extraFields: { steps: 5 } } };
		expectRefused(await make(SLASH, parameters), SLASH, 'steps is 5; allowed: 10, 20, 30');
	});

	const wrong = { ...form({ steps: '15', size: 'big', n: 9 }), mode: 'submit' };

	test('all that is wrong with an item is said at once', async () => {
		expectRefused(
			await make(SLASH, wrong),
			SLASH,
			'The mode is asynchronous; allowed: synchronous',
			'steps is "15"; allowed: 10, 20, 30',
			'size is "big"; allowed: 512x512, 768x512',
			`${COUNT} is 9; allowed: 1, 2, 3`,
		);
	});

	test('is not looked at where nobody wants it checked', async () => {
		const result = await make(SLASH, { ...wrong, options: { checkLimits: false } });
		expect([paidRequests().length, gateway.count('listing')]).toEqual([1, 0]);
		// The embedded gateway has the same limits.
		expect(errorOf(result).message).toMatch(/\(400\)/);
	});

	test('what the model allows, and what it says nothing of, goes through', async () => {
		const fine: Array<[string, Parameters]> = [
			[SLASH, form({ size: '768x512', steps: 30, mixed: 'auto', unheard: 'of' })],
			['later', { mode: 'wait', options: { pollInterval: 1 } }],
			['bare', { ...form({ size: '1x1', steps: 'many' }), options: { n: 10 } }],
		];
		for (const [model, parameters] of fine) {
			const result = await make(model, parameters);
			expect([result.error, hintsOf(result)]).toEqual([undefined, []]);
		}
		expect(gateway.paid).toBe(3);
	});
});

describe('a limit for the images of an edit', () => {
	const png = { bytes: TINY_PNG, fileName: 'fox.png' };
	const jpeg = {
		bytes: Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(MB * 1.5)]),
		fileName: 'fox.jpg',
	};

	test('their size, and the format that another name hides, of the second of two', async () => {
		const files = { data: png, b: { ...jpeg, fileName: 'fox.png', mimeType: 'image/png' } };
		expectRefused(
			await edit('strict', files, { images: 'data,b' }),
			'strict',
			'The size of fox.jpg is 1.50 MB; allowed: at most 1 MB',
			'The format of fox.jpg is image/jpeg; allowed: PNG',
		);
	});

	test('their number, before any of them is downloaded', async () => {
		const photos = await opened(
			serve((_, response) =>
				response.writeHead(200, { 'content-type': 'image/png' }).end(TINY_PNG),
			),
		);
		const imageUrl = Array.from({ length: 60 }, (_, index) => `${photos.url}/${index}`).join('\n');
		const violation = 'The number of images to edit is 60; allowed: at most 2';
		expectRefused(await edit('strict', {}, { images: imageUrl }), 'strict', violation);
		expect(photos.requests).toEqual([]);
	});

	test('what goes with the image is none of them: a mask', async () => {
		const extraFiles = { file: [{ field: 'mask', binaryProperty: 'mask' }] };
		const files = { data: png, mask: jpeg };
		const result = await edit('strict', files, { options: { extraFiles } });
		expect([result.error, gateway.paid]).toEqual([undefined, 1]);
	});
});

describe('a batch of 5, of which 2 break a limit', () => {
	const items = [20, 11, 20, 12, 20].map((steps) => ({ json: { steps } }));
	const parameters = {
		prompt: '={{ "number " + $itemIndex + "." }}',
		...form({ steps: '={{ $json.steps }}' as never }),
	};
	const line = (value: number) =>
		`Invalid parameters for model '${SLASH}': steps is ${value}; allowed: 10, 20, 30`;

	test('no paid request, not with Retry On Fail either, and one error with two lines', async () => {
		const retry = { retryOnFail: true, maxTries: 3, waitBetweenTries: 1 };
		const { message, description, itemIndex } = errorOf(
			await make(SLASH, parameters, items, retry),
		);
		expect(message).toContain(line(11));
		expect(message).toMatch(/^2 items failed\. Item 2/);
		expect(description.split('\n')).toEqual([
			expect.stringMatching(/^Nothing was sent\. /),
			expect.stringMatching(/^Item 2/),
			expect.stringMatching(/^Item 4/),
		]);
		expect(itemIndex).toBe(1);
		expect([paidRequests(), gateway.paid]).toEqual([[], 0]);
	});

	test('going on after errors: 3 paid and 2 errors', async () => {
		const result = await make(SLASH, parameters, items, { onError: 'continueErrorOutput' });
		expect(result.output(NODE, 1)).toMatchObject([
			{ pairedItem: { item: 1 }, json: { error: line(11) } },
			{ pairedItem: { item: 3 }, json: { error: line(12) } },
		]);
		const paired = [0, 2, 4].map((item) => ({ pairedItem: { item } }));
		expect(result.output(NODE, 0)).toMatchObject(paired);
		expect([gateway.paid, paidRequests().length]).toEqual([3, 3]);
		expect(bodies().every((body) => body.steps === 20)).toBe(true);
	});
});

test('values go out with the types that the model publishes', async () => {
	const value = {
		...{ size: '512x512', steps: '={{ $json.steps }}', scale: '0.5', hires: 'false' },
		...{ mixed: '1', unheard: '8', empty: '', nothing: null },
	};
	const result = await make(SLASH, form(value), [{ json: { steps: '20' } }]);
	expect(result.error).toBeUndefined();
	const sent = { size: '512x512', steps: 20, scale: 0.5, hires: false, mixed: 1, unheard: '8' };
	expect(bodies()).toEqual([{ model: SLASH, prompt: 'a fox', ...sent }]);
	expect(result.json(NODE)).toMatchObject([{ model: SLASH }]);
});

describe('a run does not depend on the listing', () => {
	test.each<[string, Omit<Fault, 'call'>, RegExp]>([
		['down', { kind: 'status', status: 503 }, /was unavailable \(503\)/],
		['half', { kind: 'badJson' }, /a body that isn't JSON/],
	])('%s: all go through with one hint', async (_, fault, message) => {
		const own = await another({ faults: [{ call: 'listing', ...fault }] });
		const result = await make(SLASH, {}, times(3), {}, own.host);
		expect(result.error).toBeUndefined();
		expect(result.output(NODE)).toHaveLength(3);
		expect([own.gateway.paid, own.gateway.count('listing')]).toEqual([3, 1]);
		expect(hintsOf(result)).toEqual([expect.stringMatching(message)]);
		expect(hintsOf(result)[0]).toMatch(/^The requests weren't checked/);
	});

	test('with a budget nothing is sent, and the error says why', async () => {
		const own = await another({ faults: [{ call: 'listing', kind: 'status', status: 503 }] });
		const parameters = { options: { budget: 100 } };
		const error = errorOf(await make(SLASH, parameters, [{}], {}, own.host));
		expect(error.message).toBe(`'Budget' is set, but the price of the model '${SLASH}' is unknown`);
		expect(error.description).toMatch(/was unavailable \(503\)/);
		expect(error.description).toMatch(/remove 'Budget' from the options/);
		expect(paidRequests(own.gateway)).toEqual([]);
	});

	test.each([429, 503])('with a budget the list is read again after a %d', async (status) => {
		const fault = { call: 'listing', kind: 'status', status, times: 1 } as const;
		const own = await another({ faults: [fault] });
		const result = await make(SLASH, { options: { budget: 100 } }, [{}], {}, own.host);
		expect([result.error, own.gateway.paid, own.gateway.count('listing')]).toEqual([
			undefined,
			1,
			2,
		]);
	});

	const UNPUBLISHED = /^The gateway doesn't list the model 'Haus.*', so the request wasn't checked/;
	const NO_LISTING = /^The requests weren't checked .*JSON without any of the expected fields/;

	test.each<[string, object, RegExp]>([
		['no models', { success: true, data: { items: [], total: 0 } }, UNPUBLISHED],
		['another form of it', { data: [{ model: SLASH, parameters: { steps: [1] } }] }, NO_LISTING],
	])('%s: goes through with a hint', async (_, listing, hint) => {
		const image = { created: 1, data: [{ url: 'http://127.0.0.1:9/x.png' }] };
		const own = await opened(
			serve(({ method }, response) => sendJson(response, method === 'GET' ? listing : image)),
		);
		const to = await hostAt(own.url);
		const result = await make(SLASH, form({ steps: '15' }), times(2), {}, to);
		expect([result.error, result.output(NODE).length]).toEqual([undefined, 2]);
		expect(hintsOf(result)).toEqual([expect.stringMatching(hint)]);
	});

	test('a listing that is busy does not hold back what is paid for', async () => {
		const busy = await opened(
			serve((_, response) => {
				response.setHeader('retry-after', '299');
				sendJson(response, { error: { message: 'requests too frequent' } }, 429);
			}),
		);
		const to = await hostAt(gateway.url, { mediaUrl: busy.url });
		const timers = jest.spyOn(globalThis, 'setTimeout');
		try {
			await make('bare', {}, times(3), {}, to);
			expect(gateway.paid).toBe(3);
			// The pauses of the nodes take a hundredth of their time here.
			const pauses = timers.mock.calls.map(([, ms = 0]) => ms * 100);
			expect(pauses.filter((ms) => ms > 200_000 && ms < 300_000)).toEqual([]);
		} finally {
			timers.mockRestore();
		}
	});
});

test('the model list is requested for a budget alone', async () => {
	const own = await another();
	const options = { checkLimits: false, budget: 0.01 };
	const result = await make(SLASH, { options }, [{}], {}, own.host);
	expect(errorOf(result).message).toMatch(/exceeds the budget/);
	expect(own.gateway.requests.map(({ call }) => call)).toEqual(['listing']);
});

describe('the cost', () => {
	const costs = (result: RunResult) => result.json(NODE).map(({ estimatedCost }) => estimatedCost);

	test.each([
		['per image', SLASH, { options: { n: 3 } }, [0.03, 0.03, 0.03]],
		['per request, shared by its images', 'flat', { options: { n: 4 } }, Array(4).fill(0.025)],
		['a ratio is no price', 'multiple', { options: { n: 2 } }, [undefined, undefined]],
		['of a task', 'flat', { mode: 'submit', options: { n: 2 } }, [0.1]],
		['unchecked', SLASH, { options: { checkLimits: false } }, [undefined]],
	])('%s', async (_, model, parameters, wanted) => {
		const result = await make(model, parameters);
		expect(result.error).toBeUndefined();
		expect(costs(result)).toEqual(wanted);
	});

	test('what the images cost adds up to the price', async () => {
		const found = costs(await make('flat', { options: { n: 3 } }, times(10))) as number[];
		expect(found).toHaveLength(30);
		const sum = found.reduce((total, cost) => total + cost, 0);
		expect(Math.abs(sum - 1)).toBeLessThan(1e-9);
		expect(new Set(found)).toEqual(new Set([0.033333333333, 0.033333333334]));
	});

	test('a batch whose estimate exceeds the budget is not begun', async () => {
		// 20 × 2 × 0.03, without the dust of binary fractions.
		const parameters = { options: { n: 2, budget: 1.19 } };
		const { message, description } = errorOf(await make(SLASH, parameters, times(20)));
		expect(message).toBe('The estimated cost of 1.2 exceeds the budget of 1.19');
		expect(description).toMatch(/^Nothing was sent for these 20 requests\./);
		expect(paidRequests()).toEqual([]);
	});

	test('one that just fits is', async () => {
		const result = await make('flat', { options: { budget: 0.3 } }, times(3));
		expect([result.error, gateway.paid]).toEqual([undefined, 3]);
	});

	test('where the node goes on, each item says so', async () => {
		const go = { onError: 'continueErrorOutput' } as const;
		const result = await make(SLASH, { options: { budget: 0.05 } }, times(2), go);
		const error = 'The estimated cost of 0.06 exceeds the budget of 0.05';
		expect(result.json(NODE, 1)).toMatchObject([{ error }, { error }]);
		expect(paidRequests()).toEqual([]);
	});

	test('what the checks refuse is not counted', async () => {
		const go = { onError: 'continueErrorOutput' } as const;
		const parameters = { ...form({ steps: '={{ $json.steps }}' }), options: { budget: 0.03 } };
		const items = [{ json: { steps: 10 } }, { json: { steps: 11 } }];
		const result = await make(SLASH, parameters, items, go);
		expect([result.json(NODE, 0).length, result.json(NODE, 1).length]).toEqual([1, 1]);
		expect(gateway.paid).toBe(1);
	});

	test.each([
		['a multiplier', 'multiple', 'no fixed price'],
		['an unlisted model', 'nobody knows it', "doesn't list this model"],
	])('with a budget, %s is an error before anything is sent', async (_, model, why) => {
		const { message, description } = errorOf(await make(model, { options: { budget: 100 } }));
		expect(message).toBe(`'Budget' is set, but the price of the model '${model}' is unknown`);
		expect(description).toContain(why);
		expect(description).toContain("remove 'Budget' from the options");
		expect(paidRequests()).toEqual([]);
	});

	test('without a fixed price an item fails alone where the node goes on', async () => {
		const go = { onError: 'continueErrorOutput' } as const;
		const items = [{ json: { model: SLASH } }, { json: { model: 'bare' } }];
		const parameters = { model: byName('={{ $json.model }}'), options: { budget: 0.03 } };
		const result = await make(SLASH, parameters, items, go);
		expect([result.json(NODE, 0).length, result.json(NODE, 1).length]).toEqual([1, 1]);
		expect(result.json(NODE, 1)[0]?.error).toMatch(/price of the model 'bare' is unknown/);
		expect(gateway.paid).toBe(1);
	});
});

describe('the default mode', () => {
	const standard = { mode: undefined };
	const queries = () => paidRequests().map(({ query }) => query);

	test('asks a model without tasks synchronously, with one hint, beside a model with tasks', async () => {
		const items = [SLASH, 'flat', SLASH].map((model) => ({ json: { model } }));
		const result = await make('={{ $json.model }}', standard, items);
		expect(result.json(NODE)).toHaveLength(3);
		expect([gateway.count('sync'), gateway.count('submit'), gateway.paid]).toEqual([2, 1, 3]);
		expect(hintsOf(result)).toEqual([
			`The model '${SLASH}' has no tasks, so 'Submit and Wait' uses one synchronous request for each item.`,
		]);
	});

	test.each([
		['a budget that is too low', { budget: 0.05, n: 2 }, 0],
		['a suspension that is not needed', { surviveRestarts: true }, 1],
	])('of a model without tasks, with %s', async (_, options, requests) => {
		const result = await make(SLASH, { ...standard, options });
		expect(gateway.count('sync')).toBe(requests);
		if (requests === 1) expect(result.error).toBeUndefined();
		else expect(errorOf(result).message).toMatch(/exceeds the budget of 0.05/);
	});

	test('without a check of the limits, it asks for a task, and shows so in a dry run', async () => {
		const options = { checkLimits: false };
		const result = await make(SLASH, { ...standard, options });
		expect([queries(), gateway.paid]).toEqual([[{ async: 'true' }], 0]);
		expect(errorOf(result).message).toMatch(/\(400\)/);
		const shown = await make(SLASH, { ...standard, options: { ...options, dryRun: true } });
		expect(shown.json(NODE)).toMatchObject([
			{
				request: { url: expect.stringMatching(/\?async=true$/) },
				checks: { violations: ['The mode is asynchronous; allowed: synchronous'] },
			},
		]);
	});
});

describe('a dry run', () => {
	const dry = (options: object = {}) => ({ options: { dryRun: true, ...options } });

	test.each([
		['sync', 'sync', 'query', undefined],
		['by a header', 'wait', 'header', 'async'],
		['by the body', 'submit', 'body', 'async'],
	])('shows the request that then goes out: %s', async (_, mode, asyncFlag, asynchronous) => {
		const tap = await opened(openTap(gateway.url));
		const to = await hostAt(tap.url, { mediaUrl: gateway.url, asyncFlag });
		const model = asynchronous === undefined ? SLASH : 'bare';
		const extra = { n: 2, extraFields: { note: 'ä "quoted"' }, pollInterval: 1 };
		const parameters = { mode, ...form({ steps: '20', size: '512x512' }) };
		const shown = await make(model, { ...parameters, ...dry(extra) }, [{}], {}, to);
		expect([tap.posts, gateway.paid]).toEqual([[], 0]);
		expect(JSON.stringify(shown.data)).not.toContain('sk-embedded');

		await make(model, { ...parameters, options: extra }, [{}], {}, to);
		const [sent] = tap.posts;
		const [item] = shown.json(NODE);
		const { headers, ...request } = item!.request as { headers: Record<string, string> };
		expect(request).toEqual({
			method: 'POST',
			url: `${tap.url}${sent!.path}`,
			body: JSON.parse(sent!.body.toString()),
		});
		const { Authorization, ...others } = headers;
		expect(Authorization).toBe('Bearer ***');
		expect(sent!.headers.authorization).toMatch(/^Bearer sk-embedded/);
		for (const [name, value] of Object.entries(others)) {
			expect([name, sent!.headers[name.toLowerCase()]]).toEqual([name, value]);
		}
		expect('x-async' in sent!.headers).toBe('X-Async' in headers);
		expect(item).toMatchObject({ dryRun: true, checks: { passed: true, violations: [] } });
		expect(shown.output(NODE)[0]!.pairedItem).toEqual({ item: 0 });
	});

	test('of an edit: the fields and the files', async () => {
		const tap = await opened(openTap(gateway.url));
		const to = await hostAt(tap.url, { mediaUrl: gateway.url });
		const items = [{ files: { data: { bytes: TINY_PNG, fileName: 'fox.png' } } }];
		const shown = await make('strict', dry(), items, {}, to, 'imageEdit');
		expect(tap.posts).toEqual([]);
		await make('strict', {}, items, {}, to, 'imageEdit');
		const parts = await partsOf(tap.posts[0]!);
		const { form: sent } = shown.json(NODE)[0]!.request as { form: IDataObject };
		expect(sent).toEqual({
			fields: Object.fromEntries(parts.filter(([, value]) => typeof value === 'string')),
			files: [{ name: 'image', fileName: 'fox.png', mimeType: 'image/png', size: TINY_PNG.length }],
		});
		expect(shown.json(NODE)[0]).toMatchObject({ estimatedCost: 0.1 });
	});

	test('is held against a budget, but not stopped by it', async () => {
		const result = await make(SLASH, dry({ budget: 0.05 }), times(3));
		const violations = ['The estimated cost of 0.09 exceeds the budget of 0.05'];
		expect(result.json(NODE)).toMatchObject(
			Array(3).fill({ checks: { passed: false, violations }, estimatedCost: 0.03 }),
		);
		const message = 'Dry run: 3 requests; estimated cost 0.09; budget 0.05: would be refused.';
		expect(result.hints(NODE)).toMatchObject([{ message, type: 'info' }]);
		expect(gateway.paid).toBe(0);
	});

	test('a budget and no price', async () => {
		const result = await make('multiple', dry({ budget: 1 }));
		const violations = ["'Budget' is set, but the price of the model 'multiple' is unknown"];
		expect(result.json(NODE)).toMatchObject([{ checks: { passed: false, violations } }]);
		const said = 'Dry run: 1 request; 1 without a known price; budget 1: would be refused.';
		expect(result.hints(NODE).map(({ message }) => message)).toEqual([said]);
	});

	test('a mistake in the parameters is one here too', async () => {
		expect(errorOf(await make(SLASH, { prompt: ' ', ...dry() })).message).toBe("'Prompt' is empty");
	});
});
