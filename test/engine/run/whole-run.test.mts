/** What fails outside of the items, and settings that an expression gives in another form. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { sharedBench } from '../opened.mjs';
import { byName, hostFor, MODEL, NODE, workflowOf, type NodeName } from '../workbench.mjs';

const bench = sharedBench();

const PROMPT = '={{ $json.prompt }}';
const ITEMS = [{ prompt: 'a fox' }, { prompt: 'an owl' }, { prompt: 'a hare' }];
const PARAMETERS: Record<NodeName, IDataObject> = {
	imageGeneration: { prompt: PROMPT },
	imageEdit: { prompt: PROMPT, images: 'http://127.0.0.1:9/one.png' },
	imageTask: { taskId: 'task_1' },
	imageWait: { taskId: 'task_1' },
	mediaModels: {},
	message: { model: 'reason-large', prompt: PROMPT },
};

describe('an error before the items begin', () => {
	const inputs = ITEMS.map((json) => ({ json }));

	/** The errors and everything else that came out of a node that goes on. */
	async function goOn(
		type: NodeName,
		onError: 'continueRegularOutput' | 'continueErrorOutput',
		parameters: IDataObject,
		credential: Record<string, unknown>,
	) {
		const host = await hostFor({ baseUrl: bench.gateway.url, ...credential });
		const model = type.startsWith('image') ? { model: byName(MODEL) } : {};
		const workflow = workflowOf(
			type,
			{ ...model, ...PARAMETERS[type], ...parameters },
			{ onError },
		);
		const result = await host.run(workflow, { input: inputs });
		expect(result.status).toBe('success');
		const [errors, others] = onError === 'continueErrorOutput' ? [1, 0] : [0, 1];
		return { errors: result.output(NODE, errors), others: result.output(NODE, others) };
	}

	test.each<[NodeName, 'regular' | 'error', object, IDataObject, RegExp]>([
		['imageGeneration', 'regular', { baseUrl: '' }, {}, /base URL/],
		['imageWait', 'error', { mediaUrl: 'not an address' }, {}, /media URL/],
		['imageEdit', 'error', { apiKey: '<API_KEY>' }, {}, /placeholder/],
		['message', 'regular', { apiKey: '' }, {}, /API key is empty/],
		['mediaModels', 'error', {}, { options: { timeout: 'abc' } }, /'Timeout \(Seconds\)' must be/],
		['imageTask', 'regular', {}, { options: { concurrency: 'abc' } }, /'Concurrency' must be/],
		['imageGeneration', 'error', {}, { options: { budget: 'much' } }, /'Budget' must be a/],
	])('%s, in the %s output: %j %j', async (type, output, credential, parameters, message) => {
		const onError = output === 'error' ? 'continueErrorOutput' : 'continueRegularOutput';
		const { errors, others } = await goOn(type, onError, parameters, { ...credential });
		expect(others).toEqual([]);
		expect(errors.map(({ json, pairedItem }) => [json.error, pairedItem])).toEqual(
			ITEMS.map((_, item) => [expect.stringMatching(message), { item }]),
		);
		expect(bench.gateway.paid).toBe(0);
	});
});

describe('the word "canceled" in what a gateway says', () => {
	const said = 'The job was canceled by the operator';

	test.each(['sync', 'poll'] as const)('%s: it is a failure, not a Stop', async (call) => {
		bench.gateway.setFaults([{ call, kind: 'status', status: 403, message: said }]);
		const result = await bench.run('imageGeneration', {
			prompt: 'a canceled trip',
			mode: call === 'sync' ? 'sync' : 'wait',
			options: { checkLimits: false, pollInterval: 1, maxWait: 10 },
		});
		expect(result.status).toBe('error');
		expect(result.error?.message).not.toContain('canceled');
	});

	test.each([
		['canceled', /ended with the status "Canceled"/],
		['canceled by itself', /status "Canceled by itself" is unknown to this node/],
	])('as the status of a task: %s', async (value, message) => {
		const [taskId] = await bench.submit('a fox');
		bench.gateway.setFaults([{ call: 'poll', kind: 'unknownStatus', value }]);
		const open = await bench.run('imageWait', { taskId, pollInterval: 1, maxWait: 5 });
		expect([open.status, open.error?.message]).toEqual(['error', expect.stringMatching(message)]);
	});
});

describe('switches and choices that an expression gives', () => {
	const run = async (parameters: IDataObject) =>
		await bench.run('imageGeneration', { prompt: 'a fox', ...parameters });

	test.each([' TRUE ', '={{ 1 }}'])('Dry Run %p pays nothing', async (dryRun) => {
		const result = await run({ options: { dryRun } });
		expect(result.json(NODE)[0]).toMatchObject({ dryRun: true });
		expect(bench.gateway.paid).toBe(0);
	});

	test('Dry Run "false" is off', async () => {
		await run({ options: { dryRun: 'false' } });
		expect(bench.gateway.paid).toBe(1);
	});

	test.each(['perhaps', '', '={{ $json.missing }}'])(
		'Dry Run %p is refused before anything is sent',
		async (dryRun) => {
			const result = await run({ options: { dryRun } });
			expect(result.error?.message).toBe("'Dry Run' must be true or false");
			expect(bench.gateway.paid).toBe(0);
		},
	);

	test('Download, Check Limits, Simplify and Return All', async () => {
		const off = await run({ download: 'false' });
		expect(off.output(NODE)[0]?.binary).toBeUndefined();
		const on = await run({ download: 'true' });
		expect(on.output(NODE)[0]?.binary).toBeDefined();
		const wrong = { mappingMode: 'defineBelow', value: { size: '1x1' } };
		const checked = await run({ modelParameters: wrong, options: { checkLimits: 'true' } });
		expect(checked.error?.message).toMatch(/Invalid parameters/);
		const message = { model: 'reason-large', prompt: 'hello' };
		const raw = await bench.run('message', { ...message, simplify: 'false' });
		expect(raw.json(NODE)[0]).toHaveProperty('content');
		const limited = await bench.run('mediaModels', { returnAll: '={{ "false" }}', limit: 1 });
		expect(limited.json(NODE)).toHaveLength(1);
		const all = await bench.run('mediaModels', { returnAll: '={{ "true" }}', limit: 1 });
		expect(all.json(NODE).length).toBeGreaterThan(1);
	});

	test.each([
		['mode', 'later', /'Mode' must be one of wait, sync, submit/],
		['options', { extraFields: '{"stream":"1"}' }, /must not set 'stream'/],
	])('%s %p is refused before anything is sent', async (name, value, message) => {
		const result = await run({ mode: 'wait', [name]: value });
		expect(result.error?.message).toMatch(message);
		expect(bench.gateway.paid).toBe(0);
	});
});
