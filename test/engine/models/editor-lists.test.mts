/** What the editor shows while a person chooses a model: the list, and the model's form. */
import { openPanel } from '../../../harness/engine/editor-calls.mjs';
import { startGateway, type Gateway } from '../../../simulator/gateway.mjs';
import { REQUEST_OPTIONS } from '../../../nodes/shared/fields/optionFields.js';
import { byName, deadAddress } from '../workbench.mjs';

const GENERATION = 'n8n-nodes-media-gateway.imageGeneration';
const EDIT = 'n8n-nodes-media-gateway.imageEdit';

const MODELS = [
	{
		model: 'both',
		media_type: 'image',
		modes: ['text_to_image', 'image_edit'],
		generation_modes: ['sync', 'async'],
		billing: { unit: 'image', mode: 'price', value: 0.04 },
		parameters: {
			...{ size: ['1K', '2K'], seed: [], n: [1, 2] },
			...{ async: [true, false], prompt: [], model: [], stream: [true] },
		},
	},
	{
		model: 'slow',
		media_type: 'image',
		modes: ['text_to_image'],
		generation_modes: ['async'],
		billing: { unit: 'request', mode: 'ratio', value: 1.5 },
	},
	{ model: 'quick', media_type: 'image', generation_modes: ['sync'] },
	{ model: 'odd', media_type: 'image', modes: ['text_to_image', 'toString'] },
	{ model: 'counted', media_type: 'image', parameters: { n: [1, 2] } },
	{ model: 'switches', media_type: 'image', parameters: { watermark: [true, false] } },
	{
		model: 'sizes',
		media_type: 'image',
		parameters: {
			size: ['1024x1024', '1024x1536', '1536×1024', '1365x768', '0x0', '16:9', 'ax1x1', 1024],
		},
	},
];

let gateway: Gateway;
beforeAll(async () => void (gateway = await startGateway({ models: MODELS as never })));
afterAll(async () => await gateway.close());

const panel = async (
	parameters: Record<string, unknown>,
	baseUrl = gateway.url,
	type = GENERATION,
) => await openPanel(type, parameters, { mediaGatewayApi: { baseUrl, apiKey: 'sk-1' } });

test('the list says what a model costs and does', async () => {
	const { results } = await (await panel({})).search();
	expect(results.map(({ name }) => name)).toEqual([
		'both (0.04 per image · also edits)',
		"slow (1.5 × the gateway's base price per request)",
		'quick',
		'odd (also tostring)',
		'counted',
		'switches',
		'sizes',
	]);
	expect(results.map(({ value }) => value)).toEqual(MODELS.map(({ model }) => model));
});

test('a price has the unit that the list names, or else the credential', async () => {
	const fields = { baseUrl: gateway.url, apiKey: 'sk-1', gatewaySettings: true, currency: 'USD' };
	const { search } = await openPanel(GENERATION, {}, { mediaGatewayApi: fields });
	const names = (await search()).results.map(({ name }) => name);
	expect(names).toContain('both (0.04 USD per image · also edits)');
	expect(names).toContain("slow (1.5 × the gateway's base price per request)");
});

describe('the form of a model', () => {
	const held = [
		{ id: 'size', displayName: 'size', required: false, display: true, type: 'options' },
		{ id: 'mood', displayName: 'mood', required: false, display: true, type: 'string' },
	];
	const withForm = (model: string, schema: unknown) => ({
		model: byName(model),
		modelParameters: { mappingMode: 'defineBelow', value: { size: '1K' }, schema },
	});

	test('has the parameters that the listing publishes, except the number of images', async () => {
		const { fields } = await (await panel({ model: byName('both') })).form();
		expect(fields.map(({ id, type }) => [id, type])).toEqual([
			['size', 'options'],
			['seed', 'string'],
		]);
	});

	test('offers true and false in a list that stays empty, as the editor sends an untouched switch', async () => {
		const { fields } = await (await panel({ model: byName('switches') })).form();
		const options = [
			{ name: 'Model Default', value: '', description: "Isn't sent" },
			{ name: 'true', value: true },
			{ name: 'false', value: false },
		];
		expect(fields).toMatchObject([{ id: 'watermark', type: 'options', options }]);
	});

	test('says the shape of a size in pixels; the value stays', async () => {
		const { fields } = await (await panel({ model: byName('sizes') })).form();
		const options = fields[0]!.options as Array<{ name: string; value: unknown }>;
		expect(options.map(({ name }) => name)).toEqual([
			'Model Default',
			'1024x1024 (1:1, square)',
			'1024x1536 (2:3, portrait)',
			'1536×1024 (3:2, landscape)',
			'1365x768 (landscape)',
			...['0x0', '16:9', 'ax1x1', '1024'],
		]);
		const published = MODELS.at(-1)!.parameters as { size: unknown[] };
		expect(options.map(({ value }) => value)).toEqual(['', ...published.size]);
	});

	test('of a listed model is the one of the listing, whatever the node holds', async () => {
		const { fields } = await (await panel(withForm('both', held))).form();
		expect(fields.map(({ id }) => id)).toEqual(['size', 'seed']);
	});

	const USUAL = [
		...['size', 'aspect_ratio', 'resolution', 'quality', 'output_format', 'background'],
		...['seed', 'negative_prompt'],
	];

	test.each([
		['is not listed', 'gone', true],
		['is listed without parameters', 'slow', true],
		['may be listed, but the list is away', 'both', false],
	])('of a model that %s has the usual parameters, each to be added', async (_, model, isThere) => {
		const url = isThere ? gateway.url : await deadAddress();
		const parameters = { model: byName(model) };
		for (const schema of [undefined, [null, 'size', { id: 7 }, []]]) {
			const { fields } = await (
				await panel({ ...parameters, ...withForm(model, schema) }, url)
			).form();
			expect(fields.map(({ id }) => id)).toEqual(USUAL);
			expect(fields.every(({ removed, required }) => removed === true && !required)).toBe(true);
		}
		const { fields } = await (await panel(parameters, url, EDIT)).form();
		expect(fields.map(({ id }) => id)).toEqual([...USUAL, 'strength', 'input_fidelity']);
		const types = { quality: 'options', seed: 'number', negative_prompt: 'string' };
		for (const [id, type] of Object.entries(types)) {
			expect(fields).toContainEqual(expect.objectContaining({ id, displayName: id, type }));
		}
		expect(fields[0]!.options!.slice(0, 3)).toEqual([
			{ name: 'Model Default', value: '', description: "Isn't sent" },
			{ name: 'auto', value: 'auto' },
			{ name: '1024x1024 (1:1, square)', value: '1024x1024' },
		]);
		// What an option sends, or the node itself, has no second field.
		const sent = REQUEST_OPTIONS.edit.map(({ sentAs }) => sentAs);
		expect(fields.filter(({ id }) => [...sent, 'model', 'prompt', 'stream'].includes(id))).toEqual(
			[],
		);

		// Opening a node changes nothing.
		const before = await (await panel(withForm(model, held), url)).form();
		expect(before.fields).toEqual(held);
		expect(before.fields[0]).not.toBe(held[0]);
	});

	test('of a model that publishes nothing but the number of images is empty and says so', async () => {
		const { fields, emptyFieldsNotice } = await (await panel({ model: byName('counted') })).form();
		expect(fields).toEqual([]);
		expect(emptyFieldsNotice).toContain("use 'Extra Fields'");
	});

	test('of a model of videos is empty and says so', async () => {
		const video = [{ model: 'film', media_type: 'video', parameters: { seconds: [5, 10] } }];
		const { url, close } = await startGateway({ models: video as never });
		const { fields, emptyFieldsNotice } = await (
			await panel({ model: byName('film') }, url)
		).form();
		await close();
		expect(fields).toEqual([]);
		expect(emptyFieldsNotice).toMatch(/generates videos/);
	});

	test('is empty without a model', async () => {
		expect((await (await panel({ model: byName('') })).form()).fields).toEqual([]);
	});
});
