/** A budget for a day or a month, over executions, with what n8n stores of them. */
import '../fast-time.mjs';
import type {
	IDataObject,
	IExecuteFunctions,
	INodeTypeDescription,
} from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { RunOptions, RunResult, WorkflowJson } from '../../../harness/engine/host.mjs';
import { errorOf } from '../one-node.mjs';
import { opened } from '../opened.mjs';
import { NODE, openBench, workflowOf, type Bench, type Settings } from '../workbench.mjs';

/** An image of the usual model costs 0.04. */
const PROMPT = '={{ $json.prompt }}';
const realNow = Date.now;
let offset = 0;
const setTime = (iso: string) => (offset = Date.parse(iso) - realNow());

/** What happens while an execution is at the node `test.meanwhile`. */
let meanwhile: () => Promise<unknown> = async () => undefined;
const meanwhileNode = {
	description: {
		name: 'meanwhile',
		displayName: 'meanwhile',
		description: 'meanwhile',
		group: ['transform'],
		version: [1],
		defaults: { name: 'meanwhile' },
		inputs: ['main'],
		outputs: ['main'],
		properties: [],
	} as unknown as INodeTypeDescription,
	async execute(this: IExecuteFunctions) {
		await meanwhile();
		return [this.getInputData()];
	},
};

let bench: Bench;
beforeAll(async () => {
	jest.spyOn(Date, 'now').mockImplementation(() => realNow() + offset);
	const extraNodeTypes = { 'test.meanwhile': meanwhileNode };
	bench = await opened(openBench({ now: () => Date.now(), host: { extraNodeTypes } }));
});
beforeEach(() => {
	setTime('2026-11-22T12:00:00Z');
	bench.gateway.reset();
	bench.gateway.setFaults([]);
});
afterAll(() => jest.restoreAllMocks());

const workflow = (options: object, parameters: object = {}, settings: Settings = {}) => ({
	...workflowOf(
		'imageGeneration',
		{ prompt: PROMPT, options: { budgetPeriod: 'day', ...options }, ...parameters },
		settings,
	),
	settings: { timezone: 'Europe/Berlin' },
});

async function run(
	json: WorkflowJson,
	images: number | string[],
	options: RunOptions = {},
): Promise<RunResult> {
	const prompts = Array.isArray(images)
		? images
		: Array.from({ length: images }, (_, index) => `number ${index}.`);
	const input = prompts.map((prompt) => ({ json: { prompt } }));
	return await bench.host.run(json, { mode: 'trigger', input, ...options });
}

interface Stored {
	id: string;
	runs: Array<{ run: string; day: string; amount: number }>;
	earlier: Record<string, number>;
}
const stored = ({ staticData }: WorkflowJson): Stored | undefined =>
	(staticData?.[`node:${NODE}`] as IDataObject | undefined)?.mediaGatewayBudget as never;
const spent = (json: WorkflowJson, day = '2026-11-22'): number => {
	const sum = (stored(json)?.runs ?? [])
		.filter((entry) => entry.day === day)
		.reduce((total, { amount }) => total + amount, stored(json)?.earlier[day] ?? 0);
	return Math.round(sum * 1e6) / 1e6;
};

test('a day: executions add up, the error says what is left, and midnight starts it anew', async () => {
	const json = workflow({ budget: 0.2 });
	expect((await run(json, 3)).error).toBeUndefined();
	expect(spent(json)).toBe(0.12);
	const refused = await run(json, 3);
	expect(errorOf(refused)).toMatchObject({
		message: 'The estimated cost of 0.12 exceeds the remaining budget for today: 0.08 of 0.2',
		description: expect.stringContaining('Spent today: 0.12. Left: 0.08.'),
	});
	expect(errorOf(refused).description).toContain(
		'The budget resets on 2026-11-23 at 00:00 (Europe/Berlin).',
	);
	expect(spent(json)).toBe(0.12);
	expect((await run(json, 2)).error).toBeUndefined();
	expect(spent(json)).toBe(0.2);
	expect((await run(json, 1)).error?.message).toContain('0 of 0.2');
	// In Berlin it is past midnight, in UTC it is not.
	setTime('2026-11-22T23:30:00Z');
	expect((await run(json, 5)).error).toBeUndefined();
	expect([spent(json), spent(json, '2026-11-23')]).toEqual([0.2, 0.2]);
	expect(bench.gateway.paid).toBe(10);
});

test('a month counts its days; another month starts anew; the period can be changed', async () => {
	const json = workflow({ budget: 0.2, budgetPeriod: 'month' });
	await run(json, 2);
	setTime('2026-11-30T12:00:00Z');
	await run(json, 2);
	const refused = await run(json, 2);
	expect(errorOf(refused)).toMatchObject({
		message: expect.stringContaining('budget for this month: 0.04 of 0.2'),
		description: expect.stringContaining('resets on 2026-12-01 at 00:00'),
	});
	const daily = { ...workflow({ budget: 0.2 }), staticData: json.staticData };
	expect((await run(daily, 3)).error).toBeUndefined();
	setTime('2026-12-01T12:00:00Z');
	expect((await run(json, 5)).error).toBeUndefined();
	expect(stored(json)?.runs).toHaveLength(1);
});

test('without a period a run is held against its own estimate, and nothing is stored', async () => {
	const json = workflow({ budget: 0.1, budgetPeriod: 'run' });
	for (let time = 0; time < 3; time += 1) expect((await run(json, 2)).error).toBeUndefined();
	expect((await run(json, 3)).error?.message).toContain('exceeds the budget of 0.1');
	expect(json).not.toHaveProperty('staticData');
	expect((await run(workflow({ budget: 0 }), 3)).error).toBeUndefined();
});

test('executions that overlap see each other, and none is lost whoever ends last', async () => {
	bench.gateway.setFaults([{ call: 'sync', kind: 'latency', ms: 30 }]);
	// The first ones of all, and then on a common stock.
	for (const first of [true, false]) {
		const json = workflow({ budget: 0.2 });
		if (!first) await run(json, 1);
		const before = spent(json);
		const results = await Promise.all([run(json, 2), run(json, 2), run(json, 2)]);
		const failed = results.filter(({ error }) => error !== undefined);
		expect(failed).toHaveLength(1);
		expect(failed[0]?.error?.message).toContain('budget for today');
		expect(spent(json)).toBe(before + 0.16);
		expect((await run(json, 2)).error).toBeDefined();
	}
});

test('an old copy that is stored last does not hide what others have spent', async () => {
	const json = workflow({ budget: 1 });
	await run(json, 1);
	// It takes its copy now, and its node comes to run after the other execution has ended.
	const slow = { ...json, staticData: structuredClone(json.staticData) };
	await run(json, 2);
	await run(slow, 3);
	expect(spent(json)).toBe(0.12);
	expect(spent(slow)).toBe(0.24);
});

test.each(['first of all', 'later'])(
	'an execution that began before another one ended, and comes to its node after it: %s',
	async (which) => {
		const json = workflow({ budget: 0.2 });
		if (which === 'later') await run(json, 1);
		const slow: WorkflowJson = {
			...json,
			staticData: structuredClone(json.staticData),
			nodes: [...json.nodes, { name: 'Before', type: 'test.meanwhile' }],
			connections: {
				Start: { main: [[{ node: 'Before', type: 'main', index: 0 }]] },
				Before: { main: [[{ node: NODE, type: 'main', index: 0 }]] },
			},
		};
		meanwhile = async () => {
			await run(json, 2);
			// An execution may wait for days.
			setTime('2026-11-22T12:40:00Z');
			await run(json, 1);
			setTime('2026-11-22T13:20:00Z');
		};
		const before = spent(json);
		const result = await run(slow, 3);
		expect(result.error?.message).toContain('budget for today');
		meanwhile = async () => undefined;
		setTime('2026-11-22T14:00:00Z');
		slow.staticData = structuredClone(json.staticData);
		expect((await run(slow, which === 'later' ? 1 : 2)).error).toBeUndefined();
		expect(spent(slow)).toBe(0.2);
		expect(before + 0.12).toBe(spent(json));
	},
);

test('a workflow whose static data was deleted, or another of the same name, starts at nothing', async () => {
	expect((await run(workflow({ budget: 0.2 }), 5)).error).toBeUndefined();
	expect((await run(workflow({ budget: 0.2 }), 5)).error).toBeUndefined();
});

test('a copy of a workflow, with what n8n had stored for it, counts for itself from then on', async () => {
	const json = workflow({ budget: 0.2 });
	await run(json, 1);
	const copy = { ...json, id: 'copy', staticData: structuredClone(json.staticData) };
	await run(json, 3);
	expect((await run(copy, 4)).error).toBeUndefined();
	expect([spent(json), spent(copy)]).toEqual([0.16, 0.2]);
	expect((await run(json, 1)).error).toBeUndefined();
});

test.each([['x'], [5], [null], [[1]], [true]])(
	'%j in place of the static data of the node: the budget holds all the same',
	async (entry) => {
		const json = workflow({ budget: 0.2 });
		json.staticData = { [`node:${NODE}`]: entry } as IDataObject;
		expect((await run(json, 3)).error).toBeUndefined();
		expect((await run(json, 3)).error?.message).toContain('0.08 of 0.2');
		expect((await run(json, 2)).error).toBeUndefined();
		json.staticData = { [`node:${NODE}`]: entry, global: entry } as IDataObject;
		expect(errorOf(await run(json, 1)).message).toMatch(/static data .* can't be used/);
		expect(bench.gateway.paid).toBe(5);
	},
);

test.each(['{{ false }}', '{{ true }}', '{{ [] }}', '{{ [5] }}', '{{ new Date() }}', '{{ ({}) }}'])(
	'a budget that is no number is not no budget: %s',
	async (budget) => {
		for (const budgetPeriod of ['run', 'day', 'month']) {
			const result = await run(workflow({ budget: `=${budget}`, budgetPeriod }), 1);
			expect(result.error?.message).toBe("'Budget' must be a number");
		}
		expect(bench.gateway.paid).toBe(0);
	},
);

test('the budget of the first item holds for all, also without checks of limits', async () => {
	const json = workflow({
		budget: '={{ $json.prompt === "first" ? "0.1" : "" }}',
		checkLimits: false,
	});
	const result = await run(json, ['first', 'second', 'third']);
	expect(result.error?.message).toContain('cost of 0.12');
	expect(bench.gateway.paid).toBe(0);
});

test('unknown outcomes count as spent, what was refused for sure does not', async () => {
	bench.gateway.setFaults([
		{ call: 'sync', kind: 'status', status: 400, match: 'number 1.' },
		{ call: 'sync', kind: 'cutAfter', match: 'number 2.' },
	]);
	const json = workflow({ budget: 1 }, {}, { onError: 'continueRegularOutput' });
	await run(json, 4);
	expect(bench.gateway.paid).toBe(3);
	expect(spent(json)).toBe(0.12);
	// A run that fails has spent what it has spent, and n8n stores that too.
	bench.gateway.setFaults([{ call: 'sync', kind: 'status', status: 400, match: 'number 0.' }]);
	const failing = workflow({ budget: 1, concurrency: 1 });
	const result = await run(failing, 10);
	expect(result.status).toBe('error');
	expect(spent(failing)).toBe(Math.round((bench.gateway.paid - 3) * 4) / 100);
});

test('Stop: what was under way counts as spent', async () => {
	bench.gateway.setFaults([{ call: 'sync', kind: 'latency', ms: 5000 }]);
	const json = workflow({ budget: 1, concurrency: 2 });
	const stop = new AbortController();
	const running = run(json, 10, { signal: stop.signal });
	while (bench.gateway.requests.filter(({ call }) => call === 'sync').length < 2) {
		await new Promise((resolve) => setImmediate(resolve));
	}
	stop.abort();
	await running;
	expect(spent(json)).toBeGreaterThanOrEqual(0.08);
});

test('Retry On Fail and n8n’s Retry: what an earlier try has paid for is not counted twice', async () => {
	bench.gateway.setFaults([
		{ call: 'sync', kind: 'status', status: 400, match: 'number 1.', times: 2 },
	]);
	const settings = { retryOnFail: true, maxTries: 3, waitBetweenTries: 1 };
	const json = workflow({ budget: 0.12, concurrency: 1 }, {}, settings);
	const result = await run(json, 3);
	expect(result.error).toBeUndefined();
	expect([bench.gateway.paid, spent(json)]).toEqual([3, 0.12]);

	bench.gateway.reset();
	bench.gateway.setFaults([
		{ call: 'download', kind: 'status', status: 404, match: 'number 2.', times: 1 },
	]);
	const failing = workflow({ budget: 0.12, concurrency: 1 });
	const failed = await run(failing, 3);
	expect(failed.status).toBe('error');
	const again = await bench.host.retry(failed, failing, { mode: 'trigger' });
	expect(again.error).toBeUndefined();
	expect([bench.gateway.paid, spent(failing)]).toEqual([3, 0.12]);
});

test('manual executions are held against the budget, and not counted afterwards', async () => {
	const json = workflow({ budget: 0.2 });
	await run(json, 3);
	expect((await run(json, 3, { mode: 'manual' })).error).toBeDefined();
	expect((await run(json, 2, { mode: 'manual' })).error).toBeUndefined();
	expect(spent(json)).toBe(0.12);
	expect((await run(json, 2)).error).toBeUndefined();
});

test('nor by an execution in production that ends while they are running', async () => {
	const json = workflow({ budget: 0.2 });
	await run(json, 1);
	bench.gateway.reset();
	bench.gateway.setFaults([{ call: 'sync', kind: 'latency', ms: 300, match: 'slow' }]);
	const manual = run({ ...json }, ['slow', 'slow'], { mode: 'manual' });
	await firstRequest();
	// It is held against the budget as long as it is running.
	expect((await run({ ...json }, 3)).error?.message).toContain('0.08 of 0.2');
	await run(json, 1);
	await manual;
	expect(spent(json)).toBe(0.08);
	expect((await run(json, 3)).error).toBeUndefined();
});

test('a run over midnight: each image counts on the day on which it was accepted', async () => {
	const json = workflow({ budget: 0.2, concurrency: 1 });
	setTime('2026-11-22T22:59:59Z');
	bench.gateway.setFaults([{ call: 'download', kind: 'latency', ms: 1 }]);
	const turn = () => {
		if (bench.gateway.requests.filter(({ call }) => call === 'sync').length > 1) {
			setTime('2026-11-22T23:00:10Z');
		} else setImmediate(turn);
	};
	turn();
	await run(json, 4);
	expect(spent(json) + spent(json, '2026-11-23')).toBeCloseTo(0.16, 6);
	expect(spent(json, '2026-11-23')).toBeGreaterThan(0);
	expect(spent(json)).toBeGreaterThan(0);
});

test('a run that waits for its first image until after midnight: all of it counts on the new day, once', async () => {
	bench.gateway.setFaults([
		{ call: 'sync', kind: 'latency', ms: 30, match: 'number 0.' },
		{ call: 'sync', kind: 'cutAfter', match: 'number 1.' },
	]);
	const settings = { onError: 'continueRegularOutput' } as const;
	for (const budgetPeriod of ['day', 'month']) {
		const before = bench.gateway.requests.length;
		const json = workflow({ budget: 0.2, budgetPeriod, concurrency: 1 }, {}, settings);
		setTime('2026-11-22T22:59:59Z');
		const turn = () => {
			const sent = bench.gateway.requests.slice(before);
			if (sent.some(({ call }) => call === 'sync')) setTime('2026-11-22T23:00:10Z');
			else setImmediate(turn);
		};
		turn();
		await run(json, 3);
		// The outcome of the second one is unknown.
		expect([spent(json), spent(json, '2026-11-23')]).toEqual([0, 0.12]);
		const { paid } = bench.gateway;
		await run(json, 3);
		expect(bench.gateway.paid).toBe(paid);
	}
});

/** Until the gateway has been asked for an image. */
async function firstRequest(): Promise<void> {
	while (!bench.gateway.requests.some(({ call }) => call === 'sync')) {
		await new Promise((resolve) => setImmediate(resolve));
	}
}

test('what midnight meets counts for a run that begins after it, and once', async () => {
	bench.gateway.setFaults([
		{ call: 'sync', kind: 'latency', ms: 300, match: 'number 0.', times: 1 },
	]);
	for (const budgetPeriod of ['day', 'month']) {
		bench.gateway.reset();
		const json = workflow({ budget: 0.2, budgetPeriod, concurrency: 1 });
		setTime('2026-11-22T22:59:59Z');
		const running = run(json, 3);
		await firstRequest();
		setTime('2026-11-22T23:00:10Z');
		const beside = { ...json };
		expect((await run(beside, 3)).error?.message).toContain('0.08 of 0.2');
		expect((await run(beside, 2)).error).toBeUndefined();
		await running;
		expect([spent(json), spent(json, '2026-11-23')]).toEqual([0, 0.2]);
		expect((await run(beside, 1)).error?.message).toContain('0 of 0.2');
		expect([spent(beside), spent(beside, '2026-11-23')]).toEqual([0, 0.2]);
	}
});

test('what a run gives back does not stay in the copy of another one that ends after it', async () => {
	const json = workflow({ budget: 0.2 });
	await run(json, 1);
	bench.gateway.reset();
	bench.gateway.setFaults([
		{ call: 'sync', kind: 'latency', ms: 100, match: 'refused' },
		{ call: 'sync', kind: 'status', status: 400, match: 'refused' },
		{ call: 'sync', kind: 'latency', ms: 500, match: 'slow' },
	]);
	const refused = run({ ...json }, ['refused']);
	await firstRequest();
	const slow = { ...json };
	await Promise.all([refused, run(slow, ['slow'])]);
	expect(spent(slow)).toBe(0.08);
	expect((await run(slow, 3)).error).toBeUndefined();
});

test.each(['trigger', 'manual'] as const)(
	'runs of the node in one execution (%s) add up',
	async (mode) => {
		const json = workflow({ budget: 0.2 });
		const to = (node: string) => ({ node, type: 'main' as const, index: 0 });
		const looped: WorkflowJson = {
			...json,
			nodes: [...json.nodes, ...['One', 'Other'].map((name) => ({ name, type: 'test.meanwhile' }))],
			connections: {
				Start: { main: [[to('One'), to('Other')]] },
				One: { main: [[to(NODE)]] },
				Other: { main: [[to(NODE)]] },
			},
		};
		const result = await run(looped, 3, { mode });
		expect(result.error?.message).toContain('0.08 of 0.2');
		expect(bench.gateway.paid).toBe(3);
	},
);

test.each<[string, unknown, number]>([
	['nothing', undefined, 0],
	['a text', 'x', 0],
	['a list', [1], 0],
	['other shapes', { id: 5, runs: { a: 1 }, earlier: [7] }, 0],
	['no numbers', { runs: [{ run: 'a', day: '2026-11-22', amount: 'NaN' }, null, 5] }, 0],
	['negative', { runs: [{ run: 'a', day: '2026-11-22', amount: -5 }] }, 0],
	['no days', { runs: [{ run: 'a', day: '22.11.', amount: 5 }], earlier: { __proto__: 5 } }, 0],
	['prototypes', JSON.parse('{"__proto__":{"runs":1},"earlier":{"__proto__":5}}'), 0],
	['twice', { runs: [1, 2].map((n) => ({ run: 'a', day: '2026-11-22', amount: n / 100 })) }, 0.02],
	['sums of days', { id: '__proto__', earlier: { '2026-11-22': 0.1, '2026-10-01': 9 } }, 0.1],
	['other months', { runs: [{ run: 'a', day: '2025-11-22', amount: 5 }] }, 0],
])('static data that somebody has edited: %s', async (_, mediaGatewayBudget, before) => {
	const json = workflow({ budget: 0.2 });
	json.staticData = { [`node:${NODE}`]: { mediaGatewayBudget } } as IDataObject;
	expect((await run(json, 2)).error).toBeUndefined();
	expect(spent(json)).toBeCloseTo(before + 0.08, 6);
	expect((await run(json, 4)).error).toBeDefined();
});

test('what is stored stays small', async () => {
	const runs = Array.from({ length: 4000 }, (_, index) => ({
		run: `r${index}`,
		day: '2026-11-22',
		amount: 0.001,
	}));
	const json = workflow({ budget: 5 });
	json.staticData = { [`node:${NODE}`]: { mediaGatewayBudget: { id: 'one', runs } } } as never;
	await run(json, 1);
	expect(stored(json)?.runs).toHaveLength(500);
	expect(spent(json)).toBe(4.04);
	await run(json, 1);
	expect(spent(json)).toBe(4.08);
});

test('Survive Restarts: counted where it was submitted, and stored when it is suspended', async () => {
	const json = workflow({ budget: 0.2, surviveRestarts: true }, { mode: 'wait' });
	json.nodes.push({ name: 'Done', type: 'n8n-nodes-base.noOp' });
	json.connections[NODE] = { main: [[{ node: 'Done', type: 'main', index: 0 }]] };
	const parked = await run(json, 3);
	expect(parked.status).toBe('waiting');
	expect(spent(json)).toBe(0.12);
	expect((await run(json, 3)).error?.message).toContain('0.08 of 0.2');
	const done = await bench.host.resume(parked);
	expect(done.json('Done')).toHaveLength(3);
	expect([spent(json), bench.gateway.paid]).toEqual([0.12, 3]);
});

test('a period that is none of the three, and a budget below zero, are refused', async () => {
	expect((await run(workflow({ budget: 1, budgetPeriod: 'year' }), 1)).error?.message).toBe(
		"'Budget Period' must be one of run, day, month",
	);
	expect((await run(workflow({ budget: -1 }), 1)).error?.message).toMatch(/must not be negative/);
	expect(bench.gateway.paid).toBe(0);
});
