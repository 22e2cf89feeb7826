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
import { MODEL, type Contestant, type Prepare, type Work } from '../work.mjs';
import { chain, inputFor, outcomeOf, START } from './package.mjs';

const CONCURRENCY = 10;

/** Does something for each item, so many at a time; in the order of the items. */
async function eachOf<T>(
	count: number,
	concurrency: number,
	act: (item: number) => Promise<T>,
): Promise<T[]> {
	const results: T[] = [];
	let next = 0;
	const lane = async () => {
		while (next < count) {
			const item = next++;
			results[item] = await act(item);
		}
	};
	await Promise.all(Array.from({ length: concurrency }, lane));
	return results;
}

async function execute(context: IExecuteFunctions, base: string, work: Work): Promise<void> {
	const prompts = context.getInputData().map(({ json }) => json.prompt);
	const concurrency = work.concurrency ?? CONCURRENCY;
	const request = async (options: Omit<IHttpRequestOptions, 'url'>, path: string) =>
		(await context.helpers.httpRequestWithAuthentication.call(context, 'mediaGatewayApi', {
			...options,
			url: `${base}/v1/images/generations${path}`,
			json: true,
		})) as IDataObject;
	const create = async (item: number, query: string) =>
		await request({ method: 'POST', body: { model: MODEL, prompt: prompts[item] } }, query);

	if (work.kind === 'generate') {
		await eachOf(prompts.length, concurrency, async (item) => await create(item, ''));
		return;
	}
	if (work.kind === 'wait' && work.download) {
		await eachOf(work.ids.length, concurrency, async (index) => {
			const { data } = await request({ method: 'GET' }, `/${work.ids[index]}`);
			const [{ url }] = data as [{ url: string }];
			const image = (await context.helpers.httpRequest({ url, encoding: 'stream' })) as Readable;
			await context.helpers.prepareBinaryData(image, 'image.png', 'image/png');
		});
		return;
	}
	if (work.kind !== 'tasks') throw new Error(`Not measured of the platform: ${work.kind}`);
	let open = await eachOf(
		prompts.length,
		concurrency,
		async (item) => (await create(item, '?async=true')).id as string,
	);
	while (open.length > 0) {
		await sleep(work.pauseS * 1000);
		const answers = await eachOf(
			open.length,
			concurrency,
			async (index) => await request({ method: 'GET' }, `/${open[index]}`),
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
