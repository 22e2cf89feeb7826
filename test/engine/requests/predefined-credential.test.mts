/**
 * The credential in n8n's HTTP Request node ("Predefined Credential Type"): by a stand-in that hands
 * n8n's helper what that node does, and by the node itself where a server is installed.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { IExecuteFunctions } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { BuiltInNode } from '../../../harness/engine/built-in-nodes.mjs';
import { cacheFolder } from '../../../harness/install/folders.mjs';
import { opened } from '../opened.mjs';
import { hostFor, NODE, openBench, sendJson, serve, TINY_PNG, type Bench } from '../workbench.mjs';

const KEY = 'sk-embedded-gateway-one';
const TYPE = 'mediaGatewayApi';

const file = join(
	cacheFolder(),
	'n8n-2.x-node24/node_modules/n8n-nodes-base/dist/nodes/HttpRequest/HttpRequest.node.js',
);

/** The requests of HTTP Request 4.2 and later, as far as a credential looks at them. */
const standIn: BuiltInNode = {
	description: {
		name: 'httpRequest',
		displayName: 'httpRequest',
		description: 'httpRequest',
		group: ['transform'],
		version: [4.2],
		defaults: { name: 'httpRequest' },
		inputs: ['main'],
		outputs: ['main'],
		properties: Object.entries({
			url: '',
			method: 'GET',
			sendBody: false,
			jsonBody: '{}',
			options: {},
			headerParameters: {},
		}).map(([name, value]) => ({
			displayName: name,
			name,
			type: typeof value === 'object' ? 'json' : typeof value,
			default: value,
		})),
	} as unknown as N8n.INodeTypeDescription,
	async execute(this: IExecuteFunctions) {
		const read = (name: string, fallback: unknown) =>
			this.getNodeParameter(name, 0, fallback as N8n.NodeParameterValueType);
		const options = read('options', {}) as N8n.IDataObject;
		const sendsBody = read('sendBody', false) as boolean;
		const headers = (read('headerParameters', {}) as N8n.IDataObject).parameters ?? [];
		const response = (await this.helpers.requestWithAuthentication.call(this, TYPE, {
			headers: Object.fromEntries(
				(headers as Array<{ name: string; value: string }>).map(({ name, value }) => [name, value]),
			),
			method: read('method', 'GET') as 'GET',
			uri: read('url', '') as string,
			gzip: true,
			rejectUnauthorized: options.allowUnauthorizedCerts !== true,
			followRedirect: true,
			followAllRedirects: true,
			maxRedirects: undefined,
			resolveWithFullResponse: true,
			sendCredentialsOnCrossOriginRedirect: options.sendCredentialsOnCrossOriginRedirect ?? true,
			timeout: 10_000,
			json: true,
			...(sendsBody ? { body: JSON.parse(String(read('jsonBody', '{}'))) } : {}),
		} as N8n.IRequestOptions)) as { body: N8n.IDataObject };
		return [[{ json: response.body, pairedItem: { item: 0 } }]];
	},
};

const nodes: Array<[name: string, node: BuiltInNode]> = [['a stand-in', standIn]];
if (existsSync(file)) {
	const { HttpRequest } = createRequire(import.meta.url)(file) as {
		HttpRequest: new () => { nodeVersions: Record<number, BuiltInNode> };
	};
	nodes.push(['the real node', new HttpRequest().nodeVersions[4.2]!]);
}

describe.each(nodes)('%s', (_, node) => {
	let bench: Bench;
	beforeAll(async () => {
		bench = await opened(openBench());
	});
	beforeEach(() => bench.gateway.reset());

	async function request(
		credential: Record<string, unknown>,
		url: string,
		parameters: Record<string, unknown> = {},
	) {
		const host = await hostFor(credential, {
			extraNodeTypes: { 'n8n-nodes-base.httpRequest': node },
		});
		return await host.run({
			nodes: [
				{ name: 'Start', type: 'n8n-nodes-base.manualTrigger' },
				{
					name: NODE,
					type: 'n8n-nodes-base.httpRequest',
					typeVersion: 4.2,
					credentials: { [TYPE]: { id: TYPE, name: TYPE } },
					parameters: {
						url,
						authentication: 'predefinedCredentialType',
						nodeCredentialType: TYPE,
						...parameters,
					} as N8n.INodeParameters,
				},
			],
			connections: { Start: { main: [[{ node: NODE, type: 'main', index: 0 }]] } },
		});
	}

	const post = (body: unknown) => ({
		method: 'POST',
		sendBody: true,
		specifyBody: 'json',
		contentType: 'json',
		jsonBody: JSON.stringify(body),
	});
	const image = { model: 'aurora-image-1', prompt: 'a fox' };
	const message = {
		model: 'reason-large',
		max_tokens: 16,
		messages: [{ role: 'user', content: 'hi' }],
	};

	test.each(['', '/', '/v1'])('every endpoint, with the Base URL ending in "%s"', async (end) => {
		const { url } = bench.gateway;
		for (const messageAuth of ['authorization', 'xApiKey']) {
			const at = { baseUrl: url + end, messageAuth };
			const made = await request(at, `${url}/v1/images/generations`, post(image));
			expect(made.json(NODE)[0]!.data).toHaveLength(1);
			const task = await request(at, `${url}/v1/images/generations?async=true`, post(image));
			const { id } = task.json(NODE)[0]! as { id: string };
			const state = await request(at, `${url}/v1/images/generations/${id}`);
			expect(state.json(NODE)[0]).toMatchObject({ id, status: expect.any(String) });
			const other = await request(at, `${url}/v1/images/edits/${id}`);
			expect(other.error?.message).toMatch(/404|not.*found/i);
			const said = await request(at, `${url}/v1/messages`, post(message));
			expect(said.json(NODE)[0]!.content).toBeDefined();
			const list = await request(at, `${url}/v1/media/models`);
			expect(list.json(NODE)[0]!.success).toBe(true);
		}
	});

	test('the host in capitals, and the default port', async () => {
		const { port } = new URL(bench.gateway.url);
		const result = await request(
			{ baseUrl: `http://localhost:${port}` },
			`http://LOCALHOST:${port}/v1/images/generations`,
			post(image),
		);
		expect(result.json(NODE)[0]!.data).toHaveLength(1);
	});

	/** What a server was sent of the key: the values of all headers. */
	const keysIn = (requests: Array<{ headers: object }>) =>
		requests.filter(({ headers }) => JSON.stringify(headers).includes(KEY)).length;

	const unsafe = { options: { sendCredentialsOnCrossOriginRedirect: true } };

	test.each(['authorization', 'xApiKey'])('another host gets no key (%s)', async (messageAuth) => {
		const other = await opened(serve((__, response) => sendJson(response, { ok: true })));
		const at = { baseUrl: bench.gateway.url, messageAuth };
		for (const path of ['/v1/images/generations', '/v1/messages', '/']) {
			await request(at, other.url + path, { ...post(image), ...unsafe });
			// A name that begins like the gateway's, and one that looks like a log-in to another.
			const { host } = new URL(other.url);
			await request(at, `http://${new URL(bench.gateway.url).host}@${host}${path}`);
		}
		expect(other.requests.length).toBeGreaterThan(0);
		expect(keysIn(other.requests)).toBe(0);
	});

	test.each([
		['authorization', 301],
		['authorization', 302],
		['authorization', 307],
		['authorization', 308],
		['xApiKey', 302],
		['xApiKey', 307],
	])('nor by a redirect (%s, %d)', async (messageAuth, status) => {
		const other = await opened(serve((__, response) => sendJson(response, { ok: true })));
		const own = await opened(
			serve((incoming, response) => {
				response.writeHead(status, { location: other.url + incoming.url! }).end();
			}),
		);
		const at = { baseUrl: own.url, messageAuth };
		for (const path of ['/v1/images/generations', '/v1/messages']) {
			await request(at, own.url + path, { ...post(image), ...unsafe });
			await request(at, own.url + path, unsafe);
		}
		expect(keysIn(own.requests)).toBe(own.requests.length);
		expect(own.requests).toHaveLength(4);
		expect(keysIn(other.requests)).toBe(0);
	});

	test('nor another host name by way of a redirect, though it is asked in the same domain', async () => {
		const other = await opened(serve((__, response) => sendJson(response, { ok: true })));
		const own = await opened(
			serve((incoming, response) => {
				const location = `http://sub.localhost:${new URL(other.url).port}${incoming.url!}`;
				response.writeHead(307, { location }).end();
			}),
		);
		const baseUrl = own.url.replace('127.0.0.1', 'localhost');
		const result = await request({ baseUrl }, `${baseUrl}/v1/images/generations/1`, unsafe);
		expect(result.error).toBeDefined();
		expect([own.requests.length, other.requests]).toEqual([1, []]);
	});

	test('a redirect within the gateway is followed with the key', async () => {
		const own = await opened(
			serve((incoming, response) => {
				if (!incoming.url!.endsWith('?again')) {
					return void response.writeHead(307, { location: `${incoming.url!}?again` }).end();
				}
				sendJson(response, { ok: true });
			}),
		);
		const at = { baseUrl: own.url };
		const result = await request(at, `${own.url}/v1/images/generations/1`);
		expect(result.json(NODE)).toEqual([{ ok: true }]);
		expect([own.requests.length, keysIn(own.requests)]).toEqual([2, 2]);
	});

	test.each(['/other', '/gateway-2', '/gateway%2f..%2fother', '/gateway/../other'])(
		'a gateway in a folder: %s is no part of it, neither at once nor by a redirect',
		async (elsewhere) => {
			const own = await opened(
				serve((incoming, response) => {
					if (incoming.url!.startsWith('/gateway/v1')) {
						const location = `${elsewhere}/v1/images/generations/1`;
						return void response.writeHead(307, { location }).end();
					}
					sendJson(response, { ok: true });
				}),
			);
			const at = { baseUrl: `${own.url}/gateway` };
			await request(at, `${own.url}/gateway/v1/images/generations/1`);
			await request(at, `${own.url}${elsewhere}/v1/images/generations/1`);
			const inside = own.requests.filter(({ url }) => url.startsWith('/gateway/v1'));
			expect([inside.length, keysIn(own.requests)]).toEqual([1, 1]);
		},
	);

	const tenant = { headers: { values: [{ name: 'X-Tenant', value: 'tenant-0123456789' }] } };

	test('additional headers go to every address of the gateway and replace those of the node', async () => {
		const own = await opened(serve((__, response) => sendJson(response, { ok: true })));
		const at = { baseUrl: `${own.url}/gateway`, ...tenant };
		for (const path of ['/gateway/v1/images/generations/1', '/gateway/v1/media/models', '/other']) {
			await request(at, own.url + path, {
				sendHeaders: true,
				specifyHeaders: 'keypair',
				headerParameters: { parameters: [{ name: 'x-tenant', value: 'mine' }] },
			});
		}
		const sent = own.requests.map(({ headers }) => [headers.authorization, headers['x-tenant']]);
		expect(sent).toEqual([
			[`Bearer ${KEY}`, 'tenant-0123456789'],
			[undefined, 'tenant-0123456789'],
			[undefined, 'tenant-0123456789'],
		]);
	});

	test.each([301, 302, 307, 308])(
		'additional headers go to no other port of the same host, also by a redirect with %d',
		async (status) => {
			const other = await opened(serve((__, response) => sendJson(response, { ok: true })));
			const own = await opened(
				serve((incoming, response) => {
					response.writeHead(status, { location: other.url + incoming.url! }).end();
				}),
			);
			for (const path of ['/v1/images/generations/1', '/v1/messages', '/v1/media/models']) {
				await request({ baseUrl: own.url, ...tenant }, own.url + path, unsafe);
				await request({ baseUrl: own.url, ...tenant }, other.url + path, unsafe);
			}
			expect(own.requests.every(({ headers }) => 'x-tenant' in headers)).toBe(true);
			expect(own.requests).toHaveLength(3);
			expect(JSON.stringify(other.requests)).not.toContain('tenant-0123456789');
		},
	);

	test('an additional header that cannot be sent says so', async () => {
		const own = await opened(serve((__, response) => sendJson(response, { ok: true })));
		const headers = { values: [{ name: 'host', value: 'x' }] };
		const { error } = await request({ baseUrl: own.url, headers }, `${own.url}/v1/messages`);
		expect(JSON.stringify(error)).toMatch(
			/'host' is already set, by the nodes themselves or by another row/,
		);
		expect(own.requests).toEqual([]);
	});

	test('a header that the user has set for the key is replaced, the others stay', async () => {
		const own = await opened(serve((__, response) => sendJson(response, { ok: true })));
		const credential = { baseUrl: own.url, messageAuth: 'authorization' };
		await request(credential, `${own.url}/v1/messages`, {
			sendHeaders: true,
			specifyHeaders: 'keypair',
			headerParameters: {
				parameters: [
					{ name: 'authorization', value: 'mine' },
					{ name: 'Anthropic-Version', value: 'old' },
					{ name: 'x-trace', value: '7' },
				],
			},
		});
		expect(own.requests[0]!.headers).toMatchObject({
			authorization: KEY,
			'anthropic-version': '2023-06-01',
			'x-trace': '7',
		});
	});

	test('a key or an address that cannot work says so', async () => {
		const own = await opened(serve((__, response) => void response.end(TINY_PNG)));
		const url = `${own.url}/v1/images/generations/1`;
		const noKey = await request({ baseUrl: own.url, apiKey: '<API_KEY>' }, url);
		const noAddress = await request({ baseUrl: 'gateway' }, url);
		expect(JSON.stringify(noKey.error)).toMatch(/still a placeholder/);
		expect(JSON.stringify(noAddress.error)).toMatch(/'Base URL'.* is not a web address/);
		expect(own.requests).toEqual([]);
	});
});

describe('what a credential may be handed', () => {
	const GATEWAY = 'https://gateway.example/api';

	async function authenticated(
		given: Record<string, unknown>,
		credential: Record<string, unknown> = {},
	): Promise<N8n.IDataObject & { headers?: Record<string, string> }> {
		const host = await hostFor({ baseUrl: GATEWAY });
		const { authenticate } = host.credentialType(TYPE);
		if (typeof authenticate !== 'function') throw new Error('no function');
		return (await authenticate(
			{ baseUrl: GATEWAY, apiKey: 'sk-abc', ...credential } as N8n.ICredentialDataDecryptedObject,
			given as unknown as N8n.IHttpRequestOptions,
		)) as unknown as N8n.IDataObject;
	}
	const TASK = `${GATEWAY}/v1/images/generations/1`;
	const withKey = { headers: { Authorization: 'Bearer sk-abc' } };

	test.each<[string, Record<string, unknown>]>([
		['url', { url: TASK }],
		['uri', { uri: TASK }],
		['both, alike', { url: TASK, uri: TASK }],
		['one is null', { url: null, uri: TASK }],
		['a URL object', { uri: new URL(TASK) }],
		['a base and a path', { baseURL: GATEWAY, url: '/v1/images/generations/1' }],
		['a base with a slash', { baseURL: `${GATEWAY}/`, uri: 'v1/images/generations/1' }],
		['a base down to /v1', { baseURL: new URL(`${GATEWAY}/v1`), url: '/images/generations/1' }],
		['a base that is all', { baseURL: TASK, url: '' }],
		['a base beside a whole address', { baseURL: 'https://other.example', url: TASK }],
		['query and fragment', { uri: `${TASK}?async=true#x`, qs: { async: true } }],
		['capitals and the port', { uri: TASK.replace('gateway.example', 'GATEWAY.example:443') }],
		['braces in it', { uri: `${GATEWAY}/v1/images/generations/{{ $json.taskId }}` }],
		['a slash at its end', { uri: `${TASK}/` }],
		['headers that are none', { uri: TASK, headers: undefined }],
	])('%s: the key', async (_, given) => {
		expect(await authenticated(given)).toMatchObject(withKey);
	});

	test.each<[string, Record<string, unknown>]>([
		['nothing', {}],
		['two that differ', { url: TASK, uri: 'https://other.example/v1/images/generations/1' }],
		['the other way round', { uri: TASK, url: 'https://other.example/v1/images/generations/1' }],
		[
			'a base that the address leaves',
			{ baseURL: GATEWAY, url: '//other.example/api/v1/images/1' },
		],
		['by backslashes', { baseURL: GATEWAY, url: '\\\\other.example\\api\\v1\\images\\1' }],
		['a list', { uri: [TASK] }],
		['a number', { uri: 7 }],
		['an object that can change its mind', { uri: { toString: () => TASK } }],
		['an odd base', { baseURL: 7, url: TASK }],
		['a path alone', { uri: '/v1/images/generations/1' }],
		['http in place of https', { uri: TASK.replace('https', 'http') }],
		['another port', { uri: TASK.replace('.example', '.example:8443') }],
		['a longer host', { uri: TASK.replace('.example', '.example.other.test') }],
		['a host below', { uri: TASK.replace('gateway.', 'x.gateway.') }],
		['a log-in that looks like it', { uri: 'https://gateway.example@other.test/api/v1/images/1' }],
		['the listing, which needs none', { uri: `${GATEWAY}/v1/media/models` }],
		['unfinished', { uri: 'https://' }],
	])('%s: no key', async (_, given) => {
		const changed = await authenticated(given);
		expect(JSON.stringify(changed)).not.toContain('sk-abc');
	});

	test('the list of domains of the user is kept, and then no redirect is followed', async () => {
		const own = { uri: TASK.replace('/api', ''), allowedDomains: 'other.example' };
		const free = { uri: TASK.replace('/api', '') };
		const credential = { baseUrl: 'https://gateway.example' };
		expect(await authenticated(own, credential)).toMatchObject({
			allowedDomains: 'other.example',
			maxRedirects: 0,
			followAllRedirects: false,
		});
		expect(await authenticated(free, credential)).toMatchObject({
			allowedDomains: 'gateway.example',
			sendCredentialsOnCrossOriginRedirect: false,
		});
	});

	test('an untrusted certificate is accepted at the gateway and its listing only', async () => {
		const credential = { allowUnauthorizedCerts: true, mediaUrl: 'https://media.example/x' };
		for (const uri of [TASK, 'https://media.example/v1/media/models']) {
			expect(await authenticated({ uri, rejectUnauthorized: true }, credential)).toMatchObject({
				rejectUnauthorized: false,
				skipSslCertificateValidation: true,
			});
		}
		const elsewhere = { uri: 'https://other.example/', rejectUnauthorized: true };
		expect(await authenticated(elsewhere, credential)).toMatchObject({ rejectUnauthorized: true });
		expect(await authenticated({ uri: TASK, rejectUnauthorized: true })).toMatchObject({
			rejectUnauthorized: true,
		});
	});
});
