/** What the tests of the nodes share: a gateway, a host with its credential, and small workflows. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import {
	createServer,
	type ClientRequest,
	type IncomingMessage,
	type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { startGateway, type Gateway, type GatewayOptions } from '../../simulator/gateway.mjs';
import { pooled } from '../../harness/pooled.mjs';
import { TINY_PNG } from '../../harness/tiny-png.mjs';
import {
	createHost,
	type Host,
	type HostOptions,
	type RunOptions,
	type RunResult,
	type WorkflowJson,
} from '../../harness/engine/host.mjs';

export { TINY_PNG };

export const MODEL = 'aurora-image-1';

/** The node under test is called this. */
export const NODE = 'Node';

export type NodeName =
	| 'imageEdit'
	| 'imageGeneration'
	| 'imageTask'
	| 'imageWait'
	| 'mediaModels'
	| 'message';
export type Settings = Partial<N8n.INode>;
type Parameters = Record<string, unknown>;

export interface Bench {
	gateway: Gateway;
	host: Host;
	/** Runs one node for the given items (one empty item by default). */
	run(
		type: NodeName,
		parameters?: Parameters,
		items?: N8n.IDataObject[],
		settings?: Settings,
		options?: RunOptions,
	): Promise<RunResult>;
	/** Submits a task for each prompt, outside of n8n, and gives the IDs. */
	submit(...prompts: string[]): Promise<string[]>;
	submitEdit(prompt?: string): Promise<string>;
	close(): Promise<void>;
}

export interface BenchOptions extends Omit<GatewayOptions, 'host'> {
	credential?: Record<string, unknown>;
	host?: HostOptions;
}

/** Opens a gateway whose tasks are done at once, and a host that holds the first account's key. */
export async function openBench({
	credential,
	host: hostOptions,
	...options
}: BenchOptions = {}): Promise<Bench> {
	const gateway = await startGateway({ taskSeconds: 0, imageSize: 32, ...options });
	const host = await hostFor({ baseUrl: gateway.url, ...credential }, hostOptions).catch(
		async (error: unknown) => {
			// An open gateway would keep the test run from ending.
			await gateway.close();
			throw error;
		},
	);
	const [key] = gateway.keys;

	async function post(path: string, body: FormData | object): Promise<string> {
		const form = body instanceof FormData;
		const response = await fetch(`${gateway.url}${path}?async=true`, {
			method: 'POST',
			headers: {
				authorization: `Bearer ${key}`,
				...(form ? {} : { 'content-type': 'application/json' }),
			},
			body: form ? body : JSON.stringify(body),
		});
		return ((await response.json()) as { id: string }).id;
	}

	return {
		gateway,
		host,
		run: async (type, parameters = {}, items = [{}], settings = {}, runOptions = {}) =>
			await host.run(workflowOf(type, parameters, settings), {
				input: items.map((json) => ({ json })),
				...runOptions,
			}),
		submit: async (...prompts) =>
			// Not all at once: the gateway counts how many requests it saw at the same time.
			await pooled(
				prompts,
				5,
				async (prompt) => await post('/v1/images/generations', { model: MODEL, prompt }),
			),
		submitEdit: async (prompt = 'an edit') => {
			const form = new FormData();
			form.set('model', MODEL);
			form.set('prompt', prompt);
			form.set('image', new Blob([TINY_PNG], { type: 'image/png' }), 'one.png');
			return await post('/v1/images/edits', form);
		},
		close: async () => await gateway.close(),
	};
}

/**
 * A host whose credential has the first account's key and uses all its fields, unless told
 * otherwise.
 */
export async function hostFor(
	credential: Record<string, unknown>,
	options: HostOptions = {},
): Promise<Host> {
	const usual = { apiKey: 'sk-embedded-gateway-one', gatewaySettings: true };
	return await createHost({
		credentials: { mediaGatewayApi: { ...usual, ...credential } },
		...options,
	});
}

/** Start → node under test. */
export function workflowOf(
	type: NodeName,
	parameters: Parameters = {},
	settings: Settings = {},
): WorkflowJson {
	const model = makesImages(type) ? { model: byName(MODEL) } : {};
	return {
		nodes: [
			{ name: 'Start', type: 'n8n-nodes-base.manualTrigger' },
			{
				name: NODE,
				type: `n8n-nodes-media-gateway.${type}`,
				parameters: { ...model, ...oneRequest(type), ...parameters } as N8n.INodeParameters,
				...settings,
			},
		],
		connections: { Start: { main: [[{ node: NODE, type: 'main', index: 0 }]] } },
	};
}

/** The same workflow, whose node is reached by several branches: n8n runs it once for each, as a loop does. */
export function reachedAgain(workflow: WorkflowJson, times: number): WorkflowJson {
	const names = Array.from({ length: times }, (_, index) => `Branch ${index}`);
	const to = (node: string) => ({ node, type: 'main' as const, index: 0 });
	return {
		...workflow,
		nodes: [...workflow.nodes, ...names.map((name) => ({ name, type: 'n8n-nodes-base.noOp' }))],
		connections: {
			...workflow.connections,
			Start: { main: [names.map(to)] },
			...Object.fromEntries(names.map((name) => [name, { main: [[to(NODE)]] }])),
		},
	};
}

const makesImages = (type: string) => type === 'imageGeneration' || type === 'imageEdit';

/** One request for each item, where a test chooses no mode; `mode: undefined` is the node's default. */
export const oneRequest = (type: string) => (makesImages(type) ? { mode: 'sync' } : {});

export const byName = (value: string) => ({ __rl: true, mode: 'name', value });

export interface OwnServer {
	url: string;
	/** What arrived, in order. */
	requests: Array<{ method: string; url: string; headers: IncomingMessage['headers'] }>;
	close(): Promise<void>;
}

/** A server of one's own: another host, or a gateway that responds with what no gateway should. */
export async function serve(
	respond: (request: IncomingMessage, response: ServerResponse, url: string, body: Buffer) => void,
): Promise<OwnServer> {
	const requests: OwnServer['requests'] = [];
	let url = '';
	const server = createServer((request, response) => {
		const { method = '', url: path = '', headers } = request;
		requests.push({ method, url: path, headers });
		const chunks: Buffer[] = [];
		request.on('data', (chunk: Buffer) => chunks.push(chunk));
		request.once('end', () => respond(request, response, url, Buffer.concat(chunks)));
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	return {
		url,
		requests,
		close: async () => {
			server.closeAllConnections();
			await new Promise((resolve) => server.close(resolve));
		},
	};
}

export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
	response.writeHead(status, { 'content-type': 'application/json' });
	response.end(JSON.stringify(body));
}

/** Below what systems give out by themselves: nobody is given a port from here a moment later. */
const FIRST_DEAD_PORT = 10_000;
let deadPorts = process.pid * 101;

/** An address at which nothing answers. */
export async function deadAddress(): Promise<string> {
	for (;;) {
		const port = FIRST_DEAD_PORT + (deadPorts++ % 20_000);
		const server = createServer();
		const isFree = await new Promise<boolean>((resolve) => {
			server.once('error', () => resolve(false));
			server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
		});
		if (isFree) return `http://127.0.0.1:${port}`;
	}
}

/** Everything in a value as one text: own and inherited fields, hidden ones, causes, circles. */
export function everythingIn(value: unknown): string {
	const seen = new Set<unknown>();
	const texts: string[] = [];
	const visit = (part: unknown): void => {
		if (typeof part === 'string') texts.push(part);
		if (typeof part === 'number' || typeof part === 'boolean') texts.push(String(part));
		if (typeof part !== 'object' || part === null || seen.has(part)) return;
		seen.add(part);
		if (Buffer.isBuffer(part)) {
			texts.push(part.toString('latin1'));
			return;
		}
		if (part instanceof Map || part instanceof Set) [...part].forEach(visit);
		for (const name of Reflect.ownKeys(part)) {
			texts.push(String(name));
			const { value: own } = Object.getOwnPropertyDescriptor(part, name) ?? {};
			visit(own);
		}
	};
	visit(value);
	return texts.join('\n');
}

/**
 * Counts the requests that leave this process, by what Node.js itself tells of them. A server counts
 * what arrives, which can be a little later.
 */
export function countRequests(): { to(address: string): number; stop(): void } {
	const hosts: string[] = [];
	const note = (message: unknown): void => {
		hosts.push(String((message as { request: ClientRequest }).request.getHeader('host')));
	};
	subscribe('http.client.request.start', note);
	return {
		to: (address) => hosts.filter((host) => host === new URL(address).host).length,
		stop: () => void unsubscribe('http.client.request.start', note),
	};
}
