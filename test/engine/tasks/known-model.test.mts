/** What the process has learned of how long a model takes, seen from the nodes. */
import { sharedBench } from '../opened.mjs';
import { MODEL, NODE } from '../workbench.mjs';

const bench = sharedBench({ taskSeconds: 3 });

const polls = () => bench.gateway.count('poll');

// The gateway's tasks take real seconds; how long they are waited for is a row of the bench.
jest.retryTimes(2);

test('what one node has learned of a model, the node that waits knows: one poll finds the task', async () => {
	const parameters = { prompt: 'a lighthouse', download: false };
	await bench.run('imageGeneration', { ...parameters, mode: 'wait' });
	const before = polls();
	expect(before).toBeGreaterThan(1);
	const submitted = await bench.run('imageGeneration', { ...parameters, mode: 'submit' });
	const result = await bench.run('imageWait', { download: false }, submitted.json(NODE, 0));
	expect(result.json(NODE, 0)).toMatchObject([{ status: 'completed', model: MODEL }]);
	expect(polls() - before).toBe(1);
}, 30_000);
