import type { AsyncFlag } from '../../../gateway/protocol/credential.js';
import { requestIdentity } from '../../../gateway/protocol/requestIdentity.js';
import {
	asStream,
	planDownload,
	planImages,
	planTaskQuery,
	planUrl,
	type RequestPlan,
} from '../../../gateway/protocol/requestPlan.js';
import { readApiAddress } from '../../../gateway/protocol/url.js';
import type { GatewayError } from '../../../gateway/protocol/gatewayError.js';
import { planModel } from '../../../gateway/models/models.js';
import { digestOf } from '../../../util/digest.js';

const digestOfRequest = (plan: RequestPlan, account: string): string =>
	digestOf(requestIdentity(plan, account));

const request = { model: 'painter', prompt: 'a red boat' };

const file = {
	name: 'image',
	fileName: 'boat.png',
	mimeType: 'image/png',
	size: 3,
	digest: 'of three bytes',
	open: async function* () {
		yield new Uint8Array(3);
	},
};

test.each<[string, RequestPlan, string]>([
	['an image', planImages('generation', request), 'application/json'],
	['an edit', planImages('edit', { ...request, files: [file] }), 'application/json'],
	['a stream', asStream(planImages('generation', request)), 'text/event-stream, application/json'],
	['a task', planTaskQuery('edit', 't1'), 'application/json'],
	['a download', planDownload('https://a.example/1.png'), 'image/*,*/*;q=0.5'],
])('%s is asked for in the form in which it is read', (_, { headers }, accept) => {
	expect(headers.Accept).toBe(accept);
});

describe('a generation', () => {
	test.each(['form', 'json', 'images'] as const)('sends no files, with the API %s', (imageApi) => {
		const style = { imageApi, imageFieldName: 'image' };
		const plan = planImages('generation', { ...request, files: [file] }, undefined, style);
		expect(plan).toEqual(planImages('generation', request, undefined, style));
	});

	test('is synchronous unless asked otherwise', () => {
		expect(planImages('generation', request)).toEqual({
			call: 'sync',
			method: 'POST',
			path: '/v1/images/generations',
			query: {},
			headers: { Accept: 'application/json', 'Content-Type': 'application/json' },
			body: { model: 'painter', prompt: 'a red boat' },
			paid: true,
		});
	});

	test.each<[AsyncFlag, object]>([
		['query', { query: { async: 'true' }, body: request }],
		['header', { query: {}, headers: { 'X-Async': 'true' }, body: request }],
		['body', { query: {}, body: { ...request, async: true } }],
		['path', { query: {}, body: request, path: '/v1/images/generations/async' }],
	])('is asynchronous by %s, and by nothing else', (flag, expected) => {
		const plan = planImages('generation', request, flag);
		expect(plan).toMatchObject({ call: 'submit', paid: true, ...expected });
		const traces = [
			plan.query.async,
			plan.headers['X-Async'],
			(plan.body as { async?: boolean }).async,
			/async/.exec(plan.path)?.[0],
		];
		expect(traces.filter((trace) => trace !== undefined)).toHaveLength(1);
	});

	test('has the fields of the node above those of the model, and extra fields above both', () => {
		const { body } = planImages('generation', {
			...request,
			fields: { n: 2, response_format: 'url', background: undefined },
			modelParameters: { size: '1:1', quality: 'high', n: 9, prompt: 'another' },
			extraFields: { n: 3, seed: 7, quality: undefined },
		});
		expect(body).toEqual({ ...request, n: 3, response_format: 'url', size: '1:1', seed: 7 });
	});

	test('stays asynchronous whatever the extra fields say', () => {
		const { body } = planImages(
			'generation',
			{ ...request, extraFields: { async: false } },
			'body',
		);
		expect(body).toHaveProperty('async', true);
	});
});

describe('an edit', () => {
	test('is a form whose boundary is left to the transport', () => {
		const plan = planImages('edit', { ...request, fields: { n: 2 }, files: [file] }, 'body');
		expect(plan).toMatchObject({ call: 'submit', path: '/v1/images/edits', paid: true });
		expect(plan.headers).toEqual({ Accept: 'application/json' });
		expect(plan.body).toBeUndefined();
		expect(plan.form).toEqual({
			fields: [
				['model', 'painter'],
				['prompt', 'a red boat'],
				['n', '2'],
				['async', 'true'],
			],
			files: [file],
		});
	});

	test('asked for by a header has no async field', () => {
		const plan = planImages('edit', { ...request, files: [file] }, 'header');
		expect(plan.call).toBe('submit');
		expect(plan.form?.fields.map(([name]) => name)).toEqual(['model', 'prompt']);
	});
});

describe('a paid request is found again', () => {
	const generation = (extraFields: object) =>
		planImages('generation', { ...request, extraFields: { ...extraFields } });
	const edit = (extraFields: object, changes: Partial<typeof file> = {}) =>
		planImages('edit', {
			...request,
			extraFields: { ...extraFields },
			files: [{ ...file, ...changes }],
		});

	const ordered = { a: 1, b: [{ c: 2, d: 3 }] };
	test.each<[string, RequestPlan, RequestPlan, boolean]>([
		['the order of fields', generation(ordered), generation({ b: [{ d: 3, c: 2 }], a: 1 }), true],
		['the name of a file', edit({}), edit({}, { fileName: 'ship.png' }), true],
		['the contents of a file', edit({}), edit({}, { digest: 'of others' }), false],
		['the field of a file', edit({}), edit({}, { name: 'mask' }), false],
		['a field of a form', edit({ a: 1 }), edit({ a: 2 }), false],
		['the order of a list', generation({ a: [1, 2] }), generation({ a: [2, 1] }), false],
		[
			'the mode',
			planImages('generation', request),
			planImages('generation', request, 'query'),
			false,
		],
	])('with a change of %s', (_, one, other, isSame) => {
		const [found, like] = [one, other].map((plan) => digestOfRequest(plan, 'account'));
		expect(found === like).toBe(isSame);
	});

	test('by the same account only', () => {
		const [own, others] = ['a', 'b'].map((account) => digestOfRequest(edit({}), account));
		expect(own).not.toBe(others);
	});
});

describe('addresses', () => {
	test('IDs and names are encoded', () => {
		expect(planTaskQuery('edit', '../../a').path).toBe('/v1/images/edits/..%2F..%2Fa');
		expect(planModel('图 1').path).toBe('/v1/media/models/%E5%9B%BE%201');
	});

	test.each(['.', '..'])('the ID %j leads elsewhere, and is refused', (id) => {
		expect(() => planTaskQuery('edit', id)).toThrow(`The task ID "${id}" is not valid`);
		expect(() => planModel(id)).toThrow(`The model name "${id}" is not valid`);
	});

	test('an ID that leads elsewhere is named, and its submit was sent', () => {
		try {
			planTaskQuery('edit', '..');
			expect('planned').toBe('refused');
		} catch (error) {
			const { description, ...problem } = (error as GatewayError).problem;
			expect(problem).toMatchObject({ taskId: '..', taskType: 'edit' });
			expect(description).toMatch(/^The task can't be checked: /);
			expect(description).not.toMatch(/nothing was sent/i);
		}
	});

	test.each([
		['v2', 'v2/images/generations?async=true'],
		['api/v3/', 'api/v3/images/generations?async=true'],
		['v1beta/openai', 'v1beta/openai/images/generations?async=true'],
		['v2/openai/v1', 'v2/openai/v1/images/generations?async=true'],
		['v1/v1', 'v1/v1/images/generations?async=true'],
		['v2ray', 'v2ray/v1/images/generations?async=true'],
		['api/v3/images/edits', 'api/v3/images/generations?async=true'],
		['openai/v1/?api-version=1&async=1#x', 'openai/v1/images/generations?api-version=1&async=true'],
	])('of the gateway at /%s, the API is at /%s', (entered, path) => {
		const home = readApiAddress(`https://g.example/${entered}`)!;
		expect(planUrl(planImages('generation', request, 'query'), home)).toBe(
			`https://g.example/${path}`,
		);
	});

	test('the address of a task keeps its own query, beside that of the gateway', () => {
		const home = readApiAddress('https://g.example/v2?api-version=1&team=a%26b')!;
		const plan = { ...planTaskQuery('edit', 'id'), path: '/tasks/id?sig=a+b%2F&api-version=2' };
		expect(planUrl(plan, home)).toBe(
			'https://g.example/v2/tasks/id?team=a%26b&sig=a+b%2F&api-version=2',
		);
	});
});
