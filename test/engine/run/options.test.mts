/** Options out of range, and the nodes as tools of an agent. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { byName, MODEL, NODE, openBench, type Bench } from '../workbench.mjs';

let bench: Bench;

beforeAll(async () => {
	bench = await openBench();
});
beforeEach(() => bench.gateway.reset());
afterAll(async () => await bench.close());

const ODD: Array<[string, unknown]> = [
	['0', 0],
	['a negative number', -5],
	['a tiny number', 1e-9],
	['a million', 1_000_000],
	['beyond all numbers', 1e308],
	['a number as text', '2'],
	['nothing', '={{ undefined }}'],
	['null', '={{ null }}'],
	['an empty text', ''],
	['NaN', '={{ NaN }}'],
	['Infinity', '={{ Infinity }}'],
	['a word', 'many'],
	['an object', '={{ ({ a: 1 }) }}'],
	['a list', '={{ [1, 2] }}'],
	['true', true],
];

const NUMBERS: Array<[string, string]> = [
	['n', 'Number of Images'],
	['concurrency', 'Concurrency'],
	['requestsPerSecond', 'Requests per Second'],
	['timeout', 'Timeout'],
	['pollInterval', 'Poll Interval'],
	['maxWait', 'Max Wait'],
	['maxDownloadMb', 'Max Download Size'],
	['budget', 'Budget'],
];

describe.each(NUMBERS)('the option %s', (option, name) => {
	test.each(ODD)('%s: works, or says what is wrong and pays nothing', async (_, value) => {
		// A pause of a week between two questions is cut off by the deadline.
		const others = option === 'maxWait' ? { pollInterval: 1 } : { maxWait: 60, pollInterval: 1 };
		const result = await bench.run(
			'imageGeneration',
			{
				prompt: '={{ $json.prompt }}',
				mode: 'wait',
				options: { timeout: 30, ...others, [option]: value },
			},
			[{ prompt: 'a fox' }, { prompt: 'an owl' }],
		);
		if (result.error === undefined) {
			expect(result.output(NODE).length).toBeGreaterThanOrEqual(2);
			expect(bench.gateway.paid).toBe(2);
			return;
		}
		const { message, description } = result.error as { message: string; description?: string };
		if (/not a number|whole number|budget/i.test(message)) {
			expect(`${message} ${description}`).toContain(name);
			expect(bench.gateway.paid).toBe(0);
			return;
		}
		// What is only known afterwards is allowed to fail afterwards: a deadline, a size.
		expect(message).toMatch(/larger than|must be a number|still open|couldn't be checked/);
		expect(bench.gateway.paid).toBeLessThanOrEqual(2);
	});
});

test.each(['pollInterval', 'maxWait'])(
	'Image Wait: %s',
	async (parameter) => {
		const ids = await bench.submit('a fox', 'an owl');
		const items = ids.map((taskId) => ({ taskId }));
		for (const [, value] of ODD) {
			const result = await bench.run('imageWait', { maxWait: 600, [parameter]: value }, items);
			if (result.error === undefined) expect(result.output(NODE)).toHaveLength(2);
			else expect(result.error.message).toMatch(/must be a number|still open after 1 s/);
		}
	},
	30_000,
);

test('options that are no numbers', async () => {
	const wrong: Array<[IDataObject, RegExp]> = [
		[{ extraFields: '{ "a": ' }, /'Extra Fields' must be a JSON object/],
		[{ extraFields: '"text"' }, /'Extra Fields' must be a JSON object/],
		[{ extraFields: 'null' }, /'Extra Fields' must be a JSON object/],
	];
	for (const [options, message] of wrong) {
		const result = await bench.run('imageGeneration', { prompt: 'a fox', options });
		expect(result.error?.message).toMatch(message);
	}
	expect(bench.gateway.paid).toBe(0);
	// What stands for nothing.
	for (const options of [{ extraFields: '' }, { extraFields: '{}' }]) {
		expect(
			(await bench.run('imageGeneration', { prompt: 'a fox', options })).error,
		).toBeUndefined();
	}
});

describe('as a tool of an agent', () => {
	const generate = async (args: IDataObject, parameters: object = {}, node = {}) =>
		await bench.host.runAsTool(
			'n8n-nodes-media-gateway.imageGeneration',
			{
				model: byName(MODEL),
				prompt: "={{ $fromAI('prompt', 'what is to be seen', 'string') }}",
				...parameters,
			},
			{ args, node },
		);

	test('it gets the address, and no binary data', async () => {
		const [answer] = JSON.parse(await generate({ prompt: 'a fox' })) as IDataObject[];
		expect(answer).toMatchObject({ prompt: 'a fox', model: MODEL });
		expect((await fetch(String(answer!.url))).headers.get('content-type')).toBe('image/png');
		expect(bench.gateway.paidByPrompt).toEqual({ 'a fox': 1 });
		// The one download is this test's own.
		expect(bench.gateway.count('download')).toBe(1);
	});

	test('tasks are waited for and asked about', async () => {
		const [waited] = JSON.parse(
			await generate({ prompt: 'an owl' }, { mode: 'wait', options: { pollInterval: 1 } }),
		) as IDataObject[];
		expect(waited).toMatchObject({ prompt: 'an owl', status: 'completed' });
		for (const node of ['imageTask', 'imageWait']) {
			const answer = await bench.host.runAsTool(
				`n8n-nodes-media-gateway.${node}`,
				{ taskId: "={{ $fromAI('id', 'the task', 'string') }}" },
				{ args: { id: String(waited!.taskId) } },
			);
			expect(JSON.parse(answer)).toEqual([expect.objectContaining({ taskId: waited!.taskId })]);
		}
		expect(bench.gateway.count('download')).toBe(0);
	});

	test('an error is told to the agent in words', async () => {
		const asked = bench.host.runAsTool('n8n-nodes-media-gateway.imageTask', {
			taskId: 'task_none',
		});
		const text = await asked.catch((error: Error) => error.message);
		expect(text).toMatch(/The gateway has no task task_none \(404\)/);
	});
});
