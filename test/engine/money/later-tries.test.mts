/** Later tries of Retry On Fail and n8n's Retry: what was paid for stays known, and is told as it was. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { errorOf } from '../one-node.mjs';
import { sharedBench } from '../opened.mjs';
import { hostFor, NODE, workflowOf, type Settings } from '../workbench.mjs';
import { until } from '../../until.mjs';

const bench = sharedBench();

const RETRY = { retryOnFail: true, maxTries: 2, waitBetweenTries: 1 };
const GO_ON = { onError: 'continueRegularOutput' } as const;
const RANDOM = '={{ $json.prompt }} {{ Math.random() }}';
const INPUT = ['number 0.', 'number 1.'].map((prompt) => ({ json: { prompt } }));
const ITEMS = INPUT.map(({ json }) => json);

/** The first item is refused at first; then it is drawn, or there is no response. */
const refuseFirst = (then?: 'silence') =>
	bench.gateway.setFaults([
		{ call: 'sync', kind: 'status', status: 400, match: 'number 0.', times: 1 },
		...(then === undefined
			? []
			: [{ call: 'sync', kind: then, match: 'number 0.', after: 1 } as const]),
	]);

test('a Stop in the second try names what the first has paid for', async () => {
	refuseFirst('silence');
	const stop = new AbortController();
	const running = bench.run(
		'imageGeneration',
		{ prompt: '={{ $json.prompt }}', download: false },
		ITEMS,
		{ ...RETRY, ...GO_ON },
		{ signal: stop.signal },
	);
	await until(() => bench.gateway.count('sync') === 3);
	stop.abort();
	const stopped = await running;
	expect(stopped.status).toBe('canceled');
	const { description } = stopped.runData[NODE]![0]!.error as { description?: string };
	expect(description).toMatch(/^Finished images:\nitem 1: http/);
	expect(stopped.data.executionData!.contextData[`node:${NODE}`]).toMatchObject({
		mediaGatewayPaid: {
			payments: [{ itemIndex: 1 }, { itemIndex: 0, result: { unknown: {} } }],
		},
	});
	expect(bench.gateway.paidByPrompt['number 1.']).toBe(1);
});

describe('an expression that gives another prompt and number in each try', () => {
	const random = {
		prompt: RANDOM,
		download: false,
		options: {
			n: '={{ 1 + Math.floor(Math.random() * 4) }}',
			addSummary: true,
		},
	};

	test.each(['sync', 'wait'] as const)(
		'what comes out says what was sent and what it costs (%s)',
		async (mode) => {
			bench.gateway.setFaults([
				{
					call: mode === 'sync' ? 'sync' : 'submit',
					kind: 'status',
					status: 400,
					match: 'number 0.',
					times: 1,
				},
			]);
			const result = await bench.run('imageGeneration', { ...random, mode }, ITEMS, RETRY);
			const items = result.json(NODE);
			expect(new Set(items.map(({ prompt }) => prompt))).toEqual(
				new Set(Object.keys(bench.gateway.paidByPrompt)),
			);
			const cost = items.reduce((sum, { estimatedCost }) => sum + Number(estimatedCost), 0);
			const { estimatedCost } = items.at(-1)!.summary as IDataObject;
			expect(estimatedCost).toBeCloseTo(cost, 4);
			expect(cost).toBeCloseTo(items.length * 0.04, 4);
			expect(Object.values(bench.gateway.paidByPrompt)).toEqual([1, 1]);
		},
	);

	test('a failed item names the prompt that was sent', async () => {
		bench.gateway.setFaults([{ call: 'poll', kind: 'status', status: 403 }]);
		const parameters = { ...random, mode: 'wait' };
		const result = await bench.run('imageGeneration', parameters, ITEMS, { ...RETRY, ...GO_ON });
		expect(
			result.json(NODE).map(({ details }) => (details as IDataObject).prompt as string),
		).toEqual(Object.keys(bench.gateway.paidByPrompt));
	});
});

/** A host whose credential holds a placeholder once the first try has read it for its items. */
async function hostThatForgets(baseUrl: string, items = INPUT.length) {
	let reads = 0;
	const credentials = {
		get mediaGatewayApi() {
			reads += 1;
			const apiKey = reads <= items ? 'sk-embedded-gateway-one' : '<API_KEY>';
			return { apiKey, baseUrl };
		},
	};
	const host = await hostFor({}, { credentials });
	reads = 0;
	return host;
}

describe('a second try that ends before its first item keeps what the first has paid for', () => {
	const parameters = { prompt: '={{ $json.prompt }}', download: false };

	const afterTwoTries = async (mode: 'sync' | 'submit', settings: Settings) => {
		bench.gateway.setFaults([
			{ call: mode, kind: 'status', status: 400, match: 'number 0.', times: 1 },
		]);
		const host = await hostThatForgets(bench.gateway.url);
		const all = { ...parameters, mode, options: { checkLimits: false } };
		const workflow = workflowOf('imageGeneration', all, { ...RETRY, ...settings });
		const result = await host.run(workflow, { input: INPUT });
		expect(bench.gateway.paid).toBe(1);
		return result;
	};

	test('in the error of the run', async () => {
		const { message, messages } = errorOf(await afterTwoTries('sync', {}));
		expect(message).toMatch(/placeholder/);
		expect(messages).toEqual([expect.stringMatching(/http:\S+png/)]);
	});

	test('in the failed items', async () => {
		const items = (await afterTwoTries('submit', GO_ON)).json(NODE);
		expect(items[0]?.error).toMatch(/placeholder/);
		const description = expect.stringMatching(/ generation task task_/);
		expect(items.map(({ details }) => details)).toMatchObject([
			{ charged: 'no', prompt: 'number 0.' },
			{ charged: 'yes', prompt: 'number 1.', description },
		]);
	});
});

describe('a dry run in n8n’s Retry', () => {
	const parameters = { prompt: '={{ $json.prompt }}', download: false };
	const dry = (options: object) => workflowOf('imageGeneration', { ...parameters, options });
	const failedWith = async () => {
		refuseFirst();
		const failed = await bench.run('imageGeneration', parameters, ITEMS);
		expect([failed.status, bench.gateway.paidByPrompt]).toEqual(['error', { 'number 1.': 1 }]);
		return failed;
	};
	const expectRest = async (retried: ReturnType<typeof bench.host.retry>): Promise<void> => {
		const result = await retried;
		expect(result.json(NODE).map(({ prompt }) => prompt)).toEqual(
			ITEMS.map(({ prompt }) => prompt),
		);
		expect(bench.gateway.paidByPrompt).toEqual({ 'number 0.': 1, 'number 1.': 1 });
	};

	test('sends nothing, and the next Retry pays only for what is missing', async () => {
		const failed = await failedWith();
		const shown = await bench.host.retry(failed, dry({ dryRun: true }));
		expect(shown.json(NODE)).toMatchObject([{ dryRun: true }, { dryRun: true }]);
		expect(bench.gateway.count('sync')).toBe(2);
		await expectRest(bench.host.retry(failed, failed.workflow));
	});

	test.each([true, '={{ $itemIndex === 1 }}'])(
		'that fails (%s) names what was paid for, and keeps it for the next Retry',
		async (dryRun) => {
			const failed = await failedWith();
			const again = await bench.host.retry(failed, dry({ dryRun, maxWait: 'long' }));
			expect(errorOf(again).messages.at(-1)).toMatch(/^Item 1: http/);
			expect(bench.gateway.count('sync')).toBe(2);
			await expectRest(bench.host.retry(again, failed.workflow));
		},
	);
});

test('the response to a message that an earlier try has paid for comes out', async () => {
	bench.gateway.setFaults([
		{ call: 'message', kind: 'status', status: 400, match: 'number 0.', times: 1 },
	]);
	const host = await hostThatForgets(bench.gateway.url);
	const parameters = { model: 'reason-large', prompt: '={{ $json.prompt }}' };
	const workflow = workflowOf('message', parameters, { ...RETRY, ...GO_ON });
	expect((await host.run(workflow, { input: INPUT })).json(NODE)).toMatchObject([
		{ error: expect.any(String) },
		{ text: expect.stringContaining('number 1.') },
	]);
	expect(bench.gateway.count('message')).toBe(2);
});

test('the parameters that are told were sent, where the next try would send others', async () => {
	bench.gateway.setFaults([{ call: 'poll', kind: 'status', status: 403, times: 1 }]);
	const extraFields = '={{ Math.random() > 0.5 ? {} : { seed: Math.random() } }}';
	const items = Array.from({ length: 12 }, (_, index) => ({ prompt: `number ${index}.` }));
	const result = await bench.run(
		'imageGeneration',
		{ prompt: '={{ $json.prompt }}', download: false, mode: 'wait', options: { extraFields } },
		items,
		RETRY,
	);
	const sent = bench.gateway.requests.flatMap(({ body }) => (body ? [body as IDataObject] : []));
	const told = result.json(NODE).map(({ prompt, parameters }) => [prompt, parameters]);
	const wanted = sent.map(({ prompt, seed }) => [
		prompt,
		seed === undefined ? undefined : { seed },
	]);
	expect(new Map(told as Array<[string, object]>)).toEqual(
		new Map(wanted as Array<[string, object]>),
	);
});
