/**
 * n8n's own HTTP helper and nothing else: a node that calls it in a loop. What this costs no node
 * can go below.
 */
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type {
	IDataObject,
	IExecuteFunctions,
	IHttpRequestOptions,
} from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { BuiltInNode } from '../../test/engine/built-in-nodes.mjs';
import { createHost } from '../../test/engine/host.mjs';
import { pooled } from '../../test/pooled.mjs';
import { MODEL, type Contestant, type Prepare, type Work } from '../work.mjs';
import { chain, inputFor, outcomeOf, START } from './package.mjs';

const CONCURRENCY = 10;

async function execute(context: IExecuteFunctions, base: string, work: Work): Promise<void> {
	const prompts = context.getInputData().map(({ json }) => json.prompt);
	const concurrency = work.concurrency ?? CONCURRENCY;
	const request = async (options: Omit<IHttpRequestOptions, 'url'>, path: string) =>
		(await context.helpers.httpRequestWithAuthentication.call(context, 'mediaGatewayApi', {
			...options,
			url: `${base}/v1/images/generations${path}`,
			json: true,
		})) as IDataObject;
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
	if (work.kind !== 'tasks') throw new Error(`Not measured of the platform: ${work.kind}`);
	let open = await pooled(
		prompts,
		concurrency,
		async (prompt) => (await create(prompt, '?async=true')).id as string,
	);
	while (open.length > 0) {
		await sleep(work.pauseS * 1000);
		const answers = await pooled(
			open,
			concurrency,
			async (id) => await request({ method: 'GET' }, `/${id}`),
		);
		open = open.filter((_, index) => answers[index]?.status !== 'completed');
	}
}

function bareNode(base: string, workNow: () => Work): BuiltInNode {
	return {
		description: {
			name: 'bare',
			displayName: 'bare',
			description: 'bare',
			group: ['transform'],
			version: [1],
			defaults: { name: 'bare' },
			inputs: ['main'],
			outputs: ['main'],
			credentials: [{ name: 'mediaGatewayApi', required: true }],
			properties: [],
		} as unknown as BuiltInNode['description'],
		async execute() {
			await execute(this, base, workNow());
			return [this.getInputData().map(({ json }, item) => ({ json, pairedItem: { item } }))];
		},
	};
}

export async function platform({ url, key }: Prepare): Promise<Contestant> {
	let now: Work;
	const host = await createHost({
		credentials: { mediaGatewayApi: { baseUrl: url, apiKey: key } },
		extraNodeTypes: { 'bench.bare': bareNode(url, () => now) },
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
