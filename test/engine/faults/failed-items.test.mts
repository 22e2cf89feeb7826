/** Wherever an item fails, it says what it is about and what it cost, as the gateway's records do. */
import '../fast-time.mjs';
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { opened } from '../opened.mjs';
import {
	byName,
	hostFor,
	MODEL,
	NODE,
	openBench,
	serve,
	TINY_PNG,
	workflowOf,
	type Bench,
	type NodeName,
	type Settings,
} from '../workbench.mjs';
import { factsIn, factsOf, parametersOf, PLACES, PROMPT, type Place } from './failure-places.mjs';

let bench: Bench;
let source: string;
beforeAll(async () => {
	bench = await opened(openBench());
	const image = (response: { end(bytes: Buffer): void }): void => response.end(TINY_PNG);
	({ url: source } = await opened(serve((_, response) => image(response))));
});
beforeEach(() => bench.gateway.reset());

const RETRY = { retryOnFail: true, maxTries: 2, waitBetweenTries: 1 };
const ON_ERROR: Array<[string, Settings]> = [
	['Stop', {}],
	['Continue', { onError: 'continueRegularOutput' }],
	['Continue (using error output)', { onError: 'continueErrorOutput' }],
	['Continue, with Retry On Fail', { onError: 'continueRegularOutput', ...RETRY }],
];

/** What a node that gets tasks is given: an item of mode Submit Only. */
async function submitted(prompt: string): Promise<N8n.IDataObject> {
	const parameters = { model: byName(MODEL), prompt, mode: 'submit' };
	const { json } = await bench.run('imageGeneration', parameters);
	return json(NODE)[0]!;
}

async function fail(
	{ parameters, faults = [], prompt = PROMPT, key }: Place,
	node: NodeName,
	settings: Settings,
) {
	const isGetting = node === 'imageWait' || node === 'imageTask';
	const json = isGetting ? await submitted(prompt) : {};
	bench.gateway.setFaults(faults);
	const own = parametersOf(node, prompt);
	const file = node === 'imageEdit' ? { imageUrl: `${source}/one.png` } : {};
	const workflow = workflowOf(node, { ...own, ...file, ...parameters }, settings);
	const credential = { baseUrl: bench.gateway.url, apiKey: key };
	const host = key === undefined ? bench.host : await hostFor(credential);
	const result = await host.run(workflow, { input: [{ json }] });
	const items = [0, 1].flatMap((output) => result.json(NODE, output));
	const error = result.error as { context?: { details?: N8n.IDataObject } } | undefined;
	return { items, details: error?.context?.details ?? (items[0]?.details as N8n.IDataObject) };
}

const rows = PLACES.flatMap((place) =>
	place.nodes.flatMap((node) =>
		ON_ERROR.map(([name, settings]) => [
			`${node}: ${place.where} (${name})`,
			place,
			node,
			settings,
		]),
	),
) as Array<[string, Place, NodeName, Settings]>;

test.each(rows)('%s', async (_, place, node, settings) => {
	const { items, details } = await fail(place, node, settings);
	const facts = factsIn(details);
	expect(facts).toEqual(factsOf(place, node));
	// On the regular output and on the error output alike: the engine must recognize it.
	if (settings.onError !== undefined) expect(items).toHaveLength(1);
	const { paid } = bench.gateway;
	if (facts.charged === 'no') expect(paid).toBe(0);
	if (facts.charged === 'yes') expect(paid).toBe(1);
});
