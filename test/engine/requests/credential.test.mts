/** The credential: its test, certificates, and where the key goes. */
import { timeouts } from '../fast-time.mjs';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { createRequire } from 'node:module';
import type * as Core from 'n8n-core' with { 'resolution-mode': 'require' };
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { selfSigned } from '../../../harness/certificate.mjs';
import { chatRoot, chatWorkflow } from '../messages/chat-root.mjs';
import type { RunResult, WorkflowJson } from '../../../harness/engine/host.mjs';
import { opened } from '../opened.mjs';
import {
	deadAddress,
	everythingIn,
	hostFor,
	MODEL,
	NODE,
	openBench,
	sendJson,
	serve,
	TINY_PNG,
	workflowOf,
	type Bench,
	type NodeName,
	type OwnServer,
	type Settings,
} from '../workbench.mjs';

const { CredentialTestContext } = createRequire(import.meta.url)('n8n-core') as typeof Core;

const ALL = [
	'imageEdit',
	'imageGeneration',
	'imageTask',
	'imageWait',
	'lmChatMediaGateway',
	'mediaModels',
	'message',
];

let bench: Bench;
let secure: Bench;

beforeAll(async () => {
	bench = await opened(openBench());
	secure = await opened(
		openBench({ tls: selfSigned, credential: { allowUnauthorizedCerts: true } }),
	);
});
beforeEach(() => {
	bench.gateway.reset();
	secure.gateway.reset();
});

describe('the test behind the button', () => {
	const KEY = 'sk-embedded-gateway-one';
	const node = () => bench.host.nodeType('n8n-nodes-media-gateway.imageGeneration');

	/** As n8n's server does it: by the function that the node names. */
	async function tested(data: Record<string, unknown>): Promise<N8n.INodeCredentialTestResult> {
		const [{ testedBy } = {}] = node().description.credentials ?? [];
		const test = node().methods!.credentialTest![String(testedBy)]!;
		const context = new CredentialTestContext({} as N8n.IWorkflowExecuteAdditionalData);
		const credential = { id: '1', name: 'c', type: 'mediaGatewayApi', data };
		return await test.call(
			context,
			credential as N8n.ICredentialsDecrypted<N8n.ICredentialDataDecryptedObject>,
		);
	}

	const withKey = async (apiKey: string, more = {}) =>
		await tested({ baseUrl: bench.gateway.url, apiKey, ...more });

	test('every node is tested by a function that it has', () => {
		for (const name of ALL) {
			const { description, methods } = bench.host.nodeType(`n8n-nodes-media-gateway.${name}`);
			const [credential] = description.credentials!;
			expect(methods!.credentialTest).toHaveProperty(String(credential!.testedBy));
		}
	});

	test('a right key, however it was pasted; it costs nothing', async () => {
		const [one, two] = bench.gateway.keys;
		for (const [key, suffix] of [
			[one, '/'],
			[two, '/v1'],
			[` Bearer ${one}\n`, '/v1/'],
		] as const) {
			const { status } = await withKey(key, { baseUrl: bench.gateway.url + suffix });
			expect(status).toBe('OK');
		}
		expect(bench.gateway.paid).toBe(0);
		const { count } = bench.gateway;
		expect(count('poll') + count('names')).toBe(count('any'));
	});

	test('what is wrong with the key or the address is said', async () => {
		const none = await opened(serve((_, response) => sendJson(response, { error: {} }, 404)));
		for (const [apiKey, baseUrl, message] of [
			['sk-wrong-wrong-wrong', bench.gateway.url, /rejected the API key \(401\)/],
			['Bearer <API_KEY>', none.url, /placeholder/],
			[KEY, await deadAddress(), /connection to the gateway was refused/i],
			[
				KEY,
				`${none.url}/a?key=abcdef0123456789`,
				/\(404\).*base URL led to \S+models\?key=\*\*\*.* See 'Base URL'/,
			],
		] as const) {
			const { status, message: said } = await withKey(apiKey, { baseUrl });
			expect([status, said]).toEqual(['Error', expect.stringMatching(message)]);
		}
		// For the last of them alone.
		expect(none.requests).toHaveLength(3);
	});

	test('a redirect to another host is not followed: the key stays here', async () => {
		const other = await opened(serve((_, response) => sendJson(response, { error: {} }, 404)));
		const own = await opened(
			serve((_, response) => void response.writeHead(302, { location: other.url }).end()),
		);
		const { status } = await withKey(KEY, { baseUrl: own.url });
		expect([status, other.requests]).toEqual(['Error', []]);
	});

	test('a self-signed certificate: refused with the way out, accepted where the user says so', async () => {
		const at = { baseUrl: secure.gateway.url };
		const refused = await withKey(KEY, at);
		expect(refused.status).toBe('Error');
		expect(refused.message).toMatch(/certificate isn't trusted.*'Allow Self-Signed Certificates'/);
		const accepted = await withKey(KEY, { ...at, allowUnauthorizedCerts: true });
		expect(accepted.status).toBe('OK');
	});

	test('additional headers reach the gateway, and its model list on the same server', async () => {
		const headers = { values: [{ name: 'X-Team-Token', value: '7' }] };
		const needy = await opened(
			serve((request, response) => {
				if (request.headers['x-team-token'] !== '7') return sendJson(response, {}, 403);
				if (request.url!.includes('/media/')) return sendJson(response, { data: { items: [] } });
				if (request.url === '/v1/models') return sendJson(response, { data: [] });
				sendJson(response, { error: { message: 'no such task' } }, 404);
			}),
		);
		const foreign = await opened(
			serve((_, response) => sendJson(response, { data: { items: [] } })),
		);
		const at = { baseUrl: needy.url, mediaUrl: needy.url };
		expect((await withKey(KEY, at)).message).toMatch(/doesn't allow this request \(403\)/);
		expect(await withKey(KEY, { ...at, headers })).toMatchObject({ status: 'OK' });
		const elsewhere = { baseUrl: needy.url, mediaUrl: foreign.url, headers };
		expect(await withKey(KEY, elsewhere)).toMatchObject({ status: 'OK' });
		expect(foreign.requests[0]!.headers).not.toHaveProperty('x-team-token');
	});

	test('an endpoint that takes its key as x-api-key only', async () => {
		const own = await opened(
			serve(({ url, headers }, response) => {
				const isKnown = headers['x-api-key'] === KEY && headers.authorization === undefined;
				if (!isKnown) return sendJson(response, { error: { message: 'x-api-key' } }, 401);
				if (url !== '/anthropic/v1/models') return sendJson(response, { error: {} }, 404);
				sendJson(response, { data: [{ id: 'm', type: 'model' }], has_more: false });
			}),
		);
		const baseUrl = `${own.url}/anthropic`;
		expect((await withKey(KEY, { baseUrl })).status).toBe('OK');
		expect((await withKey('sk-wrong-wrong', { baseUrl })).message).toMatch(/rejected the API key/);
		expect(own.requests.at(2)!.headers['anthropic-version']).toBe('2023-06-01');
	});

	test('what the gateway misses is quoted, without the values that were sent', async () => {
		const headers = { values: [{ name: 'X-Team-Token', value: 'tenant-0123456789' }] };
		const own = await opened(
			serve((request, response) => {
				const sent = `${request.headers['x-team-token']} with ${request.headers.authorization}`;
				sendJson(response, { message: `x-provider is required for ${sent}` }, 400);
			}),
		);
		const { status, message } = await withKey(KEY, { baseUrl: own.url, headers });
		expect([status, message]).toEqual([
			'Error',
			"The gateway rejected the request (400): x-provider is required for *** with Bearer …. Check the parameters, the address and the key. See 'Base URL' and 'API Key' in the Media Gateway credential.",
		]);
	});

	describe('a response without an end', () => {
		const BLANKS = Buffer.alloc(1024 * 1024, ' ');
		/** Three times the limit, as fast as it is read. */
		const pour = (to: Writable, part: Buffer): void => {
			let left = 192;
			const more = (): void => {
				while (left > 0) {
					left -= 1;
					if (!to.write(part)) return void to.once('drain', more);
				}
				to.end();
			};
			more();
		};

		test.each([200, 401, 404, 503])(
			'%d, a blank at a time: ends at its deadline',
			async (status) => {
				const slow = await opened(
					serve((_, response) => {
						response.writeHead(status).flushHeaders();
						const timer = setInterval(() => response.write(' '), 5);
						response.once('close', () => clearInterval(timer));
					}),
				);
				const restore = timeouts('fast');
				const { status: verdict, message } = await withKey(KEY, { baseUrl: slow.url });
				restore();
				expect([verdict, message]).toEqual([
					'Error',
					expect.stringMatching(/time limit|timed out/i),
				]);
				expect(slow.requests).toHaveLength(1);
			},
		);

		test('headers that do not come: ends at its deadline, and so does a response after it', async () => {
			let late: ServerResponse | undefined;
			const closed: Array<Promise<unknown>> = [];
			const slow = await opened(
				serve((_, response) => {
					late = response;
					closed.push(once(response, 'close'));
				}),
			);
			const restore = timeouts('fast');
			expect((await withKey(KEY, { baseUrl: slow.url })).status).toBe('Error');
			restore();
			late!.write('{');
			await Promise.all(closed);
		});

		test.each([
			['as fast as it is read', {}, BLANKS],
			['a gzip bomb', { 'content-encoding': 'gzip' }, gzipSync(BLANKS)],
		])('%s: ends at its limit', async (_, headers, part) => {
			const fast = await opened(
				serve((_request, response) => pour(response.writeHead(404, headers), part)),
			);
			const { status, message } = await withKey(KEY, { baseUrl: fast.url });
			expect([status, message]).toEqual(['Error', expect.stringMatching(/larger|too large/i)]);
		});
	});

	test('the Media URL is tested as well, without the key', async () => {
		const listing = await opened(
			serve((_, response) => sendJson(response, { success: true, data: { items: [] } })),
		);
		expect(await withKey(KEY, { mediaUrl: `${listing.url}/v1` })).toMatchObject({ status: 'OK' });
		expect(listing.requests.map(({ url }) => url)).toEqual(['/v1/media/models']);
		expect(everythingIn(listing.requests)).not.toContain(KEY);
		expect((await withKey(KEY, { mediaUrl: '  ' })).status).toBe('OK');
		const mediaUrl = await deadAddress();
		const { status, message } = await withKey(KEY, { mediaUrl });
		expect([status, message]).toEqual(['Error', expect.stringContaining("'Media URL'")]);
		// What is wrong with the key comes first.
		const wrong = await withKey('sk-wrong-wrong-wrong', { mediaUrl });
		expect(wrong.message).toMatch(/rejected the API key/);
	});
});

describe('a self-signed certificate', () => {
	test('accepted where the user says so: submit, sync, poll, and the download at the same host', async () => {
		for (const mode of ['sync', 'wait']) {
			const result = await secure.run('imageGeneration', {
				prompt: 'a fox',
				mode,
				options: { pollInterval: 1 },
			});
			expect(result.error).toBeUndefined();
			expect(result.output(NODE)[0]!.binary!.data!.mimeType).toBe('image/png');
		}
		expect([secure.gateway.count('poll'), secure.gateway.paid]).toEqual([1, 2]);
	});

	test('of another host than the gateway it is refused all the same', async () => {
		const made = await secure.run('imageGeneration', { prompt: 'a fox', download: false });
		const { url } = made.json(NODE)[0]!;
		const own = await opened(serve((_, response) => sendJson(response, { data: [{ url }] })));
		const host = await hostFor({ baseUrl: own.url, allowUnauthorizedCerts: true });
		const result = await host.run(workflowOf('imageGeneration', { prompt: 'a fox' }));
		expect(result.error?.message).toBe(
			"The image couldn't be downloaded: the server's certificate isn't trusted",
		);
	});
});

test("the fields under 'Gateway Settings' have no effect while it is off", async () => {
	const media = await opened(serve((_, response) => sendJson(response, { data: [] })));
	const own = await opened(serve((_, response) => sendJson(response, {}, 400)));
	const host = await hostFor({
		baseUrl: own.url,
		gatewaySettings: false,
		mediaUrl: media.url,
		headers: { values: [{ name: 'x-team-token', value: 'acme' }] },
		asyncFlag: 'path',
		imageApi: 'json',
		messageAuth: 'bearer',
		versionHeaderName: 'acme-version',
		versionHeaderValue: '2099-01-01',
	});
	const imageUrl = `data:image/png;base64,${TINY_PNG.toString('base64')}`;
	const options = { checkLimits: false };
	const image = { prompt: 'a fox', mode: 'submit', images: imageUrl, options };
	await host.run(workflowOf('imageGeneration', image));
	await host.run(workflowOf('imageEdit', image));
	await host.run(workflowOf('message', { model: 'm', prompt: 'hello' }));
	await host.run(workflowOf('mediaModels'));
	const sent = own.requests
		.filter(({ method }) => method === 'POST')
		.map(({ url, headers }) => {
			const [type] = String(headers['content-type']).split(';');
			const names = Object.keys(headers).filter((name) => /^auth|^x-|version$/.test(name));
			return [url, type, names.sort().join()];
		});
	expect(sent).toEqual([
		['/v1/images/generations?async=true', 'application/json', 'authorization'],
		['/v1/images/edits?async=true', 'multipart/form-data', 'authorization'],
		['/v1/messages', 'application/json', 'anthropic-version,x-api-key'],
	]);
	expect(own.requests.at(2)!.headers['anthropic-version']).toBe('2023-06-01');
	expect(media.requests).toEqual([]);
});

describe('before anything is sent', () => {
	test('a placeholder for a key is refused by every node', async () => {
		const host = await hostFor(
			{ baseUrl: bench.gateway.url, apiKey: '<API_KEY>' },
			{ extraNodeTypes: chatRoot },
		);
		const parameters = { taskId: 'x', prompt: 'a fox', model: MODEL };
		const nodes = ['imageEdit', 'imageGeneration', 'imageTask', 'imageWait', 'message'] as const;
		for (const workflow of [
			...nodes.map((node) => workflowOf(node, parameters)),
			chatWorkflow('invoke'),
		]) {
			const { error } = await host.run(workflow);
			expect(everythingIn(error)).toMatch(/still a placeholder/);
		}
		expect(bench.gateway.count('any')).toBe(0);
	});

	test('a header that cannot be sent is not charged', async () => {
		const headers = { values: [{ name: 'x tenant', value: '7' }] };
		const host = await hostFor({ baseUrl: bench.gateway.url, headers });
		const options = { checkLimits: false };
		const parameters = { prompt: 'a fox', mode: 'submit', options };
		const { error } = await host.run(workflowOf('imageGeneration', parameters));
		expect(error).toMatchObject({
			message: expect.stringContaining('a request header is invalid'),
			description: expect.stringMatching(/you weren't charged.*'Additional Headers'/i),
			context: { details: { charged: 'no' } },
		});
		expect(bench.gateway.paid).toBe(0);
	});
});

describe('the key, and the value of an additional header', () => {
	// Not of the usual form, and with what a regular expression would stumble over.
	const KEY = 'mgw+$&.key(0123456789)';
	const TENANT = 'tenant-0123456789';

	/** A gateway that quotes both wherever it can, and whose images lie on another host. */
	async function quotingGateway(status: number, imageHost: string) {
		return await opened(
			serve((request, response) => {
				const { authorization = '', 'x-api-key': apiKey = '' } = request.headers;
				const sent = `${authorization} ${String(apiKey)} ${String(request.headers['x-team-token'])}`;
				response.setHeader('x-echo', sent);
				if (status >= 300 && status < 400) {
					response.setHeader('location', `${imageHost}/?${encodeURIComponent('sent')}=${sent}`);
				}
				if (request.url!.includes('/media/') && status === 200) {
					return sendJson(response, {}, 404);
				}
				const echo = { message: `you sent ${sent}`, type: 'echo' };
				const body =
					status === 200
						? {
								id: 'task_1',
								status: 'completed',
								created: 1,
								data: [{ url: `${imageHost}/one.png`, note: sent }],
								content: [{ type: 'text', text: sent }],
								echo,
							}
						: { error: echo };
				sendJson(response, body, status);
			}),
		);
	}

	const RUNS: Record<string, (settings?: Settings, options?: object) => WorkflowJson> = {};
	const PARAMETERS: Record<NodeName, Record<string, unknown>> = {
		imageGeneration: { prompt: 'a fox' },
		imageTask: { taskId: 'task_1' },
		imageWait: { taskId: 'task_1', maxWait: 1 },
		message: { model: 'reason-large', prompt: 'hello' },
		imageEdit: { prompt: 'a fox', images: '={{ $json.source }}' },
		mediaModels: {},
	};
	for (const [node, parameters] of Object.entries(PARAMETERS)) {
		RUNS[node] = (settings, options = {}) =>
			workflowOf(node as NodeName, { ...parameters, options }, settings);
	}
	for (const way of ['invoke', 'stream'] as const) {
		RUNS[`chat model, ${way}`] = (settings, options = {}) =>
			chatWorkflow(way, { options }, settings);
	}

	const hostWith = async (credential: Record<string, unknown>) =>
		await hostFor(
			{
				apiKey: KEY,
				headers: { values: [{ name: 'x-team-token', value: TENANT }] },
				...credential,
			},
			{ extraNodeTypes: chatRoot },
		);

	/** All that n8n keeps or shows of a run. */
	const keptOf = (result: RunResult): string[] => [
		everythingIn([result.data, result.error, result.hints(NODE), result.hints('Model')]),
		JSON.stringify(result.data),
		JSON.stringify(result.error ?? {}),
	];

	/** Each node once, in turns with each way of sending the key and of going on after an error. */
	const everyRun = async (credential: Record<string, unknown>, images: OwnServer) => {
		const kept: string[] = [];
		const ways = [undefined, 'continueRegularOutput', 'continueErrorOutput'] as const;
		for (const [index, messageAuth] of ['authorization', 'xApiKey'].entries()) {
			const host = await hostWith({ ...credential, messageAuth });
			for (const [nth, workflow] of Object.values(RUNS).entries()) {
				const onError = ways[(nth + index) % ways.length];
				const source = `${images.url}/source.png`;
				const result = await host.run(workflow({ onError }), { input: [{ json: { source } }] });
				kept.push(...keptOf(result));
			}
		}
		return kept;
	};

	function expectKeptAway(images: OwnServer): void {
		expect(everythingIn(images.requests)).not.toContain('0123456789');
		for (const { headers } of images.requests) {
			expect(headers).not.toHaveProperty('authorization');
			expect(headers).not.toHaveProperty('x-api-key');
			expect(headers).not.toHaveProperty('x-team-token');
		}
	}

	test.each([200, 401, 307])(
		'%d: neither is in anything that is kept, or with another host',
		async (status) => {
			const images = await opened(serve((_, response) => void response.end(TINY_PNG)));
			const own = await quotingGateway(status, images.url);
			const kept = await everyRun({ baseUrl: own.url }, images);
			// The gateway did get the key, in each of the two ways, and did quote it.
			const received = own.requests.filter(({ url }) => url === '/v1/messages');
			expect(new Set(received.map(({ headers }) => headers['x-api-key']))).toEqual(
				new Set([KEY, undefined]),
			);
			expect(received.map(({ headers }) => headers.authorization)).toContain(KEY);
			expect(own.requests.every(({ headers }) => headers['x-team-token'] === TENANT)).toBe(true);
			for (const text of kept) expect(text).not.toContain('0123456789');
			expectKeptAway(images);
		},
		60_000,
	);

	test('an image of the gateway whose address has it is downloaded as the gateway wrote it', async () => {
		const own = await opened(
			serve((request, response, url) => {
				if (request.url === `/${KEY}/1.png`) return void response.end(TINY_PNG);
				sendJson(response, { data: [{ url: `${url}/${KEY}/1.png` }] });
			}),
		);
		const host = await hostWith({ baseUrl: own.url });
		const options = { checkLimits: false };
		const result = await host.run(workflowOf('imageGeneration', { prompt: 'a fox', options }));
		expect(result.error).toBeUndefined();
		const [item] = result.output(NODE);
		expect(item!.json.url).toBe(`${own.url}/***/1.png`);
		expect(item!.binary!.data!.mimeType).toBe('image/png');
		expect(everythingIn([result.output(NODE), result.hints(NODE)])).not.toContain('0123456789');
	});

	test('nor does another host get one by way of the gateway itself', async () => {
		const images = await opened(serve((_, response) => void response.end(TINY_PNG)));
		const own = await opened(
			serve((request, response, url) => {
				const location = request.url!.includes('/hop')
					? `${images.url}/away`
					: `${url}/v1/hop${request.url!}`;
				response.writeHead(307, { location }).end();
			}),
		);
		await everyRun({ baseUrl: own.url }, images);
		expect(own.requests.some(({ url }) => url.startsWith('/v1/hop'))).toBe(true);
		// Only what an edit starts from was asked for there.
		expect(new Set(images.requests.map(({ url }) => url))).toEqual(new Set(['/source.png']));
		expectKeptAway(images);
	}, 60_000);

	test('faults of the network do not show them either', async () => {
		const images = await opened(serve((_, response) => void response.end(TINY_PNG)));
		const cut = await opened(serve((request) => request.socket.destroy()));
		const addresses = [cut.url, secure.gateway.url];
		for (const [nth, name] of Object.keys(RUNS).entries()) {
			const host = await hostWith({
				baseUrl: addresses[nth % 2],
				messageAuth: nth % 4 < 2 ? 'authorization' : 'xApiKey',
			});
			const workflow = RUNS[name]!({}, { checkLimits: false, timeout: 1 });
			const source = `${images.url}/source.png`;
			const result = await host.run(workflow, { input: [{ json: { source } }] });
			expect(result.error).toBeDefined();
			for (const text of keptOf(result)) expect(text).not.toContain('0123456789');
		}
	}, 60_000);
});

describe('an expression of the item as the key', () => {
	const keys = ['sk-embedded-gateway-one', 'sk-embedded-gateway-two'];
	test.each<[string, string, object]>([
		['as the field itself', '={{ $json.key }}', {}],
		['by its place', `={{ $itemIndex === 0 ? '${keys[0]}' : '${keys[1]}' }}`, {}],
		['in the address', keys[0]!, { baseUrl: '={{ "http://127.0.0." + $json.nested.id }}' }],
		[
			'in an additional header',
			keys[0]!,
			{ headers: { values: [{ name: 'x-team-token', value: '={{ $json.nested.id }}' }] } },
		],
		[
			'in whose certificate is checked',
			keys[0]!,
			{ allowUnauthorizedCerts: '={{ $json.nested.id === 1 }}' },
		],
	])('no item pays with what another has: refused %s', async (_, apiKey, more) => {
		const to = await hostFor({ baseUrl: bench.gateway.url, apiKey, ...more });
		const { error } = await to.run(workflowOf('imageGeneration', { prompt: 'a fox' }), {
			input: ['one', 'two'].map((name, id) => ({
				json: { name, key: keys[id], nested: { id: id + 1 } },
			})),
		});
		expect(error?.message).toMatch(/different values for different items/);
		expect(error).toMatchObject({ context: { itemIndex: 1 } });
		expect(bench.gateway.requests).toEqual([]);
	});

	test('works where it is the same for all items', async () => {
		const host = await hostFor({ baseUrl: bench.gateway.url, apiKey: '={{ $json.key }}' });
		const result = await host.run(workflowOf('imageGeneration', { prompt: 'a fox' }), {
			input: [1, 2].map(() => ({ json: { key: keys[0] } })),
		});
		expect(result.error).toBeUndefined();
		expect(result.output(NODE)).toHaveLength(2);
	});
});
