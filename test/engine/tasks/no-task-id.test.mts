/** An item without a task ID: only what says so wasn't charged. */
import { errorOf } from '../one-node.mjs';
import { sharedBench } from '../opened.mjs';
import { NODE, workflowOf } from '../workbench.mjs';

const bench = sharedBench();

const ELSEWHERE = "={{ $('Start').item.json.task }}";
const row = { name: 'fox', taskId: '' };

describe.each(['imageTask', 'imageWait'] as const)('%s', (type) => {
	test.each([
		['an empty item', {}, {}, 'maybe'],
		['an empty item, and an ID from elsewhere that is empty', { taskId: ELSEWHERE }, {}, 'maybe'],
		['a row whose ID is empty', {}, row, 'maybe'],
		['a row that lost its ID', {}, { name: 'fox' }, 'maybe'],
		['a row that says it was not charged', {}, { ...row, charged: 'no' }, 'no'],
	])('%s', async (_, parameters, item, charged) => {
		const onError = 'continueRegularOutput';
		const result = await bench.run(type, parameters, [item], { onError });
		const [failed] = result.json(NODE);
		expect(failed).toMatchObject({ error: "'Task ID' is empty", details: { charged } });
		const { error } = await bench.run(type, parameters, [item]);
		expect(error).toMatchObject({ context: { details: { charged } } });
		expect(bench.gateway.count('any')).toBe(0);
	});

	test('an item with a file says that there may be no task to wait for', async () => {
		const binary = { data: { data: '', mimeType: 'image/png' } };
		const result = await bench.host.run(workflowOf(type, {}), { input: [{ json: {}, binary }] });
		expect(errorOf(result).description).toMatch(/^The input item has a file but no task ID/);
	});

	test.each([
		['an object', '={{ ({}) }}'],
		['a list', '={{ [] }}'],
		['no text', '={{ true }}'],
	])('an ID that is %s may be meant for a task', async (_, taskId) => {
		const onError = 'continueRegularOutput';
		const [failed] = (await bench.run(type, { taskId }, [{}], { onError })).json(NODE);
		const error = "'Task ID' must be text";
		expect(failed).toMatchObject({ error, details: { charged: 'maybe' } });
	});
});
