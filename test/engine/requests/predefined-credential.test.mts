/**
 * The credential in n8n's HTTP Request node ("Predefined Credential Type"), by a stand-in that hands
 * n8n's helper what that node does. test/n8n/http-request.test.mts has the node itself.
 */
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { smallNode } from '../../../harness/engine/built-in-nodes.mjs';
import { opened } from '../opened.mjs';
import { hostFor, NODE, sendJson, serve, type OwnServer } from '../workbench.mjs';

const KEY = 'sk-embedded-gateway-one';
const TYPE = 'mediaGatewayApi';

/** What HTTP Request 4.2 hands to n8n's helper, by default with the riskiest of its options. */
const standIn = smallNode(
	'httpRequest',
	async function () {
		const response = (await this.helpers.requestWithAuthentication.call(this, TYPE, {
			method: 'GET',
			headers: {},
			gzip: true,
			rejectUnauthorized: true,
			followRedirect: true,
			followAllRedirects: true,
			maxRedirects: undefined,
			resolveWithFullResponse: true,
			sendCredentialsOnCrossOriginRedirect: true,
			timeout: 10_000,
			json: true,
			...(this.getNodeParameter('request', 0) as N8n.IDataObject),
		} as N8n.IRequestOptions)) as { body: N8n.IDataObject };
		return [[{ json: response.body, pairedItem: { item: 0 } }]];
	},
	{ versions: [4.2], properties: [{ name: 'request', type: 'json', default: '{}' }] },
);

describe('the credential in the HTTP Request node', () => {
	async function request(
		credential: Record<string, unknown>,
		uri: string,
		more: Record<string, unknown> = {},
	) {
		const host = await hostFor(credential, {
			extraNodeTypes: { 'n8n-nodes-base.httpRequest': standIn },
		});
		return await host.run({
			nodes: [
				{ name: 'Start', type: 'n8n-nodes-base.manualTrigger' },
				{
					name: NODE,
					type: 'n8n-nodes-base.httpRequest',
					typeVersion: 4.2,
					credentials: { [TYPE]: { id: TYPE, name: TYPE } },
					parameters: { request: { uri, ...more } } as N8n.INodeParameters,
				},
			],
			connections: { Start: { main: [[{ node: NODE, type: 'main', index: 0 }]] } },
		});
	}

	const TENANT = 'tenant-0123456789';
	const tenant = { headers: { values: [{ name: 'X-Tenant', value: TENANT }] } };

	/** What arrived of the credential, and of the node's own headers. */
	const carried = ({ requests }: OwnServer) =>
		requests.map(({ headers }) => [
			headers.authorization,
			headers['x-api-key'],
			headers['x-tenant'],
		]);

	const ok = async () => await opened(serve((_, response) => sendJson(response, { ok: true })));

	test('the key goes to the gateway, additional headers to its server, nothing to another', async () => {
		const [own, other] = [await ok(), await ok()];
		const { host } = new URL(own.url);
		const at = { baseUrl: `${own.url}/gateway`, ...tenant };
		const paths: Array<[path: string, ...arrived: Array<string | undefined>]> = [
			['/gateway/v1/images/generations/1', `Bearer ${KEY}`, undefined, TENANT],
			['/gateway/v1/messages', undefined, KEY, TENANT],
			['/gateway/v1/media/models', undefined, undefined, TENANT],
			['/other/v1/images/generations/1', undefined, undefined, TENANT],
			['/gateway-2/v1/images/generations/1', undefined, undefined, TENANT],
			['/gateway/v1/%2e%2e%2f../other', undefined, undefined, TENANT],
		];
		for (const [path] of paths) {
			await request(at, own.url + path);
			await request(at, other.url + path);
			await request(at, `http://${host}@${new URL(other.url).host}${path}`);
		}
		expect(carried(own)).toEqual(paths.map(([, ...arrived]) => arrived));
		expect(other.requests).toHaveLength(2 * paths.length);
		expect(JSON.stringify(other.requests)).not.toMatch(new RegExp(`${KEY}|${TENANT}`));
	});

	test.each([
		[302, 'GET', '/v1/images/generations', 'another server'],
		[302, 'POST', '/v1/messages', 'another server'],
		[302, 'POST', '/v1/media/models', 'another name of its own'],
		[307, 'GET', '/v1/media/models', 'its own'],
		[307, 'GET', '/v1/messages', 'another name of its own'],
		[307, 'POST', '/v1/images/generations', 'its own'],
	])(
		'a request with the key or an additional header follows no redirect: %d, %s %s to %s',
		async (status, method, path, target) => {
			const other = await ok();
			const own = await opened(
				serve((_, response, url) => {
					const named = target === 'its own' ? url : url.replace('127.0.0.1', 'localhost');
					const to = target === 'another server' ? other.url : named;
					response.writeHead(status, { location: `${to}${path}?again` }).end();
				}),
			);
			const body = method === 'POST' ? { body: { prompt: 'a fox' } } : {};
			const added = path.includes('/media/') ? tenant : {};
			const at = { baseUrl: own.url, ...added };
			const { error } = await request(at, own.url + path, { method, ...body });
			expect(error?.message).toContain(String(status));
			expect([own.requests.length, other.requests]).toEqual([1, []]);
		},
	);

	test('a request without any is left to the node', async () => {
		const other = await ok();
		const own = await opened(
			serve(({ url }, response) => {
				response.writeHead(302, { location: other.url + url! }).end();
			}),
		);
		const result = await request({ baseUrl: own.url }, `${own.url}/v1/media/models`);
		expect(result.json(NODE)).toEqual([{ ok: true }]);
	});

	test("the credential's header replaces one of the same name, the node's others stay", async () => {
		const own = await ok();
		const mine = ['authorization', 'X-API-KEY', 'x-tenant', 'x-trace'];
		for (const path of ['/v1/messages', '/v1/images/generations/1']) {
			await request({ baseUrl: own.url, ...tenant }, own.url + path, {
				headers: Object.fromEntries(mine.map((name) => [name, 'mine'])),
			});
		}
		expect(carried(own)).toEqual([
			['mine', KEY, TENANT],
			[`Bearer ${KEY}`, 'mine', TENANT],
		]);
		expect(own.requests.map(({ headers }) => headers['x-trace'])).toEqual(['mine', 'mine']);
	});

	test('a credential that cannot work says so', async () => {
		const own = await ok();
		const credential = { baseUrl: own.url, apiKey: '<API_KEY>' };
		const { error } = await request(credential, `${own.url}/v1/messages`);
		expect(JSON.stringify(error)).toMatch(/still a placeholder/);
		expect(own.requests).toEqual([]);
	});
});

describe('what a credential may be handed', () => {
	const GATEWAY = 'https://gateway.example/api';

	async function authenticated(
		given: Record<string, unknown>,
		credential: Record<string, unknown> = {},
	): Promise<N8n.IDataObject> {
		const host = await hostFor({ baseUrl: GATEWAY });
		const { authenticate } = host.credentialType(TYPE);
		if (typeof authenticate !== 'function') throw new Error('no function');
		return (await authenticate(
			{ baseUrl: GATEWAY, apiKey: 'sk-abc', ...credential } as N8n.ICredentialDataDecryptedObject,
			given as Partial<N8n.IHttpRequestOptions> as N8n.IHttpRequestOptions,
		)) as Partial<N8n.IHttpRequestOptions> & N8n.IDataObject;
	}
	const TASK = `${GATEWAY}/v1/images/generations/1`;
	const OTHER = 'https://other.example/api/v1/images/generations/1';

	test.each<[string, Record<string, unknown>]>([
		['url', { url: TASK }],
		['uri', { uri: TASK }],
		['both, as a page of results has them', { url: TASK, uri: OTHER }],
	])('%s: the key, and no redirect in any helper', async (_, given) => {
		expect(await authenticated(given)).toMatchObject({
			headers: { Authorization: 'Bearer sk-abc' },
			disableFollowRedirect: true,
			followRedirect: false,
			followAllRedirects: false,
		});
	});

	test.each<[string, Record<string, unknown>]>([
		['nothing', {}],
		['two that differ', { url: OTHER, uri: TASK }],
		['a base that the HTTP library prepends', { baseURL: OTHER, url: TASK.replace('//', '') }],
		['unfinished', { uri: 'https://' }],
	])('%s: no key', async (_, given) => {
		expect(await authenticated(given)).toEqual(given);
	});

	test('an untrusted certificate is accepted at the gateway, by any helper, and nowhere else', async () => {
		const credential = { allowUnauthorizedCerts: true };
		const given = { uri: TASK, rejectUnauthorized: true };
		expect(await authenticated(given, credential)).toMatchObject({
			rejectUnauthorized: false,
			skipSslCertificateValidation: true,
		});
		expect(await authenticated(given)).toMatchObject({ rejectUnauthorized: true });
		const elsewhere = { uri: OTHER, rejectUnauthorized: true };
		expect(await authenticated(elsewhere, credential)).toEqual(elsewhere);
	});
});
