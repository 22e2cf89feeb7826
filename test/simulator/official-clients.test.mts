import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { toFile } from 'openai';
import { startGateway, type Gateway } from '../../simulator/gateway.mjs';

// Clients that others wrote: what they understand is the protocol, and not our reading of it.

let gateway: Gateway;
let pictures: OpenAI;
let messages: Anthropic;

beforeAll(async () => {
	gateway = await startGateway({ taskSeconds: 0, imageSize: 64 });
	pictures = openai(gateway.keys[0]);
	messages = new Anthropic({ baseURL: gateway.url, apiKey: gateway.keys[0], maxRetries: 0 });
});
afterAll(() => gateway.close());

const openai = (apiKey: string | undefined) =>
	new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 });

const png = Buffer.from('89504e470d0a1a0a', 'hex');

async function download(url: string): Promise<Buffer> {
	return Buffer.from(await (await fetch(url)).arrayBuffer());
}

describe('the openai package', () => {
	test('generates pictures', async () => {
		const result = await pictures.images.generate({
			model: 'aurora-image-1',
			prompt: 'a lighthouse',
			n: 2,
			size: '512x512',
			response_format: 'url',
		});
		expect(result.data).toHaveLength(2);
		expect(result.created).toBeGreaterThan(1_700_000_000);
		const image = await download(result.data![0]!.url!);
		expect(image.subarray(0, 8)).toEqual(png);
		expect([image.readUInt32BE(16), image.readUInt32BE(20)]).toEqual([512, 512]);
	});

	test('edits one picture and several', async () => {
		const [drawn] = (await pictures.images.generate({ model: 'plain-image', prompt: 'a fox' }))
			.data!;
		const original = await download(drawn!.url!);
		const file = () => toFile(original, 'fox.png', { type: 'image/png' });
		for (const image of [await file(), [await file(), await file()]]) {
			const request = { model: 'aurora-image-1', prompt: 'night', image };
			const edited = await pictures.images.edit(request);
			const changed = await download(edited.data![0]!.url!);
			expect(changed.subarray(0, 8)).toEqual(png);
			expect(changed.equals(original)).toBe(false);
		}
		const sent = gateway.requests.filter(({ path }) => path === '/v1/images/edits');
		const fields = sent.map(({ body }) => (body as { files: { field: string }[] }).files[0]!.field);
		expect(fields).toEqual(['image', 'image[]']);
	});

	test('understands refusals', async () => {
		const wrong = pictures.images.generate({ model: 'no-such-model', prompt: 'a fox' });
		await expect(wrong).rejects.toMatchObject({
			status: 400,
			type: 'invalid_request_error',
			message: expect.stringContaining('unknown model: no-such-model'),
		});
		const refused = openai('sk-wrong').images.generate({ model: 'plain-image', prompt: 'a fox' });
		await expect(refused).rejects.toMatchObject({ status: 401 });
	});
});

describe('the @anthropic-ai/sdk package', () => {
	const thinking: Anthropic.ThinkingConfigParam = { type: 'adaptive', display: 'summarized' };

	test('sends a message', async () => {
		const reply = await messages.messages.create({
			model: 'reason-large',
			max_tokens: 500,
			messages: [{ role: 'user', content: 'What is 17 * 3?' }],
		});
		expect(reply.stop_reason).toBe('end_turn');
		expect(reply.content).toEqual([{ type: 'text', text: expect.stringContaining('17 * 3 = 51') }]);
	});

	test('streams the same answer', async () => {
		const request = {
			model: 'reason-next',
			max_tokens: 500,
			thinking,
			messages: [{ role: 'user' as const, content: 'Tell me of the “Färöer” ☃ 🦊.' }],
		};
		const whole = await messages.messages.create(request);
		const streamed = await messages.messages.stream(request).finalMessage();
		expect(streamed.content).toMatchObject(whole.content);
		expect(streamed.stop_reason).toBe(whole.stop_reason);
		expect(streamed.usage).toMatchObject(whole.usage);
	});

	test('draws with one tool and edits with the other', async () => {
		const tool = (name: string, description: string, ...required: string[]): Anthropic.Tool => {
			const properties = Object.fromEntries(required.map((one) => [one, { type: 'string' }]));
			return { name, description, input_schema: { type: 'object', properties, required } };
		};
		const tools = [
			tool('edit_image', 'Changes an image', 'prompt', 'imageUrl'),
			tool('image_maker', 'Generates an image', 'prompt'),
		];
		const history: Anthropic.MessageParam[] = [
			{ role: 'user', content: 'Draw a fox, then make it night.' },
		];
		const ask = async () => {
			const request = { model: 'reason-large', max_tokens: 900, thinking, tools };
			const reply = await messages.messages
				.stream({ ...request, messages: history })
				.finalMessage();
			history.push({ role: 'assistant', content: reply.content });
			return reply.content.at(-1)!;
		};
		const answer = (block: Anthropic.ContentBlock, content: string) => {
			const id = (block as Anthropic.ToolUseBlock).id;
			history.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] });
		};

		const generation = await ask();
		expect(generation).toMatchObject({ name: 'image_maker', input: { prompt: 'a fox' } });
		answer(generation, '{"url":"https://example.com/fox.png"}');
		const edit = await ask();
		const input = { prompt: 'make it night', imageUrl: 'https://example.com/fox.png' };
		expect(edit).toMatchObject({ name: 'edit_image', input });
		answer(edit, 'https://example.com/night.png');
		expect(await ask()).toMatchObject({ text: expect.stringContaining('example.com/night.png') });
	});
});
