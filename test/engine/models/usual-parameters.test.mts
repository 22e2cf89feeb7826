/** Parameters of a model of which no list says what it takes: the usual ones, and Extra Fields. */
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { errorOf, openTap, partsOf } from '../one-node.mjs';
import { opened } from '../opened.mjs';
import { byName, MODEL, NODE, openBench, sendJson, serve, TINY_PNG } from '../workbench.mjs';

const PHOTO = {
	prompt: 'Make it night',
	images: `data:image/png;base64,${TINY_PNG.toString('base64')}`,
};
const form = (value: object, more: object = {}) => ({
	modelParameters: { mappingMode: 'defineBelow', value, ...more },
});

test('an expression may give another value than those of the list; what is empty is not sent', async () => {
	const own = await opened(openBench());
	const options = [{ name: '1K', value: '1K' }];
	const schema = ['size', 'quality'].map((id) => ({ id, type: 'options', options }));
	const value = { size: '={{ $json.size }}', quality: '={{ $json.quality }}', seed: 7 };
	const parameters = { ...form(value, { schema }), model: byName('unlisted'), prompt: 'a fox' };
	const items = [{ size: '640x480', quality: 'high' }, { quality: '' }];
	const result = await own.run(
		'imageGeneration',
		{ ...parameters, options: { dryRun: true } },
		items as IDataObject[],
	);
	const request = { model: 'unlisted', prompt: 'a fox', seed: 7 };
	expect(result.json(NODE).map(({ request }) => (request as IDataObject).body)).toEqual([
		{ ...request, size: '640x480', quality: 'high' },
		request,
	]);
});

test.each([
	["Unknown parameter: 'aspect_ratio'.", "^Change or remove 'aspect_ratio' in 'Model Parameters'"],
	['aspect_ratio and size exclude each other', "^Change or remove 'size' and 'aspect_ratio' in"],
	['sizes are too large', "^(?!.*'Model Parameters')"],
])('a gateway that refuses one with %j: the error names it', async (message, description) => {
	const refusing = await opened(
		serve((request, response) => {
			const isPaid = request.method === 'POST';
			sendJson(response, { error: isPaid ? { message } : {} }, isPaid ? 400 : 404);
		}),
	);
	const own = await opened(openBench({ credential: { baseUrl: refusing.url } }));
	const given = form({ size: 'auto', aspect_ratio: '1:1' });
	for (const [type, more] of [
		['imageGeneration', { prompt: 'a fox' }],
		['imageEdit', PHOTO],
	] as const) {
		const error = errorOf(await own.run(type, { ...given, ...more }));
		expect(error.message).toContain(message.replace(/\.$/, ''));
		expect(error.description).toMatch(new RegExp(description));
	}
});

test('what newer models take passes as Extra Fields, also beside a model that publishes others', async () => {
	const bench = await opened(openBench());
	const tap = await opened(openTap(bench.gateway.url));
	const own = await opened(openBench({ credential: { baseUrl: tap.url } }));
	const extraFields = { complexity: 'low', frame_count: 2, style: { mood: 'calm' } };
	for (const type of ['imageGeneration', 'imageEdit'] as const) {
		const options = { extraFields, checkLimits: false };
		const result = await own.run(type, { ...PHOTO, mode: 'sync', options });
		expect(result.error).toBeUndefined();
	}
	const [generation, edit] = tap.posts;
	expect(JSON.parse(String(generation!.body))).toMatchObject(extraFields);
	expect(Object.fromEntries(await partsOf(edit!))).toMatchObject({
		...{ complexity: 'low', frame_count: '2', style: '{"mood":"calm"}' },
	});
});

test('a name that the model does not publish: the nearest one, once for all items', async () => {
	const own = await opened(openBench());
	const options = { dryRun: true, extraFields: { sized: '1', seed: 1, watermark: true } };
	const result = await own.run('imageGeneration', { prompt: 'a fox', options }, [{}, {}]);
	const hints = result.hints(NODE).filter(({ type }) => type !== 'info');
	expect(hints.map(({ message }) => message)).toEqual([
		`'sized' is not a published parameter of the model '${MODEL}'. Did you mean 'size'?`,
	]);
});
