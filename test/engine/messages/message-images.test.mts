/** Prompts with images in the Message node, and the images in its conversation. */
import '../fast-time.mjs';
import { startGateway, type Gateway } from '../../../simulator/gateway.mjs';
import { opened } from '../opened.mjs';
import { errorOf, filesNode, openTap, runChain, type Given } from '../one-node.mjs';
import { hostFor, NODE, TINY_PNG } from '../workbench.mjs';

const JPEG = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(500, 'j')]);
const PNG = Buffer.concat([TINY_PNG, Buffer.alloc(500, 'p')]);
const TEXT = { bytes: Buffer.from('no picture'), fileName: 'fake.png', mimeType: 'image/png' };
const photos: Given = { files: { data: { bytes: PNG }, photo: { bytes: JPEG } } };

const basics = { model: 'reason-large', prompt: 'Describe this', maxTokens: 500 };
const user = (content: unknown) => ({ role: 'user', content });
const text = (words: string) => ({ type: 'text', text: words });
const block = (media_type: string, bytes: Buffer) => ({
	type: 'image',
	source: { type: 'base64', media_type, data: bytes.toString('base64') },
});
const png = block('image/png', PNG);
const jpeg = block('image/jpeg', JPEG);

let gateway: Gateway;
beforeAll(async () => void (gateway = await startGateway()));
beforeEach(() => gateway.reset());
afterAll(async () => await gateway.close());

type Mode = 'memory' | 'filesystem';
const hostWith = async (binaryMode: Mode = 'filesystem', baseUrl = gateway.url) =>
	await hostFor({ baseUrl }, { binaryMode, extraNodeTypes: filesNode });

async function ask(items: Given[], images: unknown, more: object = {}) {
	const parameters = { ...basics, input: 'image', images, ...more };
	return await runChain(await hostWith(), items, [{ type: 'message', parameters }]);
}

const sent = () => gateway.requests.map(({ body }) => (body as { messages: unknown }).messages);

test('an image in memory goes before the prompt', async () => {
	const large = Buffer.concat([PNG, Buffer.alloc(300_000, 'l')]);
	const tap = await opened(openTap(gateway.url));
	const result = await runChain(
		await hostWith('memory', tap.url),
		[{ files: { data: { bytes: large } } }],
		[{ type: 'message', parameters: { ...basics, input: 'image' } }],
	);
	const { messages } = JSON.parse(tap.posts[0]!.body.toString()) as { messages: unknown };
	expect(messages).toEqual([user([block('image/png', large), text('Describe this')])]);
	expect(result.json(NODE)[0]!.text).toContain('I see 1 picture(s): image/png');
});

const dataUrl = (bytes: Buffer) => `data:image/png;base64,${bytes.toString('base64')}`;
const at = (url: string) => ({ type: 'image', source: { type: 'url', url } });
const pdf = Buffer.from('%PDF-1.7 a document');
const PAGES = 'https://files.example/a.pdf?page=2';
const CDN = 'https://cdn.example/w_200,h_300/a.png';
const several: Given = {
	json: { url: 'https://a.example/b.png', list: [{ url: 'https://a.example/c.png' }] },
	files: { 'left, right': { bytes: PNG }, photo: { bytes: JPEG }, letter: { bytes: pdf } },
};

test.each<[string, unknown, unknown[]]>([
	['fields in their order', 'photo, left, right', [jpeg, png]],
	['a field whose name holds a comma', 'left, right', [png]],
	['a file by expression', '={{ $binary.photo }}', [jpeg]],
	['addresses and fields', ` ${CDN}, photo,${CDN}\nphoto, `, [at(CDN), jpeg, at(CDN), jpeg]],
	['data: addresses', `${dataUrl(PNG)},${dataUrl(JPEG)},photo`, [png, jpeg, jpeg]],
	['a list', '={{ [$json.url, "photo", ""] }}', [at('https://a.example/b.png'), jpeg]],
	['the images of an image node', '={{ $json.list }}', [at('https://a.example/c.png')]],
	['a document at an address', PAGES, [{ type: 'document', source: { type: 'url', url: PAGES } }]],
	['a document', 'letter', [{ ...block('application/pdf', pdf), type: 'document' }]],
])('%s: sent in order before the prompt', async (_, images, blocks) => {
	const result = await ask([several], images);
	expect(result.error).toBeUndefined();
	expect(sent()).toEqual([[user([...blocks, text('Describe this')])]]);
});

test('the prompt may be empty', async () => {
	expect((await ask([photos], 'data', { prompt: '={{ undefined }}' })).error).toBeUndefined();
	expect(sent()).toEqual([[user([png])]]);
});

test("the item's only image is used for a field that doesn't exist, with a hint", async () => {
	const result = await ask([{ files: { photo: { bytes: JPEG, mimeType: 'image/jpeg' } } }], 'data');
	expect(sent()).toEqual([[user([jpeg, text('Describe this')])]]);
	expect(result.hints(NODE)[0]!.message).toContain('only image was used: "photo"');
});

test('with another input, no image is read', async () => {
	await ask([{}], 'data', { input: 'prompt', prompt: 'Hello' });
	expect(sent()).toEqual([[user('Hello')]]);
});

const HEIC = { bytes: Buffer.from('\0\0\0\x18ftypheic\0\0\0\0', 'latin1'), fileName: 'IMG_1.HEIC' };

describe('a row without an image', () => {
	test.each(['""', '[]', 'null', 'undefined'])('is sent without one: %s', async (none) => {
		const result = await ask([photos, {}], `={{ $itemIndex === 0 ? "data" : ${none} }}`);
		expect(result.error).toBeUndefined();
		const bodies = sent().map((messages) => JSON.stringify(messages));
		expect(bodies).toHaveLength(2);
		expect(bodies).toContain(JSON.stringify([user('Describe this')]));
		expect(result.hints(NODE).map(({ message }) => message)).toContainEqual(
			expect.stringContaining('sent without an image'),
		);
	});

	test.each<[string, object]>([
		[' , ', {}],
		['={{ null }}', { prompt: '' }],
	])('is refused where "%s" is fixed, or nothing else is said', async (images, more) => {
		expect(errorOf(await ask([photos], images, more)).description).toContain('Nothing was sent.');
		expect(gateway.count('any')).toBe(0);
	});
});

test('a drawing is sent as its text, and a document may begin with a byte order mark', async () => {
	const svg = '<svg xmlns="http://www.w3.org/2000/svg"/>';
	const marked = Buffer.from('\xef\xbb\xbf\n%PDF-1.7', 'latin1');
	const files = {
		drawing: { bytes: Buffer.from(svg), mimeType: 'image/svg+xml' },
		letter: { bytes: marked, mimeType: 'application/octet-stream' },
	};
	// The embedded gateway looks at the first bytes of a document alone.
	await ask([{ files }], 'drawing, letter');
	const document = { ...block('application/pdf', marked), type: 'document' };
	expect(sent()).toEqual([[user([text(svg), document, text('Describe this')])]]);
});

const large = Buffer.concat([PNG, Buffer.alloc(20 * 1024 * 1024)]);
const messages = { options: { extraFields: { messages: [user('Hello')] } } };
test.each<[string, string | undefined, Given, object, RegExp]>([
	['blanks', ' , ', photos, {}, /^'Images' is empty\n/],
	['a text', 'data', { files: { data: TEXT } }, {}, /^The binary field "data" is not an image\nIt is "fake.png" and contains text. .*, or a PDF document. Nothing was sent. It was item 2 \("Describe this"\). n8n counts from 0: \[item 1\].$/], // prettier-ignore
	[
		'a missing field',
		'data',
		{},
		{},
		/^The item has no binary field 'data'\n.* Nothing was sent. It was item 2 \("Describe this"\). n8n counts from 0: \[item 1\].$/,
	],
	['more than 20 MB', 'data', { files: { data: { bytes: large } } }, {}, /^The images in 'Images' have 20.0 MB; allowed: at most 20 MB\n.*web addresses/], // prettier-ignore
	['HEIC', 'data', { files: { data: { ...HEIC, mimeType: 'image/jpeg' } } }, {}, /^The binary field "data" has the type image\/heic, .*\nIt is "IMG_1.heic"/], // prettier-ignore
	['an address of another kind', 'ftp://a/b.png', {}, {}, /name .*web address\nIt is ftp:/],
	['messages in Extra Fields', 'data', photos, messages, /must not set 'messages' beside 'Images'/],
])('%s in item 2 is refused, and nothing is sent', async (_, images, faulty, more, words) => {
	const field = `={{ $itemIndex === 0 ? "data" : ${JSON.stringify(images)} }}`;
	const first = { files: { data: { bytes: PNG } } };
	const { message, description, itemIndex } = errorOf(await ask([first, faulty], field, more));
	expect(`${message}\n${description}`).toMatch(words);
	if (more !== messages) expect(itemIndex).toBe(1);
	expect(gateway.count('any')).toBe(0);
});

describe('the conversation', () => {
	const reply = { role: 'assistant', content: expect.any(Array) };
	const named = '[Sent image, not kept here: image.png, image/png]';
	const converse = async (first: object, items: Given[] = [photos]) => {
		const steps = [
			{ type: 'message', parameters: { ...basics, input: 'image', ...first } },
			{ type: 'message', parameters: { ...basics, options: { history: '={{ $json.messages }}' } } },
		];
		return await runChain(await hostWith(), items, steps);
	};

	test('names an image in place of its bytes, and says so where it goes on', async () => {
		const result = await converse({});
		expect(result.error).toBeUndefined();
		const [{ messages }] = result.json(NODE) as [{ messages: unknown }];
		expect(messages).toEqual([user([text(named), text('Describe this')]), reply]);
		expect(sent()).toEqual([
			[user([png, text('Describe this')])],
			[user([text(named), text('Describe this')]), reply, user('Describe this')],
		]);
		const [hint] = result.hints(`${NODE} 1`).filter(({ type }) => type === 'warning');
		expect(hint!.message).toMatch(/images that were left out.*'Prompt with Images'/);
	});

	test.each<[string, object, Given, string]>([
		['an address', { images: CDN }, {}, `Sent image, not kept here: ${CDN}`],
		[
			'a document',
			{ images: 'letter' },
			{ files: { letter: { bytes: pdf, fileName: 'my letter.pdf' } } },
			'Sent document, not kept here: my letter.pdf, application/pdf',
		],
		[
			'an image in the result of a tool',
			{
				input: 'prompt',
				prompt: '',
				options: {
					history: [
						user('Look'),
						{
							role: 'assistant',
							content: [{ type: 'tool_use', id: 't1', name: 'look', input: {} }],
						},
						user([{ type: 'tool_result', tool_use_id: 't1', content: [png] }]),
					],
				},
			},
			{},
			'Sent image, not kept here: image/png',
		],
	])('names %s', async (_, parameters, item, name) => {
		const result = await ask([item], '', parameters);
		expect(result.error).toBeUndefined();
		const messages = JSON.stringify(result.json(NODE)[0]!.messages);
		expect(messages).toContain(`{"type":"text","text":"[${name}]"}`);
		expect(messages).not.toContain('base64');
	});
});
