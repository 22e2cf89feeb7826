/**
 * Both image nodes and Message through gateways that were written elsewhere, whose upstream is the
 * embedded gateway. They need headers of their own and have no tasks; one breaks the responses to edits.
 */
import '../fast-time.mjs';
import { createHash, randomBytes } from 'node:crypto';
import type { Host, RunResult } from '../../../harness/engine/host.mjs';
import { startGateway, type Gateway, type ReceivedFile } from '../../../simulator/gateway.mjs';
import { errorOf, filesNode, runChain, type Given } from '../one-node.mjs';
import { opened } from '../opened.mjs';
import { byName, hostFor, MODEL, NODE, TINY_PNG } from '../workbench.mjs';
import { startForeignGateway, type GatewayName } from './foreign-gateway.mjs';

const NAMES: GatewayName[] = ['portkey', 'llmops'];

/** A picture of some size, and another that may stand for the mask. */
const PICTURES = {
	data: { bytes: Buffer.concat([TINY_PNG, randomBytes(300_000)]), fileName: 'photo.png' },
	other: { bytes: TINY_PNG, fileName: 'other.png' },
} satisfies Given['files'];

/** n8n with a credential for each gateway: for images, for messages, and without the headers. */
type Hosts = Record<'images' | 'messages' | 'bare', Host>;

let upstream: Gateway;
const hosts = new Map<GatewayName, Hosts>();

beforeAll(async () => {
	upstream = await opened(startGateway({ taskSeconds: 0, imageSize: 32 }));
	await Promise.all(NAMES.map(async (name) => hosts.set(name, await hostsFor(name))));
}, 90_000);
beforeEach(() => upstream.reset());

async function hostsFor(name: GatewayName): Promise<Hosts> {
	const { url: baseUrl, headersFor } = await opened(startForeignGateway(name));
	const hostOf = async (fields: object) =>
		await hostFor({ baseUrl, ...fields }, { extraNodeTypes: filesNode });
	return {
		images: await hostOf({ headers: headersFor(upstream.url, 'openai') }),
		messages: await hostOf({ headers: headersFor(upstream.url, 'anthropic') }),
		bare: await hostOf({}),
	};
}

async function run(
	[name, host]: [GatewayName, keyof Hosts],
	type: string,
	parameters: object,
): Promise<RunResult> {
	const image = { model: byName(MODEL), options: { checkLimits: false } };
	const given = type === 'message' ? { model: 'reason-large' } : image;
	const steps = [{ type, parameters: { ...given, ...parameters } }];
	return await runChain(hosts.get(name)![host], [{ files: PICTURES }], steps);
}

/** The requests that the upstream was paid for. */
const paid = () => upstream.requests.filter(({ method }) => method === 'POST');

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** The files of the only request: field, name and contents. */
function received(): string[][] {
	const [request] = paid();
	const { files } = request!.body as { files: ReceivedFile[] };
	return files.map(({ field, filename, sha256: contents }) => [field, filename, contents]);
}

/** The upstream refuses the next request, and the one after two seconds is accepted. */
const tooMany = () =>
	upstream.setFaults([{ call: 'sync', kind: 'status', status: 429, retryAfter: '2', times: 1 }]);

function expectOneImage(result: RunResult): void {
	expect(errorOf(result).message).toBe('');
	expect(result.json(NODE)).toMatchObject([{ url: expect.stringContaining(upstream.url) }]);
	expect(result.output(NODE)[0]?.binary?.data).toMatchObject({ mimeType: 'image/png' });
}

describe.each(NAMES)('through %s', (name) => {
	test('an image comes, also where a task was asked for', async () => {
		for (const mode of ['sync', 'submit']) {
			upstream.reset();
			expectOneImage(await run([name, 'images'], 'imageGeneration', { prompt: 'a fox', mode }));
			expect(paid()).toHaveLength(1);
		}
	});

	test('without its headers it refuses before anything is paid for', async () => {
		const { message } = errorOf(await run([name, 'bare'], 'imageEdit', { prompt: 'a fox' }));
		expect(message).toContain(`x-${name}-config or x-${name}-provider header is required`);
		expect(paid()).toEqual([]);
	});

	test('429 with Retry-After: sent again, and paid for once', async () => {
		tooMany();
		expectOneImage(await run([name, 'images'], 'imageGeneration', { prompt: 'a fox' }));
		expect(paid().map(({ status }) => status)).toEqual([429, 200]);
	});

	test('400: its reason is told, and it is not sent again', async () => {
		const parameters = { prompt: 'a fox', model: byName('none') };
		const { message } = errorOf(await run([name, 'images'], 'imageGeneration', parameters));
		expect(message).toContain('unknown model: none');
		expect(message).toContain('(400)');
		expect(paid()).toHaveLength(1);
	});

	test('a message with thinking', async () => {
		const result = await run([name, 'messages'], 'message', {
			prompt: 'What is 17 * 3?',
			maxTokens: 200,
			thinking: 'adaptive',
		});
		expect(errorOf(result).message).toBe('');
		expect(result.json(NODE)).toMatchObject([
			{ text: expect.stringMatching(/./), thinking: expect.stringMatching(/./) },
		]);
		expect(paid()).toHaveLength(1);
	});
});

test('through llmops two images and a mask arrive as they were sent', async () => {
	const result = await run(['llmops', 'images'], 'imageEdit', {
		prompt: 'at night',
		images: 'data, other',
		options: { checkLimits: false, mask: 'other' },
	});
	expectOneImage(result);
	expect(received()).toEqual([
		['image', 'photo.png', sha256(PICTURES.data.bytes)],
		['image', 'other.png', sha256(PICTURES.other.bytes)],
		['mask', 'other.png', sha256(PICTURES.other.bytes)],
	]);
});

test('through portkey an edit fails after it was done: unknown, and not sent again', async () => {
	const result = await run(['portkey', 'images'], 'imageEdit', { prompt: 'at night' });
	const { message, description } = errorOf(result);
	expect(`${message} ${description}`).toMatch(/unknown/i);
	expect(paid()).toMatchObject([{ status: 200 }]);
});
