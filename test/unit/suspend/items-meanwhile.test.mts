/** What a stored run hands out where n8n ends it before its result. */
import type { IExecuteFunctions, INode } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { itemsMeanwhile, type WaitPlan } from '../../../nodes/shared/suspend/storedWaits.js';

const node = { name: 'Wait', onError: 'continueRegularOutput' } as INode;
const context = { getNode: () => node } as IExecuteFunctions;
const plan = { errorOutput: false } as WaitPlan;

test('each image of a task that has finished leads to itself', () => {
	const images = [0, 1].map((index) => ({
		json: { taskId: 'task_1', url: `https://gateway.example/${index}.png`, index },
		binary: { data: { data: '', mimeType: 'image/png' } },
	}));
	const [items] = itemsMeanwhile(context, { plan, entries: [{ done: { items: images } }] });
	expect(items).toMatchObject(images.map(({ json }) => ({ json: { details: json } })));
});
