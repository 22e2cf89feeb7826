/** The credential in n8n's own HTTP Request node, on real servers. */
import type { Gateway } from '../../simulator/gateway.mjs';
import { itemsOf, type Credentials } from '../../harness/server/example-workflows.mjs';
import { serverVersions } from '../../harness/server/packed-package.mjs';
import type { Json, N8nServer } from '../../harness/server/server.mjs';
import { serve } from '../engine/workbench.mjs';
import { openRealServer, type RealServer } from './real-server.mjs';

describe.each(serverVersions())('HTTP Request with the credential on n8n %s', (version) => {
	let real: RealServer;
	let server: N8nServer;
	let gateway: Gateway;

	beforeAll(async () => {
		real = await openRealServer(version, { taskSeconds: 0 });
		({ server, gateway } = real);
	});

	afterAll(async () => await real?.close());

	async function request(
		url: string,
		parameters: Json = {},
		credentials: Credentials = real.credentials,
	) {
		const node = (name: string, type: string, more: Json) => ({
			id: name,
			name,
			type: `n8n-nodes-base.${type}`,
			position: [0, 0],
			...more,
		});
		const { id } = await server.createWorkflow({
			name: 'HTTP Request',
			nodes: [
				node('Start', 'manualTrigger', { typeVersion: 1, parameters: {} }),
				node('Request', 'httpRequest', {
					typeVersion: 4.2,
					parameters: {
						url,
						authentication: 'predefinedCredentialType',
						nodeCredentialType: 'mediaGatewayApi',
						...parameters,
					},
					credentials,
				}),
			],
			connections: { Start: { main: [[{ node: 'Request', type: 'main', index: 0 }]] } },
		} as Json as never);
		const execution = await server.settled(await server.runManually(id));
		return { execution, items: itemsOf(execution, 'Request').map(({ json }) => json) };
	}

	const post = (body: Json) => ({
		method: 'POST',
		sendBody: true,
		specifyBody: 'json',
		jsonBody: JSON.stringify(body),
	});

	it('works at every endpoint', async () => {
		const image = { model: 'aurora-image-1', prompt: 'A fox' };
		const made = await request(`${gateway.url}/v1/images/generations`, post(image));
		expect(made.items[0]!.data).toHaveLength(1);
		const task = await request(`${gateway.url}/v1/images/generations?async=true`, post(image));
		const { id } = task.items[0] as Json;
		// The address is an expression, as it is where a task is polled.
		const state = await request(`={{ "${gateway.url}/v1/images/generations/" + "${id}" }}`);
		expect(state.items[0]).toMatchObject({ id });
		const said = await request(
			`${gateway.url}/v1/messages`,
			post({
				model: 'reason-large',
				max_tokens: 16,
				messages: [{ role: 'user', content: 'Hello' }],
			}),
		);
		expect(said.items[0]!.content).toBeDefined();
		const list = await request(`${gateway.url}/v1/media/models`);
		expect(list.items[0]!.success).toBe(true);
	});

	it.each([302, 307])('gives the key to no other host, redirected by %d or not', async (status) => {
		const other = await serve((_, response) => void response.end('{}'));
		const own = await serve((incoming, response) => {
			response.writeHead(status, { location: other.url + incoming.url! }).end();
		});
		try {
			const [key] = gateway.keys;
			const account = await server.storeAccount(own.url, key);
			const path = '/v1/images/generations/1';
			await request(own.url + path, {}, account);
			await request(other.url + path, {}, account);
			expect(own.requests).toHaveLength(1);
			expect(own.requests[0]!.headers.authorization).toBe(`Bearer ${key}`);
			expect(other.requests.length).toBeGreaterThan(0);
			expect(JSON.stringify(other.requests)).not.toContain(key);
		} finally {
			await own.close();
			await other.close();
		}
	});
});
