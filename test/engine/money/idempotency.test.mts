/** With an Idempotency Header, a request of unknown outcome is sent again, and is charged once. */
import '../fast-time.mjs';
import type { RunResult } from '../../../harness/engine/host.mjs';
import type { Fault, ReceivedRequest } from '../../../simulator/gateway.mjs';
import { sharedBench } from '../opened.mjs';
import {
	hostFor,
	NODE,
	reachedAgain,
	TINY_PNG,
	workflowOf,
	type NodeName,
	type Settings,
} from '../workbench.mjs';

const HEADER = 'Idempotency-Key';
const bench = sharedBench({ credential: { idempotencyHeader: HEADER } });

const isPaidCall = ({ call }: ReceivedRequest) => ['submit', 'sync', 'message'].includes(call);
const keyOf = ({ headers }: ReceivedRequest) => headers[HEADER.toLowerCase()];
/** The keys of the paid requests, in order. */
const keys = () => bench.gateway.requests.filter(isPaidCall).map(keyOf);

const DROPPED = { kind: 'cutAfter' } as const;
const PROMPT = '={{ $json.prompt }}';
const MESSAGE = { model: 'reason-large', prompt: PROMPT };
const NODES: Array<[string, Fault['call'], NodeName, object]> = [
	['synchronous', 'sync', 'imageGeneration', { prompt: PROMPT, mode: 'sync' }],
	['task', 'submit', 'imageGeneration', { prompt: PROMPT, mode: 'submit' }],
	['message', 'message', 'message', MESSAGE],
];
const prompts = (count: number, prompt = (index: number) => `fox ${index}.`) =>
	Array.from({ length: count }, (_, index) => ({ prompt: prompt(index) }));
const SYNC = { prompt: PROMPT, mode: 'sync' };

const run = async (count: number, settings: Settings = {}, parameters: object = SYNC) =>
	await bench.run('imageGeneration', { ...parameters }, prompts(count), settings);
const errorsOf = (result: RunResult) =>
	result.json(NODE).flatMap(({ error }) => (error === undefined ? [] : [String(error)]));
const GO_ON = { onError: 'continueRegularOutput' } as const;

test.each(NODES)(
	'every third response lost, %s: each is charged once, and nothing is left unknown',
	async (_, call, type, parameters) => {
		bench.gateway.setFaults([{ call, ...DROPPED, share: 1 / 3 }]);
		const result = await bench.run(type, { ...parameters }, prompts(30), GO_ON);
		expect(errorsOf(result)).toEqual([]);
		expect(Object.values(bench.gateway.paidByPrompt)).toEqual(Array(30).fill(1));
		expect(new Set(keys()).size).toBe(30);
		expect(keys().length).toBeGreaterThan(35);
		const hints = result.runData[NODE]?.[0]?.hints?.map(({ message }) => message).join('\n');
		expect(hints).toMatch(/\d+ requests had an unknown outcome and got the same .*Idempotency-Key/);
	},
);

test('without the header, each is sent once, and the lost ones are unknown', async () => {
	const host = await hostFor({ baseUrl: bench.gateway.url });
	bench.gateway.setFaults([{ call: 'sync', ...DROPPED, share: 1 / 3 }]);
	const input = prompts(30).map((json) => ({ json }));
	const result = await host.run(workflowOf('imageGeneration', SYNC, GO_ON), { input });
	expect(errorsOf(result).length).toBeGreaterThan(5);
	expect([bench.gateway.paid, bench.gateway.count('sync')]).toEqual([30, 30]);
	expect(keys()).toEqual(Array(30).fill(undefined));
});

test('an edit is sent again with the same file, and only paid requests carry the header', async () => {
	bench.gateway.setFaults([{ call: 'submit', kind: 'badJson', charged: true, times: 2 }]);
	const parameters = { prompt: 'in winter', mode: 'wait', options: { pollInterval: 1 } };
	const file = { data: TINY_PNG.toString('base64'), mimeType: 'image/png' };
	const result = await bench.host.run(workflowOf('imageEdit', parameters), {
		input: [{ json: {}, binary: { data: file } }],
	});
	expect(result.error).toBeUndefined();
	expect(bench.gateway.paidByPrompt).toMatchObject({ 'in winter': 1 });
	const others = bench.gateway.requests.filter((request) => !isPaidCall(request));
	expect(others.map(({ call }) => call)).toEqual(expect.arrayContaining(['poll', 'download']));
	expect(others.filter((request) => keyOf(request) !== undefined)).toEqual([]);
});

describe('the key', () => {
	test('is another one for equal items, and for another execution', async () => {
		const equal = async () =>
			await bench.run(
				'imageGeneration',
				SYNC,
				prompts(3, () => 'a fox'),
			);
		await equal();
		await equal();
		expect(new Set(keys()).size).toBe(6);
		expect(bench.gateway.paid).toBe(6);
		expect(keys().every((key) => /^[\w.~-]{1,128}$/.test(String(key)))).toBe(true);
	});

	test('is the same in all tries of Retry On Fail and after a refusal', async () => {
		bench.gateway.setFaults([
			{ call: 'sync', ...DROPPED, times: 7 },
			{ call: 'sync', kind: 'status', status: 400, times: 1 },
		]);
		const tries = { retryOnFail: true, maxTries: 5, waitBetweenTries: 1 };
		const result = await run(1, tries);
		expect(result.error).toBeUndefined();
		expect([new Set(keys()).size, keys().length, bench.gateway.paid]).toEqual([1, 9, 1]);
	});

	test.each<[string, (failed: RunResult) => RunResult]>([
		['', (failed) => failed],
		[' after a crash that left no record', withoutRecord],
	])("is the same in n8n's Retry and its own Retry%s", async (_, leave) => {
		bench.gateway.setFaults([{ call: 'sync', ...DROPPED, times: 12 }]);
		const failed = await run(1);
		expect(failed.error?.message).toMatch(/outcome is unknown.*tried 6 times/);
		const second = await bench.host.retry(leave(failed));
		expect(second.error?.message).toMatch(/outcome is unknown/);
		const third = await bench.host.retry(leave(second));
		expect(third.error).toBeUndefined();
		expect([new Set(keys()).size, bench.gateway.paid]).toEqual([1, 1]);
	});

	test.each([true, false])(
		'is another one for a request that was changed, with the record: %s',
		async (isRecorded) => {
			bench.gateway.setFaults([{ call: 'sync', ...DROPPED, times: 6 }]);
			const failed = await run(1);
			const edited = workflowOf('imageGeneration', { ...SYNC, prompt: 'an owl' });
			await bench.host.retry(isRecorded ? failed : withoutRecord(failed), edited);
			expect([new Set(keys()).size, bench.gateway.paid]).toEqual([2, 2]);
		},
	);

	test('is another one after a failed task, also in one Retry after another', async () => {
		const parameters = { prompt: 'a fox [fail]', mode: 'wait', options: { pollInterval: 1 } };
		const failed = await run(1, {}, parameters);
		const second = await bench.host.retry(failed);
		await bench.host.retry(second);
		expect([new Set(keys()).size, bench.gateway.paid]).toEqual([3, 3]);
	});

	test('is another one in each Retry of the same execution after a failed task', async () => {
		const parameters = { prompt: 'a fox [fail]', mode: 'wait', options: { pollInterval: 1 } };
		const failed = await run(1, {}, parameters);
		for (let times = 0; times < 2; times += 1) await bench.host.retry(failed);
		expect([new Set(keys()).size, bench.gateway.paid]).toEqual([3, 3]);
	});

	test('is another one after a whole response without a message, which would come again', async () => {
		bench.gateway.setFaults([{ call: 'message', kind: 'status', status: 200, times: 1 }]);
		const tries = { retryOnFail: true, maxTries: 2, waitBetweenTries: 1 };
		const result = await bench.run('message', { ...MESSAGE }, prompts(1), tries);
		expect(result.error).toBeUndefined();
		expect([new Set(keys()).size, keys().length]).toEqual([2, 2]);
	});

	test('is another one in each round of a loop', async () => {
		const workflow = workflowOf('imageGeneration', SYNC);
		const input = [{ json: { prompt: 'a fox' } }];
		await bench.host.run(reachedAgain(workflow, 2), { input });
		expect([new Set(keys()).size, bench.gateway.paid]).toEqual([2, 2]);
	});
});

test('a request that is changed before the next try is not sent: the first may have been charged', async () => {
	bench.gateway.setFaults([{ call: 'sync', ...DROPPED, times: 6 }]);
	const tries = { retryOnFail: true, maxTries: 2, waitBetweenTries: 1 };
	const result = await run(1, tries, { ...SYNC, prompt: '=fox {{ Math.random() }}' });
	expect(result.error?.message).toMatch(/outcome is unknown/);
	expect([new Set(keys()).size, keys().length, bench.gateway.paid]).toEqual([1, 6, 1]);
});

test('a gateway that is busy with the key is asked until it has the image', async () => {
	const message = 'a request with this Idempotency-Key is in progress';
	bench.gateway.setFaults([
		{ call: 'sync', ...DROPPED, times: 1 },
		{ call: 'sync', kind: 'status', status: 409, message, times: 12 },
	]);
	const result = await run(1);
	expect(result.error).toBeUndefined();
	expect([new Set(keys()).size, keys().length, bench.gateway.paid]).toEqual([1, 14, 1]);
});

test.each<[string, number, string, RegExp]>([
	[
		'is about another request',
		422,
		'this Idempotency-Key was used with a different request',
		/422.*another execution has other keys/s,
	],
	[
		'comes after a lost response',
		400,
		'unknown size',
		/outcome is unknown.*The last attempt failed: .*unknown size/s,
	],
])('a refusal that %s leaves the outcome unknown', async (_, status, message, told) => {
	bench.gateway.setFaults([
		{ call: 'sync', ...DROPPED, times: 1 },
		{ call: 'sync', kind: 'status', status, message, times: 1 },
	]);
	const [item] = (await run(1, GO_ON)).json(NODE);
	expect(JSON.stringify(item)).toMatch(told);
	expect(item).toMatchObject({ details: { charged: 'maybe' } });
	expect(bench.gateway.paid).toBe(1);
});

/** The same execution as n8n has stored it at its start: a crash leaves nothing that a node has recorded. */
function withoutRecord(failed: RunResult): RunResult {
	const { data } = failed;
	const executionData = { ...data.executionData!, contextData: {} };
	return { ...failed, data: { ...data, executionData } };
}
