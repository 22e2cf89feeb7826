import { timeouts } from '../fast-time.mjs';
import type { ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { selfSigned } from '../../../harness/certificate.mjs';
import { opened } from '../opened.mjs';
import {
	everythingIn,
	hostFor,
	NODE,
	sendJson,
	serve,
	workflowOf,
	type NodeName,
} from '../workbench.mjs';

type Policy = { enabled: boolean };
type Token = abstract new () => Policy;

const KEY = 'sk-embedded-gateway-one';
const IMAGE = { prompt: 'x', options: { checkLimits: false, timeout: 20 } };
const MESSAGE = { model: 'm', prompt: 'x', options: { timeout: 20 } };

/** Runs one node against a server of one's own, and gives the failed item and the requests. */
async function runAgainst(
	respond: Parameters<typeof serve>[0],
	type: NodeName,
	parameters: Record<string, unknown>,
	items: N8n.IDataObject[] = [{}],
) {
	const server = await opened(serve(respond));
	const host = await hostFor({ baseUrl: server.url });
	const settings = { onError: 'continueErrorOutput' as const };
	const result = await host.run(workflowOf(type, parameters, settings), {
		input: items.map((json) => ({ json })),
	});
	return { result, failed: result.json(NODE, 1), items: result.json(NODE, 0), server };
}

/** Nothing here waits for a time-out on the machine's clock. */
let end: () => void;
beforeEach(() => (end = timeouts('fast')));
afterEach(() => end());

describe('a response of which only the beginning arrives', () => {
	const begin = '{"created":1,"id":"task_half_1","status":"queued","key":"' + KEY + '",';

	test.each<[string, NodeName, object, (response: ServerResponse) => void]>([
		['is cut', 'imageGeneration', IMAGE, (response) => void response.destroy()],
		['is never ended', 'message', MESSAGE, () => undefined],
	])('%s: what had arrived stays in the error, without the key', async (_, type, given, then) => {
		const respond = (response: ServerResponse): void => {
			response.writeHead(200, { 'content-type': 'application/json', 'content-length': '90000' });
			response.write(begin, () => setTimeout(() => then(response), 30));
		};
		const { failed, server } = await runAgainst((_request, response) => respond(response), type, {
			...given,
		});
		expect(server.requests).toHaveLength(1);
		expect(failed[0]?.error).toMatch(/^The outcome is unknown/);
		expect(failed[0]?.details).toMatchObject({
			outcome: 'unknown',
			httpCode: 200,
			response: expect.stringContaining('"id":"task_half_1"'),
		});
		expect(everythingIn(failed)).not.toContain(KEY);
	});

	test('is no JSON: the first 2,048 characters of it, and of an image nothing', async () => {
		const page = `<html>task_page_1 ${'long '.repeat(2000)}`;
		const picture = `{"data":[{"b64_json":"${'QUJD'.repeat(5000)}"}],"id":"task_b64`;
		const kept = async (body: string) => {
			const { failed } = await runAgainst(
				(_, response) => void response.writeHead(200).end(body),
				'imageGeneration',
				IMAGE,
			);
			return (failed[0]?.details as { response: string }).response;
		};
		expect(await kept(page)).toBe(page.slice(0, 2048));
		expect((await kept(picture)).length).toBeLessThan(300);
	});
});

/** A server that speaks no HTTP: what it does with a connection. */
async function listen(server: Server): Promise<{ url: string; close: () => Promise<void> }> {
	const sockets = new Set<Socket>();
	server.on('connection', (socket: Socket) => {
		sockets.add(socket);
		socket.on('error', () => undefined);
	});
	server.on('tlsClientError', () => undefined);
	server.on('secureConnection', (socket: Socket) => socket.on('error', () => undefined));
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	return {
		url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
		close: async () => {
			sockets.forEach((socket) => socket.destroy());
			await new Promise((resolve) => server.close(resolve));
		},
	};
}

const onHello = (act: (socket: Socket) => void) => () =>
	createServer((socket) => void socket.once('data', () => act(socket)));
const tls = (options: TlsOptions, act?: (socket: Socket) => void) => () =>
	createTlsServer({ ...selfSigned, ...options }, act);

const PAID: Array<[NodeName, Record<string, unknown>]> = [
	['imageGeneration', { ...IMAGE, mode: 'submit' }],
	['message', MESSAGE],
];

/** The failed items of paid calls against an address, with what the gateway's credential says. */
async function payAt(credential: object, calls = PAID): Promise<N8n.IDataObject[]> {
	const host = await hostFor({ allowUnauthorizedCerts: true, ...credential });
	const failed: N8n.IDataObject[] = [];
	for (const [type, parameters] of calls) {
		const settings = { onError: 'continueErrorOutput' as const };
		const result = await host.run(workflowOf(type, parameters, settings));
		failed.push(...result.json(NODE, 1));
	}
	expect(failed).toHaveLength(calls.length);
	return failed;
}

const BAD_REQUEST = 'HTTP/1.1 400 Bad Request\r\n\r\n';
const NOT_ESTABLISHED = /a secure connection to the gateway couldn't be established/;

describe('a paid request that never left', () => {
	test.each<[string, () => Server, RegExp]>([
		['a closed connection', () => createServer((socket) => socket.destroy()), NOT_ESTABLISHED],
		['a reset in the handshake', onHello((socket) => socket.resetAndDestroy()), NOT_ESTABLISHED],
		['silence in the handshake', () => createServer(), /connecting to the gateway timed out/],
		['a client certificate', tls({ requestCert: true, rejectUnauthorized: true }), NOT_ESTABLISHED],
		['no TLS at all', onHello((socket) => socket.end(BAD_REQUEST)), /doesn't use https at this/],
	])('because of %s', async (_, make, words) => {
		const server = await opened(listen(make()));
		for (const { error, details } of await payAt({ baseUrl: server.url })) {
			expect(error).toMatch(words);
			expect(details).not.toHaveProperty('outcome');
			expect(JSON.stringify(details)).toMatch(/you weren't charged/i);
			expect(JSON.stringify([error, details])).not.toMatch(/may have been|unknown/);
		}
	});

	test('is sent again where the connection was closed before the handshake, and is charged once', async () => {
		let charged = 0;
		let connections = 0;
		const gateway = createHttpsServer(selfSigned, (request, response) => {
			charged += 1;
			request.resume();
			sendJson(response, { created: 1, data: [{ url: 'https://images.example/1.png' }] });
		});
		gateway.on('connection', (socket: Socket) => {
			connections += 1;
			if (connections <= 3) socket.destroy();
		});
		const server = await opened(listen(gateway));
		const host = await hostFor({ allowUnauthorizedCerts: true, baseUrl: server.url });
		const options = { checkLimits: false };
		const parameters = { prompt: 'x', mode: 'sync', download: false, options };
		const result = await host.run(workflowOf('imageGeneration', parameters));
		expect(result.json(NODE)).toMatchObject([{ url: 'https://images.example/1.png' }]);
		expect({ charged, connections }).toEqual({ charged: 1, connections: 4 });
	});

	test.each<[string, (socket: Socket) => void]>([
		['cut', (socket) => socket.destroy()],
		['answered by no HTTP', (socket) => socket.end('nonsense\r\n\r\n')],
	])('is told from one that is %s behind the handshake', async (_, act) => {
		const make = tls({}, (socket) => void socket.once('data', () => act(socket)));
		const server = await opened(listen(make()));
		for (const { details } of await payAt({ baseUrl: server.url })) {
			expect(details).toMatchObject({ outcome: 'unknown' });
		}
	});

	test('because of the name of the version header', async () => {
		const server = await opened(serve((_request, response) => sendJson(response, {})));
		const credential = { baseUrl: server.url, versionHeaderName: 'größe' };
		const [error] = await payAt(credential, PAID.slice(-1));
		expect(server.requests.filter(({ url }) => url === '/v1/messages')).toEqual([]);
		expect(JSON.stringify(error)).toMatch(/'Version Header Name'/);
		expect(error?.details).not.toHaveProperty('outcome');
	});

	test("because of n8n's own address protection", async () => {
		const core = createRequire(require.resolve('n8n-core'));
		const { SsrfProtectionConfig } = core('@n8n/config') as { SsrfProtectionConfig: Token };
		const { Container } = core('@n8n/di') as { Container: { get(token: Token): Policy } };
		const policy = Container.get(SsrfProtectionConfig);
		const server = await serve((_request, response) => sendJson(response, {}));
		policy.enabled = true;
		try {
			for (const { error, details } of await payAt({ baseUrl: server.url })) {
				expect(error).toMatch(/the request to this address was blocked/);
				expect(details).not.toHaveProperty('outcome');
			}
			expect(server.requests).toEqual([]);
		} finally {
			policy.enabled = false;
			await server.close();
		}
	});
});

test('303 after a POST: it was taken on, and is not sent again', async () => {
	const location = '/v1/images/generations/task_303';
	const { failed, server } = await runAgainst(
		(_, response) => void response.writeHead(303, { location }).end(),
		'imageGeneration',
		{ prompt: 'x', mode: 'submit', options: { checkLimits: false } },
	);
	expect(server.requests).toHaveLength(1);
	expect(failed[0]?.details).toMatchObject({ outcome: 'unknown', httpCode: 303 });
	expect(failed[0]?.error).toContain('task_303');
});

test.each(['sync', 'wait'])(
	'302 after a POST, to the image: it comes out (%s); 307 to it may be charged, and is not sent again',
	async (mode) => {
		const parameters = { ...IMAGE, mode, download: false };
		const redirected = async (httpCode: number) =>
			await runAgainst(
				(_, response) => void response.writeHead(httpCode, { location: '/files/x.png?a=1' }).end(),
				'imageGeneration',
				parameters,
			);
		const { items, server } = await redirected(302);
		expect(items).toMatchObject([{ url: `${server.url}/files/x.png?a=1`, prompt: 'x' }]);
		expect(server.requests).toHaveLength(1);
		const lost = await redirected(307);
		expect(lost.server.requests).toHaveLength(1);
		expect(lost.failed[0]?.details).toMatchObject({ outcome: 'unknown', charged: 'maybe' });
		expect(lost.failed[0]?.error).toContain('/files/x.png?a=1');
	},
);
