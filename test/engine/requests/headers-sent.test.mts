/** Which headers each kind of request carries: read by real servers, one for each kind of host. */
import '../fast-time.mjs';
import { chatRoot, chatWorkflow } from '../messages/chat-root.mjs';
import type { RunResult } from '../../../harness/engine/host.mjs';
import { opened } from '../opened.mjs';
import {
	byName,
	everythingIn,
	hostFor,
	NODE,
	sendJson,
	serve,
	TINY_PNG,
	workflowOf,
	type NodeName,
	type OwnServer,
} from '../workbench.mjs';

const KEY = 'sk-embedded-gateway-one';
const TENANT = 'tenant-secret-0123456789';

const HEADERS = { values: [{ name: 'X-Tenant', value: TENANT }] };
const BEARER = `Bearer ${KEY}`;

/** What a request carries of the credential. */
type Carried = [authorization: string | undefined, tenant: string | undefined];

interface Hosts {
	gateway: OwnServer;
	images: OwnServer;
	media: OwnServer;
	/** What arrived at a host, by method and path without the query. */
	carried(host: OwnServer): Record<string, Carried>;
	run(
		node: NodeName | 'invoke' | 'stream',
		parameters?: Record<string, unknown>,
		credential?: Record<string, unknown>,
	): Promise<RunResult>;
}

/**
 * A gateway, an image host and a foreign model list. Prompts say what the gateway responds with: an
 * image of its own, one elsewhere, a redirect.
 */
async function openHosts(): Promise<Hosts> {
	const images = await opened(
		serve((request, response, url) => {
			if (request.url === '/to-gateway.png') {
				response.writeHead(302, { location: `${gateway.url}/files/own.png` }).end();
			} else if (request.url === '/hop.png') {
				response.writeHead(302, { location: `${url}/one.png` }).end();
			} else response.end(TINY_PNG);
		}),
	);
	const media = await opened(
		serve((_, response) => sendJson(response, { success: true, data: { items: [] } })),
	);
	const gateway: OwnServer = await opened(
		serve((request, response, url) => {
			const path = request.url!.split('?')[0]!;
			if (path.startsWith('/files/away')) {
				return void response.writeHead(302, { location: `${images.url}/one.png` }).end();
			}
			if (path.startsWith('/files/')) return void response.end(TINY_PNG);
			if (path === '/v1/media/models') return sendJson(response, {}, 404);
			if (path === '/v1/messages') {
				return sendJson(response, {
					id: 'msg_1',
					role: 'assistant',
					content: [{ type: 'text', text: `from ${request.headers['x-tenant']}` }],
				});
			}
			if (path.endsWith('/moved')) {
				return void response.writeHead(307, { location: `${path}-on` }).end();
			}
			if (path.endsWith('/gone')) {
				return void response.writeHead(307, { location: `${images.url}${path}` }).end();
			}
			const where: Record<string, string> = {
				own: `${url}/files/own.png`,
				relative: '/files/own.png',
				away: `${url}/files/away.png`,
				there: `${images.url}/one.png`,
				back: `${images.url}/to-gateway.png`,
			};
			const data = [{ url: where[path.split('/').at(-1)!] ?? where.own }];
			if (request.method === 'GET')
				return sendJson(response, { id: '1', status: 'completed', data });
			if (request.url!.includes('async=true')) {
				return sendJson(response, { id: 'own', status: 'queued' });
			}
			sendJson(response, { data: [{ url: where.own }] });
		}),
	);
	return {
		gateway,
		images,
		media,
		carried: ({ requests }) =>
			Object.fromEntries(
				requests.map(({ method, url, headers }) => [
					`${method} ${url.split('?')[0]}`,
					[headers.authorization ?? headers['x-api-key'], headers['x-tenant']] as Carried,
				]),
			),
		run: async (node, parameters = {}, credential = {}) => {
			const host = await hostFor(
				{ baseUrl: gateway.url, headers: HEADERS, ...credential },
				{ extraNodeTypes: chatRoot },
			);
			const workflow =
				node === 'invoke' || node === 'stream'
					? chatWorkflow(node, parameters)
					: workflowOf(node, parameters);
			return await host.run(workflow);
		},
	};
}

describe('additional headers and the key', () => {
	let hosts: Hosts;
	beforeEach(async () => {
		hosts = await openHosts();
	});

	const WITH_BOTH: Carried = [BEARER, TENANT];
	const WITHOUT_KEY: Carried = [undefined, TENANT];
	const WITH_NOTHING: Carried = [undefined, undefined];

	test('a synchronous generation, the model list, and an image of the gateway itself', async () => {
		const result = await hosts.run('imageGeneration', { prompt: 'a fox', mode: 'sync' });
		expect(result.error).toBeUndefined();
		expect(hosts.carried(hosts.gateway)).toEqual({
			'GET /v1/media/models': WITHOUT_KEY,
			'POST /v1/images/generations': WITH_BOTH,
			'GET /files/own.png': WITHOUT_KEY,
		});
	});

	test.each(['imageGeneration', 'imageEdit'] as const)(
		'submit and status checks of %s, also after a redirect within the gateway',
		async (node) => {
			const type = node === 'imageEdit' ? 'edits' : 'generations';
			const taskType = node === 'imageEdit' ? 'edit' : 'generation';
			const source = { imageSource: 'url', imageUrl: `${hosts.images.url}/one.png` };
			const options = { checkLimits: false };
			await hosts.run(node, { prompt: 'a fox', mode: 'wait', ...source, options });
			await hosts.run('imageTask', { taskId: 'moved', taskType });
			expect(hosts.carried(hosts.gateway)).toEqual({
				[`POST /v1/images/${type}`]: WITH_BOTH,
				[`GET /v1/images/${type}/own`]: WITH_BOTH,
				[`GET /v1/images/${type}/moved`]: WITH_BOTH,
				[`GET /v1/images/${type}/moved-on`]: WITH_BOTH,
				'GET /files/own.png': WITHOUT_KEY,
			});
			// The source image.
			const sources = node === 'imageEdit' ? { 'GET /one.png': WITH_NOTHING } : {};
			expect(hosts.carried(hosts.images)).toEqual(sources);
		},
	);

	test('a source image gets none even at the gateway: its address comes from the input', async () => {
		const imageUrl = `${hosts.gateway.url}/files/source.png`;
		const parameters = { prompt: 'a fox', mode: 'sync', imageSource: 'url', imageUrl };
		await hosts.run('imageEdit', parameters);
		expect(hosts.carried(hosts.gateway)).toMatchObject({
			'GET /files/source.png': WITH_NOTHING,
			'POST /v1/images/edits': WITH_BOTH,
		});
	});

	test.each([
		['authorization', 'message', KEY],
		['bearer', 'invoke', BEARER],
		['xApiKey', 'stream', KEY],
	] as const)('messages: %s, by %s', async (messageAuth, way, key) => {
		const parameters = way === 'message' ? { model: 'm', prompt: 'hello' } : {};
		const result = await hosts.run(way, parameters, { messageAuth });
		expect(result.error).toBeUndefined();
		expect(hosts.carried(hosts.gateway)).toEqual({ 'POST /v1/messages': [key, TENANT] });
		const { headers } = hosts.gateway.requests[0]!;
		expect(headers['anthropic-version']).toBe('2023-06-01');
		expect('x-api-key' in headers).toBe(messageAuth === 'xApiKey');
	});

	test('a model list at another address', async () => {
		await hosts.run('mediaModels', {}, { mediaUrl: hosts.media.url });
		expect(hosts.carried(hosts.media)).toEqual({ 'GET /v1/media/models': WITH_NOTHING });
		// The names of message models, which the media list doesn't have.
		expect(hosts.gateway.requests.map(({ url }) => url)).toEqual(['/v1/models']);
	});

	test('images elsewhere, and every redirect to elsewhere', async () => {
		for (const taskId of ['there', 'away', 'back', 'gone', 'relative']) {
			await hosts.run('imageTask', { taskId, taskType: 'generation' });
		}
		expect(hosts.carried(hosts.images)).toEqual({
			'GET /one.png': WITH_NOTHING,
			'GET /to-gateway.png': WITH_NOTHING,
		});
		expect(hosts.carried(hosts.gateway)).toMatchObject({
			'GET /v1/images/generations/gone': WITH_BOTH,
			'GET /files/away.png': WITHOUT_KEY,
			'GET /files/own.png': WITHOUT_KEY,
		});
		expect(everythingIn(hosts.images.requests)).not.toContain(TENANT);
	});

	test('a gateway in a folder: the key stays in it, the headers belong to its server', async () => {
		const baseUrl = `${hosts.gateway.url}/folder`;
		await hosts.run('imageGeneration', { prompt: 'a fox', mode: 'sync' }, { baseUrl });
		expect(hosts.carried(hosts.gateway)).toMatchObject({
			'POST /folder/v1/images/generations': WITH_BOTH,
			'GET /files/own.png': WITHOUT_KEY,
		});
	});
});

describe('a value of an additional header', () => {
	test('that is a word stays in what the model has written, with its thinking, and in no error', async () => {
		const content = [
			{ type: 'thinking', thinking: 'anthropic or not?', signature: 's' },
			{ type: 'text', text: 'Made by anthropic.' },
		];
		const said = { error: { message: 'anthropic refuses', type: 'x' } };
		let isGood = true;
		const server = await opened(
			serve((_, response) => sendJson(response, isGood ? { content } : said, isGood ? 200 : 400)),
		);
		const headers = { values: [{ name: 'x-provider', value: 'anthropic' }] };
		const host = await hostFor({ baseUrl: server.url, headers }, { extraNodeTypes: chatRoot });
		const workflow = workflowOf('message', { model: byName('m'), prompt: 'hello' });
		const { text, messages } = (await host.run(workflow)).json(NODE)[0]!;
		expect(text).toBe('Made by anthropic.');
		expect((messages as unknown[]).at(-1)).toEqual({ role: 'assistant', content });
		for (const way of ['invoke', 'stream'] as const) {
			const shown = await host.run(chatWorkflow(way));
			expect(shown.json(NODE)).toEqual([{ text: 'Made by anthropic.' }]);
		}
		isGood = false;
		expect(everythingIn((await host.run(workflow)).error)).not.toContain('anthropic refuses');
	});

	test('that is a word is not taken out of an ID or the address of an image', async () => {
		const elsewhere = 'https://images.example/acme-images/two.png';
		const server = await opened(
			serve(({ method }, response, url) => {
				if (method === 'POST') {
					return sendJson(response, { id: 'acme-images-task-7', status: 'queued' });
				}
				const data = [{ url: `${url}/acme-images/one.png` }, { url: elsewhere }];
				sendJson(response, { id: 'x', status: 'completed', data });
			}),
		);
		const headers = { values: [{ name: 'x-tenant', value: 'acme-images' }] };
		const host = await hostFor({ baseUrl: server.url, headers });
		const options = { checkLimits: false };
		const parameters = { prompt: 'a fox', download: false, options };
		const submitted = await host.run(workflowOf('imageGeneration', parameters));
		expect(submitted.error).toBeUndefined();
		const taskId = 'acme-images-task-7';
		expect(submitted.json(NODE)).toMatchObject([
			{ taskId, url: `${server.url}/acme-images/one.png` },
			{ taskId, url: elsewhere },
		]);
	});

	test('that cannot be sent is refused, before anything is sent', async () => {
		const server = await opened(serve((_, response) => sendJson(response, {})));
		const headers = { values: [{ name: 'x-tenant', value: 'a\r\nx-evil: 1' }] };
		const host = await hostFor({ baseUrl: server.url, headers }, { extraNodeTypes: chatRoot });
		const listed = (await host.run(workflowOf('mediaModels'))).error;
		expect(listed?.description).toMatch(/'Additional Headers'/);
		const made = (await host.run(workflowOf('imageGeneration', { prompt: 'a fox' }))).error;
		const asked = (await host.run(chatWorkflow('invoke'))).error;
		for (const error of [listed, made, asked]) {
			expect(everythingIn(error)).toMatch(/contains a line break/);
		}
		expect(server.requests).toEqual([]);
	});
});
