/** Runs one node, or a chain of them, on items that may carry files, and looks at raw requests. */
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { smallNode, type BuiltInNode } from '../../harness/engine/built-in-nodes.mjs';
import type { Host, RunOptions, RunResult } from '../../harness/engine/host.mjs';
import { NODE, oneRequest, serve, type Settings } from './workbench.mjs';

export interface GivenFile {
	bytes: Buffer;
	fileName?: string;
	/** What n8n says that it is; by default what n8n does where it does not know. */
	mimeType?: string;
}

/** An item: its JSON, and its files by the name of the binary field. */
export interface Given {
	json?: N8n.IDataObject;
	files?: Record<string, GivenFile>;
	/** Binary data that no node of n8n would make. */
	binary?: Record<string, unknown>;
}

const stocks: Given[][] = [];

/**
 * Gives out items with files as Read File or HTTP Request do: through n8n's binary store, so that
 * the files lie wherever the mode of the host puts them.
 */
export const filesNode: Record<string, BuiltInNode> = {
	'test.files': smallNode(
		'files',
		async function () {
			const given = stocks[this.getNodeParameter('stock', 0) as number] ?? [];
			const items = given.map(async ({ json = {}, files = {}, binary: odd = {} }, item) => {
				const binary = { ...odd } as N8n.IBinaryKeyData;
				for (const [field, { bytes, fileName, mimeType }] of Object.entries(files)) {
					const type = mimeType ?? 'application/octet-stream';
					binary[field] = await this.helpers.prepareBinaryData(bytes, fileName, type);
				}
				return { json, binary, pairedItem: { item } };
			});
			return [await Promise.all(items)];
		},
		{ group: 'trigger', properties: [{ name: 'stock', type: 'number', default: 0 }] },
	),
};

type Step = { type: string; parameters?: object; settings?: Settings; name?: string };

/** Start, which gives out the items, and the nodes one after another; the first is called `Node`. */
export async function runChain(
	host: Host,
	items: Given[],
	steps: Step[],
	{ settings: ofWorkflow, ...options }: RunOptions & { settings?: N8n.IWorkflowSettings } = {},
): Promise<RunResult> {
	const stock = stocks.push(items) - 1;
	const names = steps.map(({ name }, index) => name ?? (index === 0 ? NODE : `${NODE} ${index}`));
	return await host.run(
		{
			settings: ofWorkflow,
			nodes: [
				{ name: 'Start', type: 'test.files', parameters: { stock } },
				...steps.map(({ type, parameters = {}, settings }, index) => ({
					name: names[index] as string,
					type: `n8n-nodes-media-gateway.${type}`,
					parameters: { ...oneRequest(type), ...parameters } as N8n.INodeParameters,
					...settings,
				})),
			],
			connections: Object.fromEntries(
				names.map((node, index) => [
					index === 0 ? 'Start' : (names[index - 1] as string),
					{ main: [[{ node, type: 'main' as const, index: 0 }]] },
				]),
			),
		},
		options,
	);
}

/** The error that ended a run, with the advice that the user reads below it. */
export function errorOf(result: Pick<RunResult, 'error'>): {
	message: string;
	description: string;
	/** The lines under *Error details*. */
	messages: string[];
	context: N8n.IDataObject;
	details: N8n.IDataObject;
	itemIndex?: unknown;
} {
	const error = result.error as
		| (N8n.ExecutionError & { context: N8n.IDataObject; messages?: string[] })
		| undefined;
	const context = error?.context ?? {};
	return {
		message: error?.message ?? '',
		description: String(error?.description ?? ''),
		messages: error?.messages ?? [],
		context,
		details: (context.details ?? {}) as N8n.IDataObject,
		itemIndex: context.itemIndex,
	};
}

/** A request as it came over the wire. */
export interface RawRequest {
	method: string;
	path: string;
	headers: Record<string, string | string[] | undefined>;
	/** Names as they were written, in the order of the wire, each before its value. */
	rawHeaders: string[];
	body: Buffer;
	/** What it was answered with. */
	answer: string;
}

export interface Tap {
	url: string;
	requests: RawRequest[];
	/** The requests that cost something: no listing. */
	readonly posts: RawRequest[];
	close(): Promise<void>;
}

/**
 * Stands before a gateway, notes every byte that is sent to it, and hands on request and answer.
 *
 * @param target the gateway's address; undefined: the response is one image for whatever was asked
 * @param instead answers some requests itself: a status, or `reset` to cut the connection
 */
export async function openTap(
	target?: string,
	instead: (nth: number) => number | 'reset' | undefined = () => undefined,
): Promise<Tap> {
	const requests: RawRequest[] = [];
	let posts = 0;
	const server = await serve((request, response, _url, body) => {
		const { method = '', url: path = '', headers, rawHeaders } = request;
		const record: RawRequest = { method, path, headers, rawHeaders, body, answer: '' };
		requests.push(record);
		const verdict = method === 'POST' ? instead((posts += 1)) : undefined;
		const answer = (status: number, type: string, text: string) => {
			record.answer = text;
			response.writeHead(status, { 'content-type': type }).end(text);
		};
		if (verdict === 'reset') return void request.socket.destroy();
		if (verdict !== undefined) {
			return answer(verdict, 'application/json', '{"error":{"message":"not now"}}');
		}
		if (target === undefined) {
			const data = [{ url: 'http://127.0.0.1:9/one.png' }];
			return answer(200, 'application/json', JSON.stringify({ created: 1, data }));
		}
		void handOn(target, record).then(({ status, type, text }) => answer(status, type, text));
	});
	return {
		...server,
		requests,
		get posts() {
			return requests.filter(({ method }) => method === 'POST');
		},
	};
}

/** Headers that belong to one connection and not to the request. */
const OF_THE_CONNECTION = ['host', 'connection', 'content-length', 'transfer-encoding', 'expect'];

async function handOn(target: string, { method, path, headers, body }: RawRequest) {
	const kept = Object.entries(headers).filter(([name]) => !OF_THE_CONNECTION.includes(name));
	const response = await fetch(target + path, {
		method,
		headers: Object.fromEntries(kept.map(([name, value]) => [name, String(value)])),
		...(method === 'GET' ? {} : { body: new Uint8Array(body) }),
	});
	const type = response.headers.get('content-type') ?? '';
	return { status: response.status, type, text: await response.text() };
}

/** A part of a form, as the platform's own parser reads it; bytes in Base64, which `expect` compares at once. */
export type Part = [name: string, value: string | { name: string; type: string; base64: string }];

/** The parts of a form in the order in which they came. */
export async function partsOf({ headers, body }: RawRequest): Promise<Part[]> {
	const type = String(headers['content-type']);
	const form = await new Response(new Uint8Array(body), {
		headers: { 'content-type': type },
	}).formData();
	return await Promise.all(
		[...form].map(async ([name, value]): Promise<Part> => {
			if (typeof value === 'string') return [name, value];
			const base64 = Buffer.from(await value.arrayBuffer()).toString('base64');
			return [name, { name: value.name, type: value.type, base64 }];
		}),
	);
}

/** The body with the boundary, which is chance, replaced by a fixed word. */
export function withoutBoundary({ headers, body }: RawRequest): string {
	const boundary = /boundary="?([^";]+)"?/.exec(String(headers['content-type']))?.[1];
	if (boundary === undefined) throw new Error('The form has no boundary.');
	return body.toString('latin1').replaceAll(boundary, 'BOUNDARY');
}
