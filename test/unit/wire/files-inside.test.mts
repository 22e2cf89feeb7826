/** The body of a message or an edit: its plan has the digests of its files, and the bytes come as it is sent. */
import { planMessage } from '../../../gateway/messages/message.js';
import { bytesBlock } from '../../../gateway/messages/messageFiles.js';
import { jsonWithFiles } from '../../../gateway/wire/multipart.js';

let opened = 0;
beforeEach(() => void (opened = 0));

function fileOf(digest: string, bytes: Buffer) {
	const open = async function* () {
		opened += 1;
		for (const byte of bytes) yield Buffer.from([byte]);
	};
	return { name: '', fileName: '', mimeType: 'image/png', size: bytes.length, digest, open };
}

const fox = fileOf('f'.repeat(64), Buffer.from('a red fox'));
const owl = fileOf('0'.repeat(64), Buffer.from('an old owl'));
const files = [fox, owl, fox];
const text = `What is "${owl.digest}", {"data":"${fox.digest}"}?`;
const contentOf = (data: string[]) => [
	...data.map((bytes) => bytesBlock('image/png', bytes)),
	{ type: 'text', text },
];
const request = (data: string[]) => ({
	...{ model: 'm', max_tokens: 10, system: fox.digest },
	messages: [{ role: 'user', content: contentOf(data) }],
});

async function sent(extraFields?: object) {
	const plan = planMessage({ ...request(files.map(({ digest }) => digest)), extraFields } as never, files); // prettier-ignore
	expect([plan.inside, opened]).toEqual([files, 0]);
	const { body, close } = await jsonWithFiles(plan.body!, plan.inside!);
	const whole = await textOf(body);
	close();
	expect(body.size).toBe(Buffer.byteLength(whole));
	return JSON.parse(whole) as unknown;
}

async function textOf(body: Blob): Promise<string> {
	const chunks: Uint8Array[] = [];
	for await (const chunk of body.stream() as unknown as AsyncIterable<Uint8Array>) {
		chunks.push(chunk);
	}
	return Buffer.concat(chunks).toString();
}

test('has each file at its place, also one that comes twice, and texts as they are', async () => {
	const bytes = ['a red fox', 'an old owl', 'a red fox'].map((words) => btoa(words));
	expect(await sent()).toEqual(request(bytes));
	expect(opened).toBe(3);
});

test('the body may have another order than the files', async () => {
	const inputs = { image: fox, 1: owl, mask: fox };
	const urls = Object.entries(inputs).map(([name, { digest }]) => [name, `data:;base64,${digest}`]);
	const { body } = await jsonWithFiles(Object.fromEntries(urls), Object.values(inputs).reverse());
	const bytes = ['an old owl', 'a red fox', 'a red fox'].map(
		(words) => `data:;base64,${btoa(words)}`,
	);
	expect(Object.values(JSON.parse(await textOf(body)))).toEqual(bytes);
});

test('of which no JSON can be made opens no file', async () => {
	const round: Record<string, unknown> = {};
	round.self = round;
	const sending = jsonWithFiles(round, files);
	await expect(sending).rejects.toMatchObject({ name: 'InvalidBodyError' });
	expect(opened).toBe(0);
});

test('has no file where Extra Fields replace the messages', async () => {
	const messages = [{ role: 'user', content: 'Hi' }];
	expect(await sent({ messages })).toEqual({ ...request([]), messages });
});
