/** Responses of an images endpoint that come as events, or behind the comments of events. */
import { Readable } from 'node:stream';
import { readImageResponse } from '../../../gateway/wire/imageResponse.js';
import { readImages } from '../../../gateway/responses/responseFields.js';
import { readPaidResponse } from '../../../gateway/responses/paidResponse.js';
import type { JsonObject } from '../../../util/json.js';

const U = (name: string) => `https://a.example/${name}.png`;
const event = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

const read = async (text: string, isCut = false): Promise<JsonObject> => {
	const body = new Readable({ read: () => undefined });
	const reading = readImageResponse({ httpCode: 200, headers: {}, body });
	body.push(text);
	if (isCut) setImmediate(() => body.destroy());
	else body.push(null);
	return (await reading).json as JsonObject;
};
const urls = (json: JsonObject) => readImages(json).map(({ url }) => url);

test.each<[string, string[], string[]]>([
	[
		'in the order of their numbers',
		[event('image', { index: 1, url: U('b') }), event('image', { index: 0, url: U('a') })],
		['a', 'b'],
	],
	[
		'without numbers',
		[event('image', { url: U('a') }), event('done', { url: U('b') })],
		['a', 'b'],
	],
	[
		'without repeats',
		[event('image', { url: U('a') }), event('completed', { data: [{ url: U('a') }] })],
		['a'],
	],
	[
		'two with the same number',
		[event('image', { index: 0, url: U('a') }), event('image', { index: 0, url: U('b') })],
		['a', 'b'],
	],
	[
		'without previews',
		[
			...['progress', 'preview', 'image.in_progress'].map((name) => event(name, { url: U(name) })),
			event('image', { url: U('p'), status: 'processing' }),
			event('image', { url: U('a') }),
		],
		['a'],
	],
	['progress at its end', [event('progress', { progress: 100, url: U('a') })], ['a']],
])('all finished images of events count: %s', async (_, events, names) => {
	expect(urls(await read(events.join('')))).toEqual(names.map(U));
	expect(urls(await read(events.join(''), true))).toEqual(names.map(U));
});

test('usage and an error that come after an image go with it', async () => {
	const image = event('image_generation.completed', { url: U('a') });
	const usage = { total_tokens: 7 };
	const used = event('usage', { usage });
	const failed = event('error', { error: { message: 'the second was refused' } });
	for (const text of [image + used + failed, failed + image + used]) {
		const json = await read(text);
		expect(urls(json)).toEqual([U('a')]);
		expect(json).toMatchObject({ usage });
		const sent = { taskType: 'generation' as const, asynchronous: false, submittedAt: '' };
		expect(readPaidResponse({ json, headers: {} }, sent)).toMatchObject({
			usage,
			refusal: 'the second was refused',
		});
	}
	expect(await read(image)).not.toHaveProperty('usage');
});

test('what the last event says besides goes with the images of all', async () => {
	const usage = { total_tokens: 7 };
	const first = event('image', { index: 0, b64_json: 'AAAA', revised_prompt: 'a red fox' });
	const json = await read(first + event('image', { index: 1, url: U('b'), usage }));
	expect(json).toMatchObject({ usage });
	expect(readImages(json)).toMatchObject([{ revisedPrompt: 'a red fox' }, { url: U('b') }]);
});

test.each(['progress', 'preview', 'image.in_progress', 'image.partial'])(
	'a stream that breaks behind %s has no image; one that ends names it',
	async (name) => {
		const preview = event(name, { url: U('p') });
		await expect(read(preview, true)).rejects.toThrow();
		const json = await read(preview);
		const sent = { taskType: 'edit', asynchronous: false, submittedAt: '' } as const;
		expect(readPaidResponse({ json, headers: {} }, sent)).toBeUndefined();
		expect(JSON.stringify(json)).toContain(U('p'));
		const failed = await read(preview + event('error', { message: 'no more foxes' }));
		expect(failed).toMatchObject({ error: { message: 'no more foxes' } });
	},
);

test.each([': PING\n\n: PING\n', ':\n', '\n: PING\r\n\r\n'])(
	'JSON behind the comments %j is read',
	async (comments) => {
		const json = await read(`${comments}{"data":[{"url":"${U('a')}"}]}`);
		expect(urls(json)).toEqual([U('a')]);
	},
);

test('what looks like a comment inside JSON stays', async () => {
	const revised_prompt = 'Hello\u2028:smile: you';
	const json = await read(
		`: PING\n\n${JSON.stringify({ data: [{ url: U('a'), revised_prompt }] })}`,
	);
	expect(json).toMatchObject({ data: [{ url: U('a'), revised_prompt }] });
});
