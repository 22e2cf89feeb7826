/** What the process has learned of a model's durations, seen from the nodes. No pause is made shorter here. */
import { opened } from './opened.mjs';
import { MODEL, NODE, openBench, type Bench } from './workbench.mjs';

const TASK_S = 3;

let bench: Bench;

beforeAll(async () => {
	bench = await opened(openBench({ taskSeconds: TASK_S }));
});

/** One image, one click: seconds from the click to the image, and how often the task was asked about. */
async function click(model = MODEL) {
	bench.gateway.requests.splice(0);
	const before = performance.now();
	const result = await bench.run('imageGeneration', {
		model: { __rl: true, mode: 'name', value: model },
		prompt: 'a lighthouse',
		mode: 'wait',
		download: false,
	});
	const seconds = (performance.now() - before) / 1000;
	expect(result.json(NODE, 0)).toMatchObject([{ status: 'completed' }]);
	const polls = bench.gateway.requests.filter(
		({ method, path }) => method === 'GET' && path.includes('/images/generations/'),
	).length;
	return { seconds, polls };
}

test('a model that was seen before is found at once, by one poll', async () => {
	const first = await click();
	const second = await click();
	const third = await click();
	expect(first.polls).toBe(2);
	for (const { seconds, polls } of [second, third]) {
		expect(polls).toBe(1);
		expect(seconds).toBeGreaterThanOrEqual(TASK_S);
		expect(seconds).toBeLessThanOrEqual(3.6);
	}
}, 30_000);

test('what one node has learned, the node that waits knows', async () => {
	const submitted = await bench.run('imageGeneration', {
		model: { __rl: true, mode: 'name', value: MODEL },
		prompt: 'a harbor',
		mode: 'submit',
	});
	bench.gateway.requests.splice(0);
	const result = await bench.run('imageWait', { download: false }, submitted.json(NODE, 0));
	expect(result.json(NODE, 0)).toMatchObject([{ status: 'completed', model: MODEL }]);
	expect(bench.gateway.requests.filter(({ path }) => path.includes('/generations/'))).toHaveLength(
		1,
	);
}, 30_000);
