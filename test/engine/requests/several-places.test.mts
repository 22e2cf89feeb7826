/**
 * Fields of a request that several parameters can set: what is checked, priced and told is what is
 * sent, or it is refused before anything is sent.
 */
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { sharedBench } from '../opened.mjs';
import { byName, MODEL, NODE, TINY_PNG, workflowOf } from '../workbench.mjs';

const bench = sharedBench();

/** Costs half as much again as `MODEL`, 0.06. */
const DEAR = 'aurora-edit-1';
const extra = (extraFields: object, more: object = {}) => ({ options: { extraFields, ...more } });
const form = (value: object) => ({ modelParameters: { mappingMode: 'defineBelow', value } });
const sent = () =>
	bench.gateway.requests
		.filter(({ method }) => method === 'POST')
		.map(({ body }) => body as IDataObject);

const generate = async (parameters: object) =>
	await bench.run('imageGeneration', {
		model: byName(MODEL),
		prompt: 'a fox',
		download: false,
		...parameters,
	});

describe('Extra Fields that set the model or the prompt', () => {
	test('are in the output item', async () => {
		const result = await generate(extra({ model: 'plain-image', prompt: 'an owl', seed: 7 }));
		expect(result.error).toBeUndefined();
		expect(sent()).toEqual([{ model: 'plain-image', prompt: 'an owl', seed: 7 }]);
		expect(result.json(NODE)).toMatchObject([{ model: 'plain-image', prompt: 'an owl' }]);
	});

	test('are checked against the limits', async () => {
		const result = await bench.run('imageEdit', {
			...edited(),
			...form({ size: '1x1' }),
			...extra({ model: MODEL }),
			model: byName(DEAR),
		});
		expect(result.error?.message).toContain(`Invalid parameters for model '${MODEL}'`);
		expect(sent()).toEqual([]);
	});

	test('are priced, and checked against the budget', async () => {
		const options = { checkLimits: false, budget: 0.05 };
		const parameters = { ...edited(), ...extra({ model: DEAR }, options) };
		const result = await bench.run('imageEdit', parameters);
		expect(result.error?.message).toContain('estimated cost of 0.06 exceeds the budget of 0.05');
		expect(sent()).toEqual([]);
		const within = { ...edited(), ...extra({ model: DEAR }, { ...options, budget: 0.2 }) };
		const paid = await bench.run('imageEdit', within);
		expect(paid.json(NODE)).toMatchObject([{ model: DEAR, estimatedCost: 0.06 }]);
	});

	test.each([
		[{ model: ' ' }, "'Model' is empty"],
		[{ model: null }, "'Model' is empty"],
		[{ prompt: ['a'] }, "'Prompt' must be text"],
	])('but not %j', async (fields, message) => {
		expect((await generate(extra(fields))).error?.message).toBe(message);
		expect(sent()).toEqual([]);
	});
});

describe('Model Parameters must not set', () => {
	test.each([
		['model', 'Model'],
		['prompt', 'Prompt'],
		['async', 'Mode'],
	])('%s', async (name, label) => {
		const inForm = await generate(form({ [name]: 'other' }));
		expect(inForm.error?.message).toBe(`'Model Parameters' must not set '${name}'`);
		expect(inForm.error?.description).toContain(`use the field '${label}'`);
		expect(sent()).toEqual([]);
	});
});

test('the response format of the form and that of the options must be the same', async () => {
	const given = (format: string) => ({
		...form({ response_format: format }),
		options: { responseFormat: 'url' },
	});
	const result = await generate(given('b64_json'));
	expect(result.error?.message).toMatch(/response format is set twice: to "url" .* "b64_json"/);
	expect(sent()).toEqual([]);
	expect((await generate(given('url'))).error).toBeUndefined();
});

const edited = () => ({
	model: byName(MODEL),
	prompt: 'Make it night',
	images: `data:image/png;base64,${TINY_PNG.toString('base64')}`,
	download: false,
});

describe('an edit has no two form fields of one name', () => {
	test.each(['image'])('no parameter may hold a text called %s', async (name) => {
		for (const more of [extra({ [name]: 'x' }), form({ [name]: 'x' })]) {
			const result = await bench.run('imageEdit', { ...edited(), ...more });
			expect(result.error).toMatchObject({
				message: `The image and another field of the request have the name '${name}'`,
				description: expect.stringContaining(
					"See 'Extra Fields' in the options, or 'Image Field Name'",
				),
			});
		}
		expect(sent()).toEqual([]);
	});

	test.each<[string, object]>([
		['model', {}],
		['mask', { options: { extraFields: { mask: 'none' } } }],
		['style', form({ style: 'ink' })],
	])('a file must not be called %s', async (field, more) => {
		const { options, ...others } = more as { options?: object };
		const extraFiles = { file: [{ field: ` ${field}`, binaryProperty: 'data' }] };
		const parameters = { ...edited(), ...others, options: { ...options, extraFiles } };
		const file = { data: TINY_PNG.toString('base64'), mimeType: 'image/png' };
		const input = [{ json: {}, binary: { data: file } }];
		const result = await bench.host.run(workflowOf('imageEdit', parameters), { input });
		expect(result.error).toMatchObject({
			message: `A file and another field of the request have the name '${field}'`,
			description: expect.stringContaining("See 'Extra Fields' and 'Additional Files'"),
		});
		expect(sent()).toEqual([]);
	});
});

describe('Extra Fields of a message', () => {
	const ask = async (extraFields: object, more: object = {}) =>
		await bench.run('message', {
			model: 'reason-large',
			prompt: 'What is 17 * 3?',
			...more,
			options: { extraFields },
		});
	const turns = [{ role: 'user', content: 'What is 2 * 3?' }];

	test('are the conversation that the output goes on with', async () => {
		const result = await ask({ messages: turns });
		expect(result.error).toBeUndefined();
		expect(sent()).toMatchObject([{ messages: turns }]);
		const [{ messages }] = result.json(NODE) as [{ messages: IDataObject[] }];
		expect(messages.slice(0, -1)).toEqual(turns);
		expect(messages.at(-1)).toMatchObject({ role: 'assistant' });
	});

	test.each([[[]], ['Hello']])('but not %j in place of one', async (messages) => {
		const result = await ask({ messages });
		expect(result.error?.message).toMatch(/^'messages in Extra Fields' is invalid/);
		expect(sent()).toEqual([]);
	});

	test('may set another model', async () => {
		const result = await ask({ model: ' reason-large ' }, { model: 'unknown' });
		expect(result.error).toBeUndefined();
		expect(sent()).toMatchObject([{ model: 'reason-large' }]);
	});
});
