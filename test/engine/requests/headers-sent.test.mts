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

type Run = [
	node: NodeName | 'invoke' | 'stream',
	parameters?: Record<string, unknown>,
	credential?: Record<string, unknown>,
];

/** Host, method and path of requests, by what they carry. */
type Carried = Record<string, string[]>;

interface Hosts {
	/** The requests by the headers of the credential that they carried. */
	carried(): Carried;
	/** The addresses of the hosts stand for their names in braces. */
	run(...given: Run): Promise<RunResult>;
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
	const hosts = { gateway, images, media };
	const short = (name: string, value: unknown) =>
		value === BEARER ? 'Bearer' : value === KEY || value === TENANT ? name : `${name}: ${value}`;
	return {
		carried: () => {
			const sent = Object.entries(hosts).flatMap(([host, { requests }]) =>
				requests.map(({ method, url, headers }) => {
					const isOurs = (name: string) =>
						/^auth|^x-|version$/.test(name) || /sk-|tenant-/.test(String(headers[name]));
					const names = Object.keys(headers).filter(isOurs);
					const carried = names.sort().map((name) => short(name, headers[name]));
					return [
						carried.join(' '),
						`${host} ${method} ${url.replace(/\?async=true$/, '')}`,
					] as const;
				}),
			);
			const lists: Carried = {};
			for (const [carried, request] of new Map(sent.map((one) => [one.join(), one])).values()) {
				lists[carried] = [...(lists[carried] ?? []), request].sort();
			}
			return lists;
		},
		run: async (...given) => {
			const [node, parameters = {}, credential = {}] = JSON.parse(
				JSON.stringify(given).replace(
					/\{(gateway|images|media)\}/g,
					(_, name: keyof typeof hosts) => hosts[name].url,
				),
			) as Run;
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

const sync = { prompt: 'a fox', mode: 'sync' };
const wait = { prompt: 'a fox', mode: 'wait', options: { checkLimits: false } };
const hello = { model: 'm', prompt: 'hello' };
const from = (imageUrl: string) => ({ images: imageUrl });

// prettier-ignore
const REQUESTS: Array<[request: string, runs: Run[], carried: Carried]> = [
	['a synchronous generation, and an image of the gateway itself',
		[['imageGeneration', sync]],
		{ 'Bearer x-tenant': ['gateway POST /v1/images/generations'],
			'x-tenant': ['gateway GET /files/own.png', 'gateway GET /v1/media/models'] }],
	['a submit, status checks, and a redirect within the gateway',
		[['imageGeneration', wait], ['imageTask', { taskId: 'moved' }]],
		{ 'Bearer x-tenant': ['gateway GET /v1/images/generations/moved', 'gateway GET /v1/images/generations/moved-on', 'gateway GET /v1/images/generations/own', 'gateway POST /v1/images/generations'],
			'x-tenant': ['gateway GET /files/own.png'] }],
	['the same of an edit, with a source image elsewhere',
		[['imageEdit', { ...wait, ...from('{images}/one.png') }], ['imageTask', { taskId: 'moved', taskType: 'edit' }]],
		{ 'Bearer x-tenant': ['gateway GET /v1/images/edits/moved', 'gateway GET /v1/images/edits/moved-on', 'gateway GET /v1/images/edits/own', 'gateway POST /v1/images/edits'],
			'x-tenant': ['gateway GET /files/own.png'],
			'': ['images GET /one.png'] }],
	['a source image at the gateway, whose address comes from the input',
		[['imageEdit', { ...sync, ...from('{gateway}/files/source.png') }]],
		{ 'Bearer x-tenant': ['gateway POST /v1/images/edits'],
			'x-tenant': ['gateway GET /files/own.png', 'gateway GET /v1/media/models'],
			'': ['gateway GET /files/source.png'] }],
	['a message, authorization',
		[['message', hello, { messageAuth: 'authorization' }]],
		{ 'anthropic-version: 2023-06-01 authorization x-tenant': ['gateway POST /v1/messages'] }],
	['a chat, bearer',
		[['invoke', {}, { messageAuth: 'bearer' }]],
		{ 'anthropic-version: 2023-06-01 Bearer x-tenant': ['gateway POST /v1/messages'] }],
	['a chat in a stream, xApiKey',
		[['stream', {}, { messageAuth: 'xApiKey' }]],
		{ 'anthropic-version: 2023-06-01 x-api-key x-tenant': ['gateway POST /v1/messages'] }],
	['a model list at another address',
		[['mediaModels', {}, { mediaUrl: '{media}' }]],
		{ 'Bearer x-tenant': ['gateway GET /v1/models'],
			'': ['media GET /v1/media/models'] }],
	['images elsewhere, and redirects to elsewhere',
		['there', 'away', 'back', 'gone', 'relative'].map((taskId) => ['imageTask', { taskId }]),
		{ 'Bearer x-tenant': ['gateway GET /v1/images/generations/away', 'gateway GET /v1/images/generations/back', 'gateway GET /v1/images/generations/gone', 'gateway GET /v1/images/generations/relative', 'gateway GET /v1/images/generations/there'],
			'x-tenant': ['gateway GET /files/away.png', 'gateway GET /files/own.png'],
			'': ['images GET /one.png', 'images GET /to-gateway.png'] }],
	['a gateway in a folder',
		[['imageGeneration', sync, { baseUrl: '{gateway}/folder' }]],
		{ 'Bearer x-tenant': ['gateway POST /folder/v1/images/generations'],
			'x-tenant': ['gateway GET /files/own.png', 'gateway GET /folder/v1/media/models'] }],
];

test.each(REQUESTS)('%s: each request carries what is meant for it', async (_, runs, carried) => {
	const hosts = await openHosts();
	for (const run of runs) await hosts.run(...run);
	expect(hosts.carried()).toEqual(carried);
});

describe('a value of an additional header', () => {
	test('that authenticates nobody stays in what the model has written, with its thinking, and in errors', async () => {
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
		expect(everythingIn((await host.run(workflow)).error)).toContain('anthropic refuses');
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

	test('with a line break adds no other header', async () => {
		const server = await opened(serve((_, response) => sendJson(response, {})));
		const headers = { values: [{ name: 'x-tenant', value: 'a\r\nx-evil: 1' }] };
		const host = await hostFor({ baseUrl: server.url, headers }, { extraNodeTypes: chatRoot });
		await host.run(workflowOf('mediaModels'));
		await host.run(workflowOf('imageGeneration', { prompt: 'a fox' }));
		await host.run(chatWorkflow('invoke'));
		expect(server.requests.filter((request) => 'x-evil' in request.headers)).toEqual([]);
	});
});
