/**
 * "Survive Restarts" on an n8n that hands a suspended execution its own input back.
 *
 * @jest-environment node
 */
// Before anything loads n8n: the mark by which the node knows such a platform is missing.
jest.mock('n8n-workflow', () => ({
	...jest.requireActual<object>('n8n-workflow'),
	WAIT_FOR_SUB_EXECUTION: undefined,
}));
import '../fast-time.mjs';
import { errorOf } from '../one-node.mjs';
import { sharedBench } from '../opened.mjs';
import { NODE } from '../workbench.mjs';

const bench = sharedBench();

const survive = { options: { surviveRestarts: true } };

test('Survive Restarts is refused before any request', async () => {
	const ids = await bench.submit('a fox', 'an owl');
	const before = bench.gateway.count('any');
	const items = ids.map((taskId) => ({ taskId }));
	const result = await bench.run('imageWait', survive, items);
	const { message, description } = errorOf(result);
	expect(message).toBe("'Survive Restarts' requires n8n 2");
	expect(description).toMatch(/Image Task.*Nothing was sent\.$/);
	const goOn = { onError: 'continueRegularOutput' } as const;
	const other = await bench.run('imageWait', survive, items, goOn);
	expect(other.json(NODE)).toEqual(
		items.map(() => ({ error: message, details: expect.objectContaining({ description }) })),
	);
	expect(bench.gateway.count('any')).toBe(before);
});

test('a node that pays refuses Survive Restarts before any submit, and names no task', async () => {
	const result = await bench.run('imageGeneration', { mode: 'wait', prompt: 'a fox', ...survive });
	expect(errorOf(result).description).toMatch(/^Turn the option off.*Nothing was sent\.$/);
	expect([bench.gateway.paid, bench.gateway.count('any')]).toEqual([0, 0]);
});

test('without the option the node waits as ever, and so does an agent with it', async () => {
	const [taskId] = await bench.submit('a fox');
	const result = await bench.run('imageWait', { download: false }, [{ taskId: taskId! }]);
	expect(result.json(NODE)).toMatchObject([{ taskId }]);
	const tool = 'n8n-nodes-media-gateway.imageWait';
	expect(await bench.host.runAsTool(tool, { taskId: taskId!, ...survive })).toContain(taskId);
});
