/**
 * Both image nodes and Message through a gateway that was written elsewhere, whose upstream is the
 * embedded gateway. It needs headers of its own, has no tasks, and breaks the responses to edits.
 */
import '../fast-time.mjs';
import type { Host, RunResult } from '../../../harness/engine/host.mjs';
import { startGateway, type Gateway } from '../../../simulator/gateway.mjs';
import { errorOf, filesNode, runChain, type Given } from '../one-node.mjs';
import { opened } from '../opened.mjs';
import { byName, hostFor, MODEL, NODE, TINY_PNG } from '../workbench.mjs';
import { startForeignGateway, type ForeignGateway } from './foreign-gateway.mjs';

let upstream: Gateway;
let foreign: ForeignGateway;
let images: Host;
let messages: Host;

const hostOf = async (provider: string): Promise<Host> =>
	await hostFor(
		{ baseUrl: foreign.url, headers: foreign.headersFor(upstream.url, provider) },
		{ extraNodeTypes: filesNode },
	);

beforeAll(async () => {
	upstream = await opened(startGateway({ taskSeconds: 0, imageSize: 32 }));
	foreign = await opened(startForeignGateway());
	images = await hostOf('openai');
	messages = await hostOf('anthropic');
}, 90_000);
beforeEach(() => upstream.reset());

const PHOTO: Given = { files: { data: { bytes: TINY_PNG, fileName: 'photo.png' } } };

async function run(type: string, parameters: object): Promise<RunResult> {
	const isMessage = type === 'message';
	const host = isMessage ? messages : images;
	const model = isMessage ? 'reason-large' : byName(MODEL);
	const options = isMessage ? {} : { checkLimits: false };
	return await runChain(host, [PHOTO], [{ type, parameters: { model, options, ...parameters } }]);
}

/** The requests that the upstream was paid for. */
const paid = () => upstream.requests.filter(({ method }) => method === 'POST');

test.each(['wait', 'sync', 'submit'])('an image comes, in mode %s', async (mode) => {
	const result = await run('imageGeneration', { prompt: 'a fox', mode });
	expect(errorOf(result).message).toBe('');
	expect(result.json(NODE)).toMatchObject([{ url: expect.stringContaining(upstream.url) }]);
	expect(result.output(NODE)[0]?.binary?.data).toMatchObject({ mimeType: 'image/png' });
	expect(paid()).toHaveLength(1);
});

test('without its headers it refuses before anything is paid for', async () => {
	const bare = await hostFor({ baseUrl: foreign.url }, { extraNodeTypes: filesNode });
	const parameters = { model: byName(MODEL), prompt: 'a fox', options: { checkLimits: false } };
	const { message } = errorOf(
		await runChain(bare, [PHOTO], [{ type: 'imageGeneration', parameters }]),
	);
	expect(message).toMatch(/x-portkey-config or x-portkey-provider header is required/);
	expect(paid()).toEqual([]);
});

test('429 with Retry-After: sent again, and paid for once', async () => {
	upstream.setFaults([{ call: 'sync', kind: 'status', status: 429, retryAfter: '2', times: 1 }]);
	const result = await run('imageGeneration', { prompt: 'a fox', mode: 'wait' });
	expect(errorOf(result).message).toBe('');
	expect(result.json(NODE)).toHaveLength(1);
	expect(paid()).toHaveLength(2);
});

test('400: its reason is told, and it is not sent again', async () => {
	const { message } = errorOf(
		await run('imageGeneration', { prompt: 'a fox', model: byName('none') }),
	);
	expect(message).toContain('unknown model: none');
	expect(message).toContain('(400)');
	expect(paid()).toHaveLength(1);
});

test('a message with thinking', async () => {
	const result = await run('message', {
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

test.each(['wait', 'sync', 'submit'])(
	'an edit, in mode %s, fails after it was done: unknown, and not sent again',
	async (mode) => {
		const result = await run('imageEdit', { prompt: 'at night', mode });
		const { message, description } = errorOf(result);
		expect(`${message} ${description}`).toMatch(/unknown/i);
		expect(paid()).toMatchObject([{ status: 200 }]);
	},
);
