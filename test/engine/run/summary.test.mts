/** What a run says that it did, held against the gateway's own books. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { RunResult } from '../../../harness/engine/host.mjs';
import { opened, sharedBench } from '../opened.mjs';
import { NODE, openBench, workflowOf } from '../workbench.mjs';

const PRICE = 0.04;
const PROMPT = '={{ $json.prompt }}';
/** The rest of a summary where nothing went wrong. */
const SMOOTH = { unpricedImages: 0, rateLimitedRequests: 0, reusedItems: 0, failedItems: 0 };

const bench = sharedBench();

const prompts = (...texts: string[]): IDataObject[] => texts.map((prompt) => ({ prompt }));
const hintsOf = (result: RunResult) =>
	result.hints(NODE).flatMap(({ type, message }) => (type === 'info' ? [message] : []));
const refusals = () => bench.gateway.requests.filter(({ status }) => status === 429).length;
const cost = (images: number) => Math.round(images * PRICE * 1e6) / 1e6;
/** The summary of a run, and that it is in one item only, the last good one. */
function summaryIn(result: RunResult): unknown {
	expect(result.error).toBeUndefined();
	const items = result.output(NODE);
	const good = items.filter(({ json }) => json.error === undefined);
	const holders = items.filter(({ json }) => json.summary !== undefined);
	expect(holders).toEqual([good.at(-1)]);
	return holders[0]?.json.summary;
}

test('images, tasks, cost; a hint without being asked', async () => {
	const parameters = { prompt: PROMPT, mode: 'wait', options: { n: 2, addSummary: true } };
	const result = await bench.run('imageGeneration', parameters, prompts('a', 'b', 'c'));
	expect(summaryIn(result)).toEqual({ images: 6, tasks: 3, estimatedCost: cost(6), ...SMOOTH });
	expect(hintsOf(result)).toEqual(['6 images; 3 tasks; estimated cost 0.24.']);
	expect(bench.gateway.paid).toBe(3);

	const plain = await bench.run('imageGeneration', { prompt: 'a fox' });
	expect(hintsOf(plain)).toEqual(['1 image; estimated cost 0.04.']);
	expect(plain.json(NODE)[0]).not.toHaveProperty('summary');
});

test('what has no price is named beside the sum, with the unit that the credential names', async () => {
	const own = await opened(openBench({ credential: { gatewaySettings: true, currency: ' USD ' } }));
	const model = { __rl: true, mode: 'name', value: '={{ $json.model }}' };
	const parameters = { prompt: 'a fox', model, options: { addSummary: true } };
	const rows = [{ model: 'aurora-image-1' }, { model: 'plain-image' }, { model: 'aurora-image-1' }];
	const result = await own.run('imageGeneration', parameters, rows);
	expect(hintsOf(result)).toEqual([
		'3 images; estimated cost 0.08 USD and 1 image without a known price.',
	]);
	const counts = { images: 3, estimatedCost: 0.08, unpricedImages: 1 };
	expect(summaryIn(result)).toMatchObject(counts);
	const dry = { ...parameters, options: { dryRun: true } };
	const { hints } = await own.run('imageGeneration', dry, rows);
	expect(hints(NODE).map(({ message }) => message)).toContain(
		'Dry run: 3 requests; estimated cost 0.08 USD; 1 without a known price.',
	);
});

test('requests over the rate limit, of every kind, as often as the gateway refused them', async () => {
	bench.gateway.setFaults([
		{ call: 'submit', kind: 'status', status: 429, match: 'owl', times: 2 },
		{ call: 'poll', kind: 'status', status: 429, match: 'fox', times: 3 },
	]);
	const result = await bench.run(
		'imageGeneration',
		{ prompt: PROMPT, mode: 'wait', options: { addSummary: true, pollInterval: 1 } },
		prompts('a fox', 'an owl', 'a hare'),
	);
	expect(refusals()).toBe(5);
	expect(summaryIn(result)).toMatchObject({ images: 3, tasks: 3, rateLimitedRequests: 5 });
	expect(hintsOf(result)[0]).toContain('5 requests retried after a rate limit');
});

test('failed items: refused, failed at the gateway, of unknown outcome, not downloaded', async () => {
	bench.gateway.setFaults([
		{ call: 'submit', kind: 'status', status: 400, match: 'owl' },
		{ call: 'submit', kind: 'cutAfter', match: 'hare' },
		{ call: 'download', kind: 'status', status: 404, match: 'crow' },
	]);
	const result = await bench.run(
		'imageGeneration',
		{ prompt: PROMPT, mode: 'wait', options: { addSummary: true, pollInterval: 1 } },
		prompts('a fox', 'an owl', 'a hare', 'a crow', 'a mole [fail]', ''),
		{ onError: 'continueRegularOutput' },
	);
	expect(bench.gateway.paid).toBe(4);
	// The gateway has four tasks; of the one whose outcome is unknown only the price counts.
	const counts = { images: 2, tasks: 3, estimatedCost: cost(4) };
	expect(summaryIn(result)).toEqual({ ...counts, ...SMOOTH, failedItems: 5 });
});

test('where all have failed it is among the details, and the item still is a failed one', async () => {
	bench.gateway.setFaults([{ call: 'sync', kind: 'status', status: 400 }]);
	const result = await bench.run(
		'imageGeneration',
		{ prompt: 'a fox', options: { addSummary: true } },
		[{}, {}],
		{ onError: 'continueErrorOutput' },
	);
	expect(result.json(NODE, 0)).toEqual([]);
	const [, last] = result.json(NODE, 1);
	expect(last?.details).toMatchObject({ httpCode: 400, summary: { images: 0, failedItems: 2 } });
});

test('it takes the place of nothing that the input has', async () => {
	bench.gateway.setFaults([{ call: 'sync', kind: 'status', status: 400 }]);
	const message = { chat: { id: 7 } };
	const result = await bench.run(
		'imageGeneration',
		{ prompt: 'a fox', options: { addSummary: true } },
		[{ message }],
		{ onError: 'continueRegularOutput' },
	);
	const summary = expect.objectContaining({ failedItems: 1 });
	expect(result.json(NODE)[0]).toMatchObject({ message, details: { httpCode: 400, summary } });
});

test('Retry On Fail: an unknown outcome is paid for, and no item that an earlier try has paid for', async () => {
	bench.gateway.setFaults([{ call: 'sync', kind: 'cutAfter', match: 'hare', times: 1 }]);
	const result = await bench.run(
		'imageGeneration',
		{ prompt: PROMPT, options: { addSummary: true } },
		prompts('a hare', 'a fox'),
		{ retryOnFail: true, maxTries: 2, waitBetweenTries: 1, onError: 'continueRegularOutput' },
	);
	expect([bench.gateway.paid, bench.gateway.count('sync')]).toEqual([2, 2]);
	const counts = { images: 1, estimatedCost: cost(2), reusedItems: 1, failedItems: 1 };
	expect(summaryIn(result)).toMatchObject(counts);
	const hint =
		/^1 image; estimated cost 0.04; 1 item failed: .*; 1 item paid for by an earlier try\.$/;
	expect(hintsOf(result)).toEqual([expect.stringMatching(hint)]);
});

test('n8n’s Retry: a refused request has no cost, though an earlier one may have been charged', async () => {
	bench.gateway.setFaults([{ call: 'sync', kind: 'cutAfter' }]);
	const parameters = { prompt: 'a hare', options: { addSummary: true } };
	const failed = await bench.run('imageGeneration', parameters);
	bench.gateway.setFaults([{ call: 'sync', kind: 'status', status: 400 }]);
	const goOn = { onError: 'continueRegularOutput' } as const;
	const result = await bench.host.retry(failed, workflowOf('imageGeneration', parameters, goOn));
	const { summary, ...details } = result.json(NODE)[0]!.details as IDataObject;
	expect(details).toMatchObject({ charged: 'maybe', httpCode: 400 });
	for (const one of [details, summary]) expect(one).not.toHaveProperty('estimatedCost');
});

test('Submit Only and Image Wait: the tasks of the one are the images of the other', async () => {
	const submitted = await bench.run(
		'imageGeneration',
		{ prompt: PROMPT, mode: 'submit', options: { addSummary: true } },
		prompts('a fox', 'an owl'),
	);
	expect(summaryIn(submitted)).toMatchObject({ images: 0, tasks: 2, estimatedCost: cost(2) });
	expect(hintsOf(submitted)).toEqual(['2 tasks; estimated cost 0.08.']);
	const tasks = submitted.json(NODE).map(({ summary, ...task }) => task);
	const waited = await bench.run('imageWait', { options: { addSummary: true } }, tasks);
	expect(summaryIn(waited)).toEqual({ images: 2, tasks: 2, estimatedCost: cost(2), ...SMOOTH });
	expect(waited.json(NODE).map(({ estimatedCost }) => estimatedCost)).toEqual([PRICE, PRICE]);
});

test.each([
	['the second', [{}, { estimatedCost: 2 * PRICE, pricePerImage: PRICE }]],
	['the first', [{ estimatedCost: 2 * PRICE, pricePerImage: PRICE }, {}]],
	['one without a type', [{}, { estimatedCost: PRICE, taskType: undefined }]],
	// How many images were requested wasn't clear.
	['one with the price of an image', [{ pricePerImage: PRICE }, {}]],
])('two items of one task, of which %s has a price: it is in the sum', async (_, facts) => {
	const options = { addSummary: true };
	const submit = { prompt: PROMPT, mode: 'submit', options };
	const submitted = await bench.run('imageGeneration', submit, prompts('a fox'));
	const [{ taskId, taskType }] = submitted.json(NODE) as [IDataObject];
	const items = facts.map((more) => ({ taskId, taskType, ...more }));
	const waited = await bench.run('imageWait', { options }, items);
	expect(summaryIn(waited)).toMatchObject({ images: 1, tasks: 1, estimatedCost: PRICE });
});

test('a dry run has done nothing, and says what would be done', async () => {
	const options = { addSummary: true, dryRun: true, n: '={{ [1, 9, 0][$itemIndex] }}' };
	const goOn = { onError: 'continueRegularOutput' } as const;
	const dry = await bench.run('imageGeneration', { prompt: 'a fox', options }, [{}, {}, {}], goOn);
	expect(dry.json(NODE)).toMatchObject([
		{ estimatedCost: PRICE, verdict: 'Passed' },
		{ verdict: expect.stringMatching(/^Would be refused: .* is 9/) },
		{ error: expect.any(String) },
	]);
	expect(summaryIn(dry)).toMatchObject({ images: 0, tasks: 0, failedItems: 1 });
	expect(dry.hints(NODE).map(({ message }) => message)).toEqual([
		expect.stringMatching(/^Dry run: 2 requests; estimated cost [\d.]+; 1 item failed\.$/),
	]);
	expect(bench.gateway.paid).toBe(0);
});

test('files inside the execution are warned of when they are many megabytes', async () => {
	const own = await opened(openBench({ imageBytes: 9e6, host: { binaryMode: 'memory' } }));
	const result = await own.run('imageGeneration', { prompt: PROMPT }, prompts('a', 'b', 'c'));
	expect(result.output(NODE)).toHaveLength(3);
	expect(result.hints(NODE).filter(({ type }) => type === 'warning')).toMatchObject([
		{ message: expect.stringMatching(/stores these images inside .* 27 MB .*'Download'/) },
	]);
});

test('the hint tells why: the commonest reason first, with its number, whatever the tries and IDs', async () => {
	const own = await opened(openBench());
	own.gateway.setFaults([
		{ call: 'sync', kind: 'status', status: 429, match: 'late', times: 1 },
		{ call: 'sync', kind: 'status', status: 403, match: 'late' },
		{ call: 'sync', kind: 'status', status: 403, match: 'a fox' },
		{ call: 'sync', kind: 'status', status: 413, match: 'an owl' },
	]);
	const result = await own.run(
		'imageGeneration',
		{ prompt: PROMPT },
		prompts('an owl', 'a fox', 'a late fox', 'a hare'),
		{ onError: 'continueRegularOutput' },
	);
	const [hint] = result.hints(NODE).map(({ message }) => message);
	expect(hint).toMatch(
		/; 3 items failed: 2 × [^×]*\(403\)[^×]*, 1 × [^×]*\(413\)[^×]*; 1 request retried after a rate limit\.$/,
	);
});

describe('a batch of ten or more that waits in memory', () => {
	const advice =
		"In the middle of such a run, a crash of n8n would lose them: add the option 'Survive";
	const many = (count: number) => prompts(...Array.from({ length: count }, (_, n) => `a fox ${n}`));
	const adviceIn = (result: RunResult) =>
		hintsOf(result).filter((message) => message.includes(advice)).length;

	test.each([
		[10, 'wait', 1],
		[9, 'wait', 0],
		[10, 'submit', 0],
		[10, 'sync', 0],
	])('%i images in mode %s: the hint names the cure %i times', async (count, mode, times) => {
		const parameters = { prompt: PROMPT, mode };
		const result = await bench.run('imageGeneration', parameters, many(count));
		expect([result.error, adviceIn(result)]).toEqual([undefined, times]);
	});

	test('of Image Wait too, though another node has submitted it', async () => {
		const submit = { prompt: PROMPT, mode: 'submit' };
		const tasks = (await bench.run('imageGeneration', submit, many(10))).json(NODE);
		expect(adviceIn(await bench.run('imageWait', {}, tasks))).toBe(1);
	});
});

test('an error says by which number n8n calls the item, and names a row without a prompt', async () => {
	const row = (sku: string, prompt: string) => ({ nothing: '', nested: {}, sku, prompt });
	const rows = [row('A-1', 'a fox'), row('A-2', ''), row('A-3', 'an owl')];
	const one = await bench.run('imageGeneration', { prompt: PROMPT }, rows);
	expect(one.error?.description).toContain(
		'It was item 2 ("sku: A-2"). n8n counts from 0: [item 1].',
	);
	const two = await bench.run('imageGeneration', { prompt: PROMPT }, [...rows, row('A-4', '')]);
	expect(two.error?.message).toContain('2 items failed. Item 2 ("sku: A-2"): ');
	expect(two.error?.description).toMatch(
		/n8n counts from 0: \[item 1\]\.\nItem 2 \("sku: A-2"\): .*\nItem 4 \("sku: A-4"\): /,
	);
	const seven = await bench.run('imageGeneration', { prompt: PROMPT }, Array(7).fill(row('B', '')));
	expect(seven.error?.description).toMatch(
		/\nItem 5 .*\n'Error details' below lists the others\.$/,
	);
	expect(seven.error).toMatchObject({ messages: { length: 7 } });
	expect(bench.gateway.paid).toBe(0);
});
