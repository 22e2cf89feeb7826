/** What the error of a batch lists leads to every result that was paid for, and rows and sums agree. */
import '../fast-time.mjs';
import { errorOf } from '../one-node.mjs';
import { sharedBench } from '../opened.mjs';
import { byName, MODEL, NODE } from '../workbench.mjs';

const bench = sharedBench();

const PROMPT = '={{ $json.prompt }}';
type Entry = { item: number; taskId?: string; url?: string; outcome?: string; note?: string };
const paidIn = (error: unknown): Entry[] =>
	(error as { context: { details: { paid: Entry[] } } }).context.details.paid;
const failing = (prompt: string) => [
	{ call: 'any' as const, kind: 'status' as const, status: 400, match: prompt },
];

describe('Image Wait takes the list of a failed batch as it is', () => {
	test.each(['sync', 'wait'])('after mode %s', async (mode) => {
		bench.gateway.setFaults(failing('an owl'));
		const parameters = { model: byName(MODEL), prompt: PROMPT, mode };
		const prompts = ['a fox', 'an owl', 'a hen'].map((prompt) => ({ prompt }));
		const { error } = await bench.run('imageGeneration', parameters, prompts);
		bench.gateway.setFaults([]);
		const paid = paidIn(error);
		expect(paid.map(({ item }) => item)).toEqual([0, 2]);
		const addresses = paid.flatMap(({ url }) => url ?? []);
		expect(addresses.filter((url) => !URL.canParse(url))).toEqual([]);

		const before = bench.gateway.paid;
		const waited = await bench.run('imageWait', {}, paid);
		expect(waited.error).toBeUndefined();
		const images = waited.output(NODE);
		expect(images).toHaveLength(2);
		expect(images.map(({ binary }) => binary?.data?.mimeType)).toEqual(['image/png', 'image/png']);
		expect(bench.gateway.paid).toBe(before);
	});

	test.each<[string, object]>([
		['without an ID', {}],
		['with an ID that is no task', { taskId: 'req_7' }],
	])('a request of unknown outcome %s fails by itself', async (_, id) => {
		const [one, other] = await bench.submit('a fox', 'an owl');
		const paid = [{ taskId: one }, { outcome: 'unknown', ...id }, { taskId: other }];
		const waited = await bench.run('imageWait', {}, paid as never);
		expect(waited.error).toBeUndefined();
		const failed = { error: expect.any(String) as string, details: { charged: 'maybe' } };
		expect(waited.json(NODE)).toMatchObject([{ taskId: one }, failed, { taskId: other }]);
	});

	test('any other item without a task still ends the node', async () => {
		const [taskId] = await bench.submit('a fox');
		const waited = await bench.run('imageWait', {}, [{ taskId }, { note: 'x' }]);
		expect(waited.error?.message).toMatch(/'Task ID' is empty/);
	});

	test('a failed item on its way to Image Wait is the task that it names', async () => {
		const [taskId] = await bench.submit('a fox');
		const facts = { model: 'aurora-image-1', prompt: 'a fox', estimatedCost: 0.04 };
		const details = { charged: 'yes', taskId, taskType: 'generation', ...facts };
		// n8n adds the columns of the row to what leaves by an error output.
		const failed = { error: 'still open', details, url: 'https://shop.example/photo.png' };
		const waited = await bench.run('imageWait', {}, [failed]);
		expect(waited.json(NODE)).toMatchObject([{ taskId, status: 'completed', ...facts }]);
		const asked = await bench.run('imageTask', { taskId: '={{ $json.id }}' }, [failed]);
		expect(asked.json(NODE)).toMatchObject([{ taskId, taskType: 'generation' }]);
	});

	// As n8n gives them: a message behind Submit Only, and another node with the object of a trigger.
	test.each([
		['a message that was refused', { details: { charged: 'no', model: 'reason-large' } }],
		['another node', { message: { message_id: 7, chat: { id: 1 } } }],
	])('the open task of an item that %s has failed with is waited for', async (_, failure) => {
		const [taskId] = await bench.submit('a fox');
		const item = { taskId, taskType: 'generation', status: 'queued', error: 'no', ...failure };
		for (const parameters of [{}, { taskId: '={{ $json.taskId }}' }]) {
			const waited = await bench.run('imageWait', parameters, [item as never]);
			expect(waited.json(NODE)).toMatchObject([{ taskId, status: 'completed' }]);
		}
	});

	test('an image that could not be downloaded is had from the failed item', async () => {
		bench.gateway.setFaults([{ call: 'download', kind: 'status', status: 410, match: '' }]);
		const parameters = { model: byName(MODEL), prompt: 'a fox', mode: 'sync' };
		const onError = 'continueRegularOutput';
		const failed = await bench.run('imageGeneration', parameters, [{}], { onError });
		bench.gateway.setFaults([]);
		const waited = await bench.run('imageWait', {}, failed.json(NODE));
		expect(waited.output(NODE)[0]?.binary?.data?.mimeType).toBe('image/png');
	});

	test('a failed edit on its way to Image Wait is not the image that it was to edit', async () => {
		const P = 'n8n-nodes-media-gateway';
		const edit = (prompt: string) => ({
			...{ mode: 'wait', model: byName(MODEL), prompt },
			options: { maxWait: 5 },
		});
		const workflow = (prompt: string) => ({
			nodes: [
				{ name: 'Start', type: 'n8n-nodes-base.manualTrigger' },
				{
					name: 'Draw',
					type: `${P}.imageGeneration`,
					parameters: { mode: 'wait', model: byName(MODEL), prompt: 'a boat' },
				},
				{
					name: 'Edit',
					type: `${P}.imageEdit`,
					onError: 'continueErrorOutput' as const,
					parameters: edit(prompt),
				},
				{ name: NODE, type: `${P}.imageWait`, onError: 'continueRegularOutput' as const },
			],
			connections: {
				Start: { main: [[{ node: 'Draw', type: 'main', index: 0 }]] },
				Draw: { main: [[{ node: 'Edit', type: 'main', index: 0 }]] },
				Edit: { main: [[], [{ node: NODE, type: 'main', index: 0 }]] },
			},
		});
		const late = await bench.host.run(workflow('[slow 99] a red boat') as never);
		expect(late.json(NODE)).toMatchObject([
			{
				error: expect.stringContaining('still open'),
				details: { taskType: 'edit', prompt: '[slow 99] a red boat' },
			},
		]);
		bench.gateway.setFaults(failing('a blue boat'));
		const refused = await bench.host.run(workflow('a blue boat') as never);
		expect(refused.json(NODE)).toMatchObject([
			{
				error: "'Task ID' is empty",
				details: { description: expect.stringContaining('names no task') },
			},
		]);
	});

	test('the source of a failed edit is no image', async () => {
		const url = `${bench.gateway.url}/images/source.png`;
		const edit = { model: byName(MODEL), prompt: 'x', images: url };
		const keepsOn = { onError: 'continueRegularOutput' as const };
		const edited = await bench.run('imageEdit', edit, [{}], keepsOn);
		const [failed = {}] = edited.json(NODE);
		expect(failed).toMatchObject({ details: { description: expect.stringContaining(url) } });
		const waited = await bench.run('imageWait', {}, [failed], keepsOn);
		expect(waited.json(NODE)).toMatchObject([
			{
				error: "'Task ID' is empty",
				details: { description: expect.stringContaining('names no task') },
			},
		]);
	});

	test('entries without a task or image fail alone, with advice', async () => {
		const [taskId] = await bench.submit('a fox');
		const list = [
			{ item: 0, outcome: 'unknown' },
			{ item: 1, taskId, taskType: 'generation' },
			{ item: 2, note: 'the response to a message' },
		];
		const waited = await bench.run('imageWait', {}, list, { onError: 'continueRegularOutput' });
		const rows = waited.json(NODE);
		expect(rows.map(({ error, taskId: id }) => error ?? id)).toEqual([
			"'Task ID' is empty",
			taskId,
			"'Task ID' is empty",
		]);
		const advice = rows.map(({ details }) => (details as { description?: string })?.description);
		expect(advice[0]).toContain('usage log');
		expect(advice[2]).toContain('retry of the execution');
	});
});

test('a failed batch of messages lists the responses that a retry returns', async () => {
	bench.gateway.setFaults(failing('an owl'));
	const { error } = await bench.run(
		'message',
		{ model: 'reason-large', maxTokens: 500, prompt: PROMPT },
		['a fox', 'an owl', 'a hen'].map((prompt) => ({ prompt })),
	);
	expect(paidIn(error)).toEqual([
		{ item: 0, note: 'the response to a message' },
		{ item: 2, note: 'the response to a message' },
	]);
	expect(error?.description).toContain('Retry with currently saved workflow');
	expect(errorOf({ error }).messages).toEqual([
		'Item 1 ("a fox"): the response to a message',
		'Item 3 ("a hen"): the response to a message',
	]);
});

describe('rows and sums agree', () => {
	const onError = 'continueRegularOutput';
	const options = { addSummary: true };
	type Row = {
		error?: string;
		estimatedCost?: number;
		summary?: { estimatedCost: number; tasks: number };
		details?: Row & { charged?: string };
	};
	const sumOf = (rows: Row[]) =>
		rows.reduce((sum, { estimatedCost = 0, details }) => {
			return sum + estimatedCost + (details?.estimatedCost ?? 0);
		}, 0);
	const totalOf = (rows: Row[]) =>
		rows.map(({ summary, details }) => summary ?? details?.summary).find(Boolean)!.estimatedCost;

	test.each(['sync', 'wait'])('a failed item says whether it was charged (%s)', async (mode) => {
		bench.gateway.setFaults([
			{ call: 'any', kind: 'status', status: 400, match: 'an owl' },
			{ call: 'any', kind: 'status', status: 500, match: 'a hen' },
		]);
		const result = await bench.run(
			'imageGeneration',
			{ model: byName(MODEL), prompt: PROMPT, mode, download: false, options },
			['a fox', 'an owl', 'a hen', ...(mode === 'wait' ? ['a cat [fail]'] : [])].map((prompt) => ({
				prompt,
			})),
			{ onError },
		);
		const rows = result.json(NODE) as Row[];
		const told = rows.map(({ details }) => details?.charged);
		expect(told.slice(0, 3)).toEqual([undefined, 'no', 'maybe']);
		if (mode === 'wait') expect(told[3]).toBe('maybe');
		expect(rows[1]?.details?.estimatedCost).toBeUndefined();
		expect(sumOf(rows)).toBeCloseTo(totalOf(rows));
	});

	test('an image that cannot be downloaded was charged', async () => {
		bench.gateway.setFaults([{ call: 'download', kind: 'status', status: 410, match: '' }]);
		const result = await bench.run(
			'imageGeneration',
			{ model: byName(MODEL), prompt: 'a fox', mode: 'sync', options },
			[{}],
			{ onError },
		);
		const rows = result.json(NODE) as Row[];
		expect(rows[0]?.details?.charged).toBe('yes');
		expect(sumOf(rows)).toBeCloseTo(totalOf(rows));
	});

	test('the same task twice in Image Wait counts once, with and without its kind', async () => {
		const [taskId] = await bench.submit('a fox');
		const list = [undefined, 'generation'].map((taskType) => ({
			taskId,
			taskType,
			estimatedCost: 0.04,
		}));
		const result = await bench.run('imageWait', { download: false, options }, list);
		const { summary } = result.json(NODE).at(-1) as Row;
		expect(summary).toMatchObject({ tasks: 1, images: 1, estimatedCost: 0.04 });
	});
});
