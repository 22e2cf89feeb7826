/** What the process has learned of how long a model takes, seen from the nodes. */
import { sharedBench } from '../opened.mjs';
import { MODEL, NODE } from '../workbench.mjs';

const TASK_S = 3;

const bench = sharedBench({ taskSeconds: TASK_S });

/** How often the task of one image is asked about. */
async function click(model = MODEL): Promise<number> {
	bench.gateway.requests.splice(0);
	const result = await bench.run('imageGeneration', {
		model: { __rl: true, mode: 'name', value: model },
		prompt: 'a lighthouse',
		mode: 'wait',
		download: false,
	});
	expect(result.json(NODE, 0)).toMatchObject([{ status: 'completed' }]);
	return bench.gateway.requests.filter(
		({ method, path }) => method === 'GET' && path.includes('/images/generations/'),
	).length;
}

// The gateway's tasks take real seconds; how long they are waited for is a row of the bench.
jest.retryTimes(2);

test('a model that was seen before is found by one poll', async () => {
	expect(await click()).toBeGreaterThan(1);
	expect(await click()).toBe(1);
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
