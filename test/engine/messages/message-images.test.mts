/** The option "Image Fields" of the Message node. */
import '../fast-time.mjs';
import { startGateway, type Gateway } from '../../../simulator/gateway.mjs';
import { errorOf, filesNode, openTap, runChain, type Given } from '../one-node.mjs';
import { hostFor, NODE, TINY_PNG, type Settings } from '../workbench.mjs';

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

async function ask(
	items: Given[],
	imageFields: unknown,
	more: object = {},
	settings: Settings = {},
) {
	const { options, ...parameters } = more as { options?: object };
	const all = { ...basics, ...parameters, options: { imageFields, ...options } };
	return await runChain(await hostWith(), items, [{ type: 'message', parameters: all, settings }]);
}

const sent = () => gateway.requests.map(({ body }) => (body as { messages: unknown }).messages);

test.each(['memory', 'filesystem'] as const)(
	'one image goes before the prompt, %s',
	async (mode) => {
		const large = Buffer.concat([PNG, Buffer.alloc(300_000, 'l')]);
		const parameters = { ...basics, options: { imageFields: 'data' } };
		const tap = await openTap(gateway.url);
		try {
			const items = [{ files: { data: { bytes: large } } }];
			const host = await hostWith(mode, tap.url);
			const result = await runChain(host, items, [{ type: 'message', parameters }]);
			const { messages } = JSON.parse(tap.posts[0]!.body.toString()) as { messages: unknown };
			expect(messages).toEqual([user([block('image/png', large), text('Describe this')])]);
			expect(result.json(NODE)[0]!.text).toContain('I see 1 picture(s).');
		} finally {
			await tap.close();
		}
	},
);

test('several go to the last message of the user', async () => {
	const message = [user('Hello'), { role: 'assistant', content: 'Yes?' }, user('Compare')];
	const assistant = { role: 'assistant', content: 'They' };
	const messages = { message: [...message, assistant] };
	await ask([photos], 'photo, data', { input: 'messages', messages });
	const compare = user([jpeg, png, text('Compare')]);
	expect(sent()).toEqual([[...message.slice(0, 2), compare, assistant]]);
});

test('where there is no message of the user, they are one', async () => {
	const message = [{ role: 'assistant', content: 'Show me' }];
	await ask([photos], 'data', { input: 'messages', messages: { message } });
	expect(sent()).toEqual([[...message, user([png])]]);
});

test.each(['', '  ', ',', '={{ "" }}', '={{ undefined }}', '={{ [] }}'])(
	'an option that names no field (%p) is refused: the message would be paid for without its image',
	async (fields) => {
		expect(errorOf(await ask([photos], fields)).message).toBe("'Image Fields' is empty");
		expect(sent()).toEqual([]);
	},
);

test('without the option, the message is a text', async () => {
	await ask([photos], undefined);
	expect(sent()).toEqual([[user('Describe this')]]);
});

test.each<[string, Given, object, RegExp]>([
	[
		'a text',
		{ files: { data: TEXT } },
		{},
		/^The binary field "data" is not an image\nIt is "fake.png" and contains text. .* Nothing was sent.$/,
	],
	['a missing field', {}, {}, /^The item has no binary field 'data'\n.* Nothing was sent.$/],
	[
		'more than 20 MB',
		{ files: { data: { bytes: Buffer.concat([PNG, Buffer.alloc(20 * 1024 * 1024)]) } } },
		{},
		/^The images in 'Image Fields' have 20.0 MB; allowed: at most 20 MB\n/,
	],
	[
		'JSON',
		photos,
		{ input: 'json', messagesJson: [user('Hello')] },
		/can't be added to messages that are given as JSON\nPut the image into the JSON/,
	],
	[
		'messages in Extra Fields',
		photos,
		{ options: { extraFields: { messages: [user('Hello')] } } },
		/given as JSON/,
	],
])('%s in item 2 is refused, and nothing is sent', async (_, faulty, more, words) => {
	const { message, description, itemIndex } = errorOf(await ask([photos, faulty], 'data', more));
	expect(`${message}\n${description}`).toMatch(words);
	if (faulty !== photos) expect(itemIndex).toBe(1);
	expect(gateway.count('any')).toBe(0);
});

test('a retry after a failure pays for each image once', async () => {
	gateway.setFaults([{ call: 'message', kind: 'status', status: 400, match: 'one', times: 1 }]);
	const items = ['one', 'two'].map((name) => ({ ...photos, json: { name } }));
	const retry = { retryOnFail: true, maxTries: 2, waitBetweenTries: 1 };
	const result = await ask(items, 'data', { prompt: '={{ $json.name }}' }, retry);
	expect(result.error).toBeUndefined();
	expect([gateway.count('message'), gateway.paid]).toEqual([3, 2]);
});

test('the image stays in the history of the next message', async () => {
	const history = '={{ $json.messages }}';
	const steps = [{ imageFields: 'data' }, { history }].map((options) => ({
		type: 'message',
		parameters: { ...basics, options },
	}));
	const result = await runChain(await hostWith(), [photos], steps);
	expect(result.error).toBeUndefined();
	const first = user([png, text('Describe this')]);
	const reply = { role: 'assistant', content: expect.any(Array) };
	expect(sent()[1]).toEqual([first, reply, user('Describe this')]);
});
