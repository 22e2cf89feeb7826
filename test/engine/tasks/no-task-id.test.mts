/** An item without a task ID: only one that can't have a task is said not to be charged. */
import { sharedBench } from '../opened.mjs';
import { NODE } from '../workbench.mjs';

const bench = sharedBench();

const ELSEWHERE = "={{ $('Start').item.json.task }}";
const row = { name: 'fox', taskId: '' };

describe.each<'imageTask' | 'imageWait'>(['imageTask', 'imageWait'])('%s', (type) => {
	test.each([
		['an empty item, and the ID of the item', {}, {}, 'no'],
		['an empty item, and blanks', { taskId: '  ' }, {}, 'no'],
		['an empty item, and an ID from elsewhere that is empty', { taskId: ELSEWHERE }, {}, 'maybe'],
		['an empty item, and null', { taskId: '={{ null }}' }, {}, 'maybe'],
		['a row whose ID is empty', {}, row, 'maybe'],
		['a row that lost its ID', {}, { name: 'fox' }, 'maybe'],
		['a row that says it was not charged', {}, { ...row, charged: 'no' }, 'no'],
	])('%s', async (_, parameters, item, charged) => {
		const onError = 'continueRegularOutput';
		const result = await bench.run(type, parameters, [item], { onError });
		const [failed] = result.json(NODE);
		expect(failed).toMatchObject({ error: "'Task ID' is empty", details: { charged } });
		const { description } = failed!.details as { description: string };
		expect(description.includes('Nothing was sent')).toBe(charged === 'no');
		const { error } = await bench.run(type, parameters, [item]);
		expect(error).toMatchObject({ context: { details: { charged } } });
		expect(bench.gateway.count('any')).toBe(0);
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
