/** Gateways without a media list: names of models come from /v1/models, with the key. */
import type { ServerResponse } from 'node:http';
import { openPanel } from '../../../harness/engine/editor-calls.mjs';
import type { RunResult } from '../../../harness/engine/host.mjs';
import { chatRoot, chatWorkflow } from '../messages/chat-root.mjs';
import { opened } from '../opened.mjs';
import {
	byName,
	everythingIn,
	hostFor,
	NODE,
	openBench,
	sendJson,
	serve,
	workflowOf,
	type Bench,
	type OwnServer,
} from '../workbench.mjs';

const KEY = 'sk-embedded-gateway-one';
const BEARER = `Bearer ${KEY}`;
const NAMES = ['acme/paint-2', 'acme/paint-10', 'talk-mini'];
const LIST = { object: 'list', data: NAMES.map((id) => ({ id, object: 'model' })) };

type Respond = (response: ServerResponse) => void;

const json =
	(status: number, body: unknown): Respond =>
	(response) =>
		sendJson(response, body, status);
const page =
	(status: number): Respond =>
	(response) =>
		void response.writeHead(status, { 'content-type': 'text/html' }).end('<!doctype html><p>hi');

const MISSING: Array<[string, string, Respond]> = [
	['imageEdit', 'a web page with 200', page(200)],
	['mediaModels', 'a list of OpenAI', json(200, { object: 'list', data: [{ id: 'other' }] })],
	['imageGeneration', "500, as for any path that it doesn't know", json(500, { message: 'Oh no' })],
	['mediaModels', '401, because it wants a key everywhere', json(401, { error: {} })],
];

/** A gateway with a media list as given, and names for whoever has the key. */
async function gatewayWith(media: Respond, names: unknown = LIST): Promise<OwnServer> {
	return await opened(
		serve((request, response) => {
			const path = request.url!.split('?')[0]!;
			if (path.startsWith('/v1/media/models')) return media(response);
			if (path === '/v1/models') {
				const isAllowed = request.headers.authorization === BEARER;
				return sendJson(response, isAllowed ? names : {}, isAllowed ? 200 : 401);
			}
			if (path === '/v1/messages') {
				return sendJson(response, { content: [{ type: 'text', text: 'hello' }] });
			}
			sendJson(response, { data: [{ url: `data:image/png;base64,iVBORw0KGgo=` }] });
		}),
	);
}

const search = async (node: string, credential: Record<string, unknown>, filter?: string) => {
	const panel = await openPanel(
		`n8n-nodes-media-gateway.${node}`,
		{},
		{ mediaGatewayApi: { apiKey: KEY, gatewaySettings: true, ...credential } },
	);
	return (await panel.search(filter)).results;
};

const asked = ({ requests }: OwnServer) =>
	requests.map(({ url, headers }) => [url, headers.authorization]);

const SORTED = ['acme/paint-10', 'acme/paint-2', 'talk-mini'];

describe('the list in the editor', () => {
	test.each(MISSING)('of %s has names where the media list is %s', async (node, _, media) => {
		const gateway = await gatewayWith(media);
		const headers = { values: [{ name: 'x-node', value: node }] };
		const found = await search(node, { baseUrl: gateway.url, headers });
		expect(found).toEqual(SORTED.map((name) => ({ name, value: name })));
		expect(asked(gateway)[0]).toEqual(['/v1/media/models', undefined]);
		expect(asked(gateway).at(-1)).toEqual(['/v1/models', BEARER]);
		expect(gateway.requests.every(({ headers: sent }) => sent['x-node'] === node)).toBe(true);
	});

	test.each(['message', 'lmChatMediaGateway'])(
		'of %s has names always: none for images or videos, those of the media list without a kind last',
		async (node) => {
			const items = [{ model: SORTED[0] }, { model: 'of-no-message' }];
			const gateway = await gatewayWith(json(200, { success: true, data: { items } }));
			expect(await search(node, { baseUrl: gateway.url }, 'PAINT')).toEqual(
				[SORTED[1], SORTED[0]].map((name) => ({ name, value: name })),
			);
			for (const media_type of ['image', 'VIDEO', 'audio']) {
				const kinds = [{ model: SORTED[0], media_type }];
				const other = await gatewayWith(json(200, { success: true, data: { items: kinds } }));
				const found = await search(node, { baseUrl: other.url }, 'PAINT');
				const left = media_type === 'audio' ? [SORTED[1], SORTED[0]] : [SORTED[1]];
				expect(found.map(({ value }) => value)).toEqual(left);
			}
			expect(asked(gateway)).toEqual([
				['/v1/models', BEARER],
				['/v1/media/models', undefined],
			]);
		},
	);

	test('is not replaced by names where it is there, but fails', async () => {
		const gateway = await gatewayWith(json(503, {}));
		const found = search('imageGeneration', { baseUrl: gateway.url });
		await expect(found).rejects.toThrow(/unavailable \(503\)/);
		expect(asked(gateway)).toEqual([['/v1/media/models', undefined]]);
	});

	test('the names come from the Base URL, and its key goes to no other address', async () => {
		const gateway = await gatewayWith(json(404, {}));
		const media = await gatewayWith(json(404, {}));
		const found = await search('imageGeneration', { baseUrl: gateway.url, mediaUrl: media.url });
		expect(found).toHaveLength(3);
		expect(asked(gateway)).toEqual([['/v1/models', BEARER]]);
		expect(asked(media)).toEqual([['/v1/media/models', undefined]]);
	});

	test('the key goes into x-api-key, and not beside Authorization, where that is refused', async () => {
		const gateway = await opened(
			serve((request, response) => {
				const { authorization, 'x-api-key': own } = request.headers;
				const isAllowed = authorization === undefined && own === KEY;
				if (!request.url!.startsWith('/v1/models')) return sendJson(response, {}, 404);
				sendJson(response, isAllowed ? LIST : {}, isAllowed ? 200 : 401);
			}),
		);
		expect(await search('imageGeneration', { baseUrl: gateway.url })).toHaveLength(3);
	});

	test('a redirect of the names to elsewhere gets no key', async () => {
		const other = await gatewayWith(json(404, {}));
		const gateway = await opened(
			serve((request, response) => {
				response.writeHead(307, { location: other.url + request.url! }).end();
			}),
		);
		await expect(search('message', { baseUrl: gateway.url })).rejects.toThrow(/redirected/);
		expect(other.requests).toEqual([]);
	});

	test('each account has names of its own: by key and by additional header', async () => {
		const gateway = await opened(
			serve((request, response) => {
				const { authorization, 'x-tenant': tenant } = request.headers;
				sendJson(response, { data: [{ id: `${authorization?.length} ${tenant}` }] });
			}),
		);
		const tenant = (value: string) => ({ headers: { values: [{ name: 'x-tenant', value }] } });
		const at = { baseUrl: gateway.url };
		for (const [credential, name] of [
			[{ ...at, ...tenant('one') }, `${BEARER.length} one`],
			[{ ...at, ...tenant('two') }, `${BEARER.length} two`],
			[{ ...at, ...tenant('two'), apiKey: 'sk-other-key' }, '19 two'],
			[{ ...at, ...tenant('one') }, `${BEARER.length} one`],
		] as const) {
			expect(await search('message', credential)).toEqual([{ name, value: name }]);
		}
		// The first account's list was kept.
		const names = gateway.requests.filter(({ url }) => url === '/v1/models');
		expect(names).toHaveLength(3);
	});

	test('what is no list of names: the error says how to go on without', async () => {
		const gateway = await gatewayWith(json(404, {}), { success: false, data: [] });
		await expect(search('message', { baseUrl: gateway.url })).rejects.toMatchObject({
			description: expect.stringMatching(/enter the model 'By Name'/),
		});
	});

	test('a wrong key: the error is about the key, not about the missing media list', async () => {
		const gateway = await gatewayWith(json(404, {}));
		const wrong = { baseUrl: gateway.url, apiKey: 'sk-wrong-wrong' };
		await expect(search('imageGeneration', wrong)).rejects.toThrow(/rejected the API key \(401\)/);
	});
});

describe('Models', () => {
	const run = async (
		gateway: OwnServer,
		parameters: Record<string, unknown> = {},
		credential: Record<string, unknown> = {},
	): Promise<RunResult> => {
		const host = await hostFor({ baseUrl: gateway.url, ...credential });
		return await host.run(workflowOf('mediaModels', parameters));
	};

	test('lists names, and a hint says that no more is known', async () => {
		const gateway = await gatewayWith(json(404, {}));
		const result = await run(gateway, { limit: 2 });
		expect(result.json(NODE)).toMatchObject(
			SORTED.slice(0, 2).map((model) => ({ model, price: null, capabilities: null })),
		);
		expect(result.hints(NODE).map(({ message }) => message)).toEqual([
			expect.stringMatching(/only the names of its models.*limits, prices/),
		]);
	});

	test('gets one by its name, also with a slash', async () => {
		const gateway = await gatewayWith(json(404, {}));
		const result = await run(gateway, { operation: 'get', model: byName('acme/paint-2') });
		expect(result.json(NODE)).toMatchObject([{ model: 'acme/paint-2', price: null }]);
		expect(gateway.requests[0]!.url).toBe('/v1/media/models/acme%2Fpaint-2');
		const { error } = await run(gateway, { operation: 'get', model: byName('acme/paint-3') });
		expect(error?.message).toBe("The gateway has no model 'acme/paint-3' (404)");
		expect(error?.description).toMatch(/acme\/paint-2/);
	});

	test('without a usable key the media list is asked for, and no other', async () => {
		const gateway = await gatewayWith(json(404, {}));
		const { error } = await run(gateway, {}, { apiKey: '<API_KEY>' });
		expect(error?.message).toMatch(/404/);
		expect(asked(gateway)).toEqual([['/v1/media/models', undefined]]);
	});
});

test('an image request to a gateway without a media list: unchecked, and none with a budget', async () => {
	const gateway = await gatewayWith(json(404, {}));
	const host = await hostFor({ baseUrl: gateway.url });
	const run = async (options: Record<string, unknown>) => {
		const parameters = { prompt: 'a fox', mode: 'sync', model: byName('acme/paint-2'), options };
		return await host.run(workflowOf('imageGeneration', parameters));
	};
	const refused = await run({ budget: 5 });
	expect(refused.error?.message).toMatch(/price of the model 'acme\/paint-2' is unknown/);
	expect(everythingIn(refused.error)).toMatch(/has no list of prices/);
	const isPaid = ({ method }: { method: string }) => method === 'POST';
	expect(gateway.requests.filter(isPaid)).toEqual([]);

	const sent = await run({});
	expect(sent.error).toBeUndefined();
	expect(everythingIn(sent.hints(NODE))).toMatch(
		/weren't checked against the model's limits: .*404/,
	);
	expect(gateway.requests.filter(isPaid)).toHaveLength(1);
	// The names say nothing about limits.
	expect(asked(gateway).map(([url]) => url)).not.toContain('/v1/models');
});

describe('the model of a message', () => {
	let bench: Bench;
	beforeAll(async () => {
		bench = await opened(openBench({ host: { extraNodeTypes: chatRoot } }));
	});
	beforeEach(() => bench.gateway.reset());

	const chat = (parameters: Record<string, unknown>) => chatWorkflow('invoke', parameters);
	const message = (parameters: Record<string, unknown>) =>
		workflowOf('message', { prompt: 'hello', ...parameters });

	test.each([
		['by name', message, byName(' reason-large ')],
		['by an expression in the field of a chat model', chat, byName('={{ $json.model }}')],
		['as an expression of an older workflow', message, '={{ $json.model }}'],
	] as const)('%s', async (_, workflow, model) => {
		const input = { input: [{ json: { model: 'reason-large' } }] };
		const result = await bench.host.run(workflow({ model }), input);
		expect(result.error).toBeUndefined();
		expect(bench.gateway.requests.at(-1)!.body).toMatchObject({ model: 'reason-large' });
	});

	test('an empty one is refused before anything is sent', async () => {
		for (const workflow of [message, chat]) {
			const { error } = await bench.host.run(workflow({ model: '={{ "" }}' }));
			expect(everythingIn(error)).toMatch(/'Model' is empty/);
		}
		expect(bench.gateway.count('any')).toBe(0);
	});
});
