/** What a run says that it did, held against the gateway's own books. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { RunResult } from '../../../harness/engine/host.mjs';
import { opened, sharedBench } from '../opened.mjs';
import {
	hostFor,
	MODEL,
	NODE,
	openBench,
	sendJson,
	serve,
	TINY_PNG,
	workflowOf,
} from '../workbench.mjs';

const PRICE = 0.04;
const PROMPT = '={{ $json.prompt }}';

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

test.each(['sync', 'wait'])('%s: images, tasks, cost; a hint without being asked', async (mode) => {
	const parameters = { prompt: PROMPT, mode, options: { n: 2, addSummary: true } };
	const result = await bench.run('imageGeneration', parameters, prompts('a', 'b', 'c'));
	expect(summaryIn(result)).toEqual({
		images: 6,
		tasks: mode === 'sync' ? 0 : 3,
		estimatedCost: cost(6),
		rateLimitedRequests: 0,
		reusedItems: 0,
		failedItems: 0,
	});
	const tasks = mode === 'sync' ? '' : '3 tasks; ';
	expect(hintsOf(result)).toEqual([`6 images; ${tasks}estimated cost 0.24.`]);
	expect(bench.gateway.paid).toBe(3);

	const plain = await bench.run('imageGeneration', { prompt: 'a fox' });
	expect(hintsOf(plain)).toEqual(['1 image; estimated cost 0.04.']);
	expect(plain.json(NODE)[0]).not.toHaveProperty('summary');
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
	expect(summaryIn(result)).toEqual({
		images: 2,
		tasks: 3,
		estimatedCost: cost(4),
		rateLimitedRequests: 0,
		reusedItems: 0,
		failedItems: 5,
	});
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

test('Retry On Fail: what an earlier try has paid for counts once, and is named', async () => {
	bench.gateway.setFaults([{ call: 'sync', kind: 'status', status: 400, match: 'owl', times: 1 }]);
	const result = await bench.run(
		'imageGeneration',
		{ prompt: PROMPT, options: { addSummary: true, concurrency: 1 } },
		// One after another: the first two are accepted before the last one is refused.
		prompts('a fox', 'a hare', 'an owl'),
		{ retryOnFail: true, maxTries: 3, waitBetweenTries: 1 },
	);
	expect(bench.gateway.paid).toBe(3);
	expect(summaryIn(result)).toMatchObject({
		images: 3,
		estimatedCost: cost(3),
		reusedItems: 2,
		failedItems: 0,
	});
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
	expect(hintsOf(result)).toEqual([
		expect.stringMatching(
			/^1 image; estimated cost 0; 1 item failed: .*; 1 item paid for by an earlier try \(estimated cost 0.08 in all\)\.$/,
		),
	]);
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
	expect([details.estimatedCost, (summary as IDataObject).estimatedCost]).toEqual([
		undefined,
		undefined,
	]);
});

describe('a gateway that refuses an owl once', () => {
	const billing = { unit: 'image', mode: 'price', value: PRICE };
	const items = [{ model: MODEL, media_type: 'image', billing }];
	const IMAGE = { url: 'https://images.example/one.png' };
	/** The IDs of the tasks, one after another. */
	let ids: string[];
	/** The response to a paid request, beside its ID. */
	let reply: object;
	const host = async () => {
		let refused = false;
		const { url } = await opened(
			serve(({ method, url = '' }, response) => {
				if (url.includes('/media/models')) return sendJson(response, { data: { items } });
				const id = url.split('/').pop();
				if (method === 'GET') return sendJson(response, { id, status: 'completed', data: [IMAGE] });
				if (ids.length > 1 || refused) return sendJson(response, { id: ids.shift(), ...reply });
				refused = true;
				return sendJson(response, { error: 'no' }, 400);
			}),
		);
		return await hostFor({ baseUrl: url });
	};
	const options = { addSummary: true, concurrency: 1, pollInterval: 1 };
	const parameters = { prompt: PROMPT, mode: 'wait', download: false, options };
	const input = prompts('a fox', 'a hare', 'an owl').map((json) => ({ json }));

	test('the images of a task that the gateway gives to several items count once, in each try', async () => {
		ids = ['task_1', 'task_1', 'task_1'];
		reply = {};
		const settings = { retryOnFail: true, maxTries: 2, waitBetweenTries: 1 };
		const workflow = workflowOf('imageGeneration', parameters, settings);
		const result = await (await host()).run(workflow, { input });
		expect(summaryIn(result)).toEqual({
			images: 1,
			tasks: 3,
			estimatedCost: cost(3),
			rateLimitedRequests: 0,
			reusedItems: 2,
			failedItems: 0,
		});
		expect(hintsOf(result)).toEqual([
			'1 image; 3 tasks; estimated cost 0.04; 2 items paid for by an earlier try (estimated cost 0.12 in all).',
		]);
	});

	test('recorded images count as reused where their item fails before it is looked up', async () => {
		ids = ['task_1', 'task_2', 'task_3'];
		reply = { data: [{ b64_json: TINY_PNG.toString('base64') }] };
		const own = await host();
		const failed = await own.run(workflowOf('imageGeneration', parameters), { input });
		expect(failed.status).toBe('error');
		const settings = { onError: 'continueRegularOutput' } as const;
		const changed = { ...parameters, options: { ...options, maxWait: 'long' } };
		const result = await own.retry(failed, workflowOf('imageGeneration', changed, settings));
		expect(summaryIn(result)).toEqual({
			images: 2,
			tasks: 0,
			estimatedCost: cost(2),
			rateLimitedRequests: 0,
			reusedItems: 2,
			failedItems: 1,
		});
		expect(hintsOf(result)).toEqual([
			expect.stringMatching(/^2 images; estimated cost 0; 1 item failed: .*; 2 items paid/),
		]);
	});
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
	expect(summaryIn(waited)).toEqual({
		images: 2,
		tasks: 2,
		estimatedCost: cost(2),
		rateLimitedRequests: 0,
		reusedItems: 0,
		failedItems: 0,
	});
	expect(waited.json(NODE).map(({ estimatedCost }) => estimatedCost)).toEqual([PRICE, PRICE]);
});

test('Image Wait with all tasks still open: on the last of the second output', async () => {
	const ids = await bench.submit('a fox [slow 90]', 'an owl [slow 90]');
	const result = await bench.run(
		'imageWait',
		{ maxWait: 1, pollInterval: 1, options: { addSummary: true, onTimeout: 'output' } },
		ids.map((taskId) => ({ taskId })),
	);
	expect(result.json(NODE, 0)).toEqual([]);
	const [first, last] = result.json(NODE, 1);
	expect(first).not.toHaveProperty('summary');
	expect(last?.summary).toMatchObject({ images: 0, tasks: 2, failedItems: 0 });
});

test('Image Wait: a task that several items name was made and paid for once', async () => {
	const submitted = await bench.run('imageGeneration', {
		prompt: 'a fox',
		mode: 'submit',
		options: { n: 2 },
	});
	const [task] = submitted.json(NODE);
	const [other] = await bench.submit('an owl');
	const result = await bench.run('imageWait', { options: { addSummary: true } }, [
		task!,
		{ taskId: other },
		task!,
		task!,
	]);
	expect(result.json(NODE)).toHaveLength(7);
	expect(summaryIn(result)).toMatchObject({ images: 3, tasks: 2, estimatedCost: cost(2) });
	expect(bench.gateway.paid).toBe(2);
});

test('an edit says the same; a dry run has done nothing', async () => {
	const parameters = {
		prompt: 'Make it night',
		imageSource: 'url',
		imageUrl: `data:image/png;base64,${TINY_PNG.toString('base64')}`,
	};
	const edit = await bench.run('imageEdit', { ...parameters, options: { addSummary: true } });
	expect(summaryIn(edit)).toMatchObject({ images: 1, estimatedCost: PRICE });
	const dry = await bench.run('imageEdit', {
		...parameters,
		options: { addSummary: true, dryRun: true },
	});
	expect(summaryIn(dry)).toEqual({
		images: 0,
		tasks: 0,
		rateLimitedRequests: 0,
		reusedItems: 0,
		failedItems: 0,
	});
	expect(hintsOf(dry)).toEqual([]);
	expect(bench.gateway.paid).toBe(1);
});

test('files inside the execution are warned of when they are many megabytes', async () => {
	const warnings = async (binaryMode: 'memory' | 'filesystem', imageBytes: number) => {
		const own = await opened(openBench({ imageBytes, host: { binaryMode } }));
		const result = await own.run('imageGeneration', { prompt: PROMPT }, prompts('a', 'b', 'c'));
		expect(result.output(NODE)).toHaveLength(3);
		return result.hints(NODE).flatMap(({ type, message }) => (type === 'warning' ? message : []));
	};
	expect(await warnings('memory', 9_000_000)).toEqual([
		expect.stringMatching(/stores these images inside the execution.* 27 MB .*'Download'/),
	]);
	expect(await warnings('memory', 900_000)).toEqual([]);
	expect(await warnings('filesystem', 9_000_000)).toEqual([]);
});

test('a batch that the budget refuses says so in its one hint', async () => {
	const parameters = { prompt: PROMPT, options: { budget: 0.05 } };
	const onError = 'continueErrorOutput';
	const result = await bench.run('imageGeneration', parameters, prompts('a', 'b', 'c'), {
		onError,
	});
	expect(result.hints(NODE).map(({ message }) => message)).toEqual([
		'0 images; 3 items failed: The estimated cost of 0.12 exceeds the budget of 0.05.',
	]);
});
