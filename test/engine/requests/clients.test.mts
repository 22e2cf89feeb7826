import OpenAI, { toFile } from 'openai';
import { startGateway, type Gateway, type ReceivedFile } from '../../../simulator/gateway.mjs';
import type { Host } from '../../../harness/engine/host.mjs';
import {
	filesNode,
	openTap,
	runChain,
	withoutBoundary,
	type RawRequest,
	type Tap,
} from '../one-node.mjs';
import { byName, hostFor, MODEL, TINY_PNG } from '../workbench.mjs';

// The same request from two hands: the node, and the official client of the protocol that the image
// endpoints follow. Both go to the embedded gateway through a tap that notes what came over the wire.

let gateway: Gateway;
let tap: Tap;
let host: Host;
let openai: OpenAI;

beforeAll(async () => {
	gateway = await startGateway({ taskSeconds: 0, imageSize: 32 });
	tap = await openTap(gateway.url);
	host = await hostFor({ baseUrl: tap.url }, { extraNodeTypes: filesNode });
	openai = new OpenAI({ baseURL: `${tap.url}/v1`, apiKey: gateway.keys[0], maxRetries: 0 });
});
beforeEach(() => {
	gateway.reset();
	tap.requests.length = 0;
});
afterAll(async () => {
	await tap.close();
	await gateway.close();
});

const options = { checkLimits: false };
const fox = Buffer.concat([TINY_PNG, Buffer.from('\r\n--fox--\r\n'), Buffer.alloc(90_000, 'fox')]);
const mask = Buffer.concat([TINY_PNG, Buffer.from('mask')]);

/** What the gateway understood of its last requests, one for each hand. */
const understood = () =>
	gateway.requests
		.filter(({ method }) => method === 'POST')
		.map(({ method, path, query, body, account, status, paid, call }) => ({
			...{ method, path, query, body, account, status, paid, call },
		}));

function expectEqual<T>(values: T[]): void {
	expect(values).toHaveLength(2);
	expect(values[0]).toEqual(values[1]);
}

/** Headers that differ with the client and mean nothing to the gateway. */
const OF_THE_CLIENT: Record<'node' | 'openai', string[]> = {
	node: ['user-agent', 'accept-encoding'],
	openai: ['user-agent', 'accept-encoding', 'accept-language', 'sec-fetch-mode'],
};

/** The headers that are left: these have to be the same. The boundary is chance. */
function headersOf(client: keyof typeof OF_THE_CLIENT, { headers }: RawRequest) {
	return Object.fromEntries(
		Object.entries(headers)
			.filter(([name]) => !OF_THE_CLIENT[client].includes(name))
			.filter(([name]) => client === 'node' || !name.startsWith('x-stainless-'))
			// Whether the connection is kept is between the client and the first server.
			.filter(([name]) => !['connection', 'host', 'content-length'].includes(name))
			.map(([name, value]) => [name, String(value).replace(/boundary=.*/, 'boundary=BOUNDARY')]),
	);
}

const headersOfBoth = () =>
	(['node', 'openai'] as const).map((client, index) => headersOf(client, tap.posts[index]!));

describe('an edit', () => {
	const fields = { size: '1024x1024', model: MODEL, prompt: 'Nächtlich “so”', n: 2 };
	const png = { type: 'image/png' };

	async function byNode(mode: string): Promise<void> {
		const files = {
			data: { bytes: fox, fileName: 'füchse.png' },
			mask: { bytes: mask, fileName: 'mask.png' },
		};
		const extraFiles = { file: [{ field: 'mask', binaryProperty: 'mask' }] };
		const parameters = {
			model: byName(MODEL),
			prompt: fields.prompt,
			mode,
			modelParameters: { mappingMode: 'defineBelow', value: { size: fields.size } },
			download: false,
			options: { ...options, n: 2, responseFormat: 'url', extraFiles },
		};
		const result = await runChain(host, [{ files }], [{ type: 'imageEdit', parameters }]);
		expect(result.error).toBeUndefined();
	}

	async function byOpenai(more: OpenAI.RequestOptions = {}): Promise<void> {
		await openai.images.edit(
			{
				...(fields as { size: '1024x1024'; model: string; prompt: string; n: number }),
				response_format: 'url',
				image: await toFile(fox, 'füchse.png', png),
				mask: await toFile(mask, 'mask.png', png),
			},
			more,
		);
	}

	test('is understood as the same, and is the same byte for byte but for the boundary', async () => {
		await byNode('sync');
		await byOpenai();
		expectEqual(understood());
		const { fields: sent, files } = understood()[0]!.body as {
			fields: [string, string][];
			files: ReceivedFile[];
		};
		expect(sent).toEqual([
			['size', '1024x1024'],
			['model', MODEL],
			['prompt', fields.prompt],
			['n', '2'],
			['response_format', 'url'],
		]);
		expect(files.map(({ field, size }) => [field, size])).toEqual([
			['image', fox.length],
			['mask', mask.length],
		]);
		expectEqual(tap.posts.map(withoutBoundary));
		expectEqual(headersOfBoth());
	});

	test('as a task, by the parameter of the address', async () => {
		await byNode('submit');
		await byOpenai({ query: { async: 'true' } });
		expectEqual(understood());
		expect(understood()[0]).toMatchObject({ call: 'submit', query: { async: 'true' } });
		expectEqual(tap.posts.map(withoutBoundary));
		expectEqual(tap.posts.map(({ path }) => path));
	});

	test('line breaks in a field follow the rule for forms, as in the official client', async () => {
		const prompt = 'one\ntwo\r\nthree';
		const parameters = { model: byName(MODEL), prompt, download: false, options };
		const files = { data: { bytes: fox, fileName: 'fox.png' } };
		await runChain(host, [{ files }], [{ type: 'imageEdit', parameters }]);
		const image = await toFile(fox, 'fox.png', png);
		await openai.images.edit({ model: MODEL, prompt, image });
		const [byTheNode, byTheClient] = tap.posts.map(withoutBoundary);
		expect(byTheNode).toBe(byTheClient);
		expect(gateway.paidByPrompt).toEqual({ 'one\r\ntwo\r\nthree': 2 });
	});
});

describe('a generation', () => {
	const body = {
		size: '512x512' as const,
		quality: 'high' as const,
		model: MODEL,
		prompt: 'A fox in the “Färöer” 🦊',
		n: 2,
		response_format: 'url' as const,
	};

	test('is the same byte for byte', async () => {
		const { size, quality, prompt } = body;
		const parameters = {
			model: byName(MODEL),
			prompt,
			modelParameters: { mappingMode: 'defineBelow', value: { size, quality } },
			download: false,
			options: { ...options, n: 2, responseFormat: 'url' },
		};
		const result = await runChain(host, [{}], [{ type: 'imageGeneration', parameters }]);
		expect(result.error).toBeUndefined();
		await openai.images.generate(body);
		expectEqual(understood());
		expect(understood()[0]).toMatchObject({ call: 'sync', body, paid: true });
		expectEqual(tap.posts.map((request) => request.body.toString('utf8')));
		expectEqual(tap.posts.map(({ headers }) => headers['content-length']));
		expectEqual(headersOfBoth());
	});
});
