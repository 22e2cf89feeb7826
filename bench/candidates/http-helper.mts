/**
 * n8n's own HTTP helper and nothing else: a node that calls it in a loop. What this costs no node
 * can go below. As `helperWithDeadline` it reads responses as streams, so that one without end can be cut off,
 * and has a signal for each request, so that it ends at its deadline: no node that does the like
 * can go below that.
 */
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type {
	IDataObject,
	IExecuteFunctions,
	IHttpRequestOptions,
} from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { smallNode, type BuiltInNode } from '../../harness/engine/built-in-nodes.mjs';
import { createHost } from '../../harness/engine/host.mjs';
import { pooled } from '../../harness/pooled.mjs';
import { MODEL, type Candidate, type Prepare, type Work } from '../work.mjs';
import { chain, inputFor, outcomeOf, START } from './package-nodes.mjs';

const CONCURRENCY = 10;
const LARGEST_BYTES = 64 * 1024 * 1024;
const LONGEST_MS = 300_000;

type Request = (options: IHttpRequestOptions) => Promise<IDataObject>;

const plain =
	(context: IExecuteFunctions): Request =>
	async (options) =>
		(await context.helpers.httpRequestWithAuthentication.call(context, 'mediaGatewayApi', {
			...options,
			json: true,
		})) as IDataObject;

const withDeadline =
	(context: IExecuteFunctions): Request =>
	async (options) => {
		// The helper takes the signal from the context.
		const own = Object.create(context, {
			getExecutionCancelSignal: { value: () => AbortSignal.timeout(LONGEST_MS) },
		}) as IExecuteFunctions;
		const body = (await own.helpers.httpRequestWithAuthentication.call(own, 'mediaGatewayApi', {
			...options,
			encoding: 'stream',
		})) as Readable;
		const chunks: Buffer[] = [];
		let size = 0;
		await new Promise<void>((resolve, reject) => {
			body.on('data', (chunk: Buffer) => {
				size += chunk.length;
				if (size > LARGEST_BYTES) body.destroy(new Error('Too large'));
				chunks.push(chunk);
			});
			body.on('end', resolve).on('error', reject);
		});
		return JSON.parse(Buffer.concat(chunks).toString('utf8')) as IDataObject;
	};

async function execute(
	context: IExecuteFunctions,
	base: string,
	work: Work,
	send: Request,
): Promise<void> {
	const prompts = context.getInputData().map(({ json }) => json.prompt);
	const concurrency = work.concurrency ?? CONCURRENCY;
	const request = async (options: Omit<IHttpRequestOptions, 'url'>, path: string) =>
		await send({ ...options, url: `${base}/v1/images/generations${path}` });
	const create = async (prompt: unknown, query: string) =>
		await request({ method: 'POST', body: { model: MODEL, prompt } as IDataObject }, query);

	if (work.kind === 'generate') {
		await pooled(prompts, concurrency, async (prompt) => await create(prompt, ''));
		return;
	}
	if (work.kind === 'wait' && work.download) {
		await pooled(work.ids, concurrency, async (id) => {
			const { data } = await request({ method: 'GET' }, `/${id}`);
			const [{ url }] = data as [{ url: string }];
			const image = (await context.helpers.httpRequest({ url, encoding: 'stream' })) as Readable;
			await context.helpers.prepareBinaryData(image, 'image.png', 'image/png');
		});
		return;
	}
	if (work.kind !== 'tasks') throw new Error(`Not measured of the helper: ${work.kind}`);
	let open = await pooled(
		prompts,
		concurrency,
		async (prompt) => (await create(prompt, '?async=true')).id as string,
	);
	while (open.length > 0) {
		await sleep(work.pauseS * 1000);
		const responses = await pooled(
			open,
			concurrency,
			async (id) => await request({ method: 'GET' }, `/${id}`),
		);
		open = open.filter((_, index) => responses[index]?.status !== 'completed');
	}
}

function bareNode(
	base: string,
	requests: (context: IExecuteFunctions) => Request,
	workNow: () => Work,
): BuiltInNode {
	return smallNode(
		'bare',
		async function () {
			await execute(this, base, workNow(), requests(this));
			return [this.getInputData().map(({ json }, item) => ({ json, pairedItem: { item } }))];
		},
		{ credentials: [{ name: 'mediaGatewayApi', required: true }] },
	);
}

export async function httpHelper({ candidate, url, key }: Prepare): Promise<Candidate> {
	let now: Work;
	const requests = candidate === 'helperWithDeadline' ? withDeadline : plain;
	const host = await createHost({
		credentials: { mediaGatewayApi: { baseUrl: url, apiKey: key } },
		extraNodeTypes: { 'bench.bare': bareNode(url, requests, () => now) },
	});
	return {
		run: async (work) => {
			now = work;
			const result = await host.run(chain(START, { name: 'Bare', type: 'bench.bare' }), {
				input: inputFor(work),
				mode: 'trigger',
			});
			return outcomeOf(result, 'Bare');
		},
	};
}
