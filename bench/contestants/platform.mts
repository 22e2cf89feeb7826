/**
 * n8n's own HTTP helper and nothing else: a node that calls it in a loop. What this costs no node
 * can go below.
 */
import type { BuiltInNode } from '../../test/engine/built-in-nodes.mjs';
import { createHost } from '../../test/engine/host.mjs';
import { MODEL, type Contestant, type Prepare } from '../work.mjs';
import { chain, inputFor, outcomeOf, START } from './package.mjs';

const CONCURRENCY = 10;

const bareNode = (url: string): BuiltInNode => ({
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
		const items = this.getInputData();
		let next = 0;
		const lane = async () => {
			while (next < items.length) {
				const item = next++;
				await this.helpers.httpRequestWithAuthentication.call(this, 'mediaGatewayApi', {
					method: 'POST',
					url: `${url}/v1/images/generations`,
					body: { model: MODEL, prompt: items[item]!.json.prompt },
					json: true,
				});
			}
		};
		await Promise.all(Array.from({ length: CONCURRENCY }, lane));
		return [items.map(({ json }, item) => ({ json, pairedItem: { item } }))];
	},
});

export async function platform({ url, key }: Prepare): Promise<Contestant> {
	const host = await createHost({
		credentials: { mediaGatewayApi: { baseUrl: url, apiKey: key } },
		extraNodeTypes: { 'bench.bare': bareNode(url) },
	});
	return {
		run: async (work) => {
			if (work.kind !== 'generate') throw new Error(`Not measured of the platform: ${work.kind}`);
			const result = await host.run(chain(START, { name: 'Bare', type: 'bench.bare' }), {
				input: inputFor(work),
				mode: 'trigger',
			});
			return outcomeOf(result, 'Bare');
		},
	};
}
