/** Which task is which: model, prompt and estimated cost go along, whatever becomes of an item. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { sharedBench } from '../opened.mjs';
import { MODEL, NODE, workflowOf } from '../workbench.mjs';

const bench = sharedBench();

const PROMPTS = ['a fox', 'an owl [fail]', 'a hare'];
const input = PROMPTS.map((prompt) => ({ json: { prompt, mine: 1 } }));

/** Submit Only, and a node behind it. */
function chain(node: 'imageWait' | 'imageTask', onError?: 'continueErrorOutput') {
	const workflow = workflowOf('imageGeneration', {
		prompt: '={{ $json.prompt }}',
		mode: 'submit',
	});
	workflow.nodes.push({
		name: 'Next',
		type: `n8n-nodes-media-gateway.${node}`,
		parameters: { download: false },
		onError: onError ?? 'continueRegularOutput',
	});
	workflow.connections[NODE] = { main: [[{ node: 'Next', type: 'main', index: 0 }]] };
	return workflow;
}

const promptsOf = (items: IDataObject[]) =>
	items.map(({ prompt, details }) => prompt ?? (details as IDataObject | undefined)?.prompt);

test.each(['imageWait', 'imageTask'] as const)(
	'Submit Only gives the prompt and the columns of the input; %s passes them on, of failed tasks too',
	async (node) => {
		const result = await bench.host.run(chain(node), { input });
		const submitted = result.json(NODE);
		expect(submitted).toMatchObject(PROMPTS.map((prompt) => ({ prompt, model: MODEL })));
		const items = result.json('Next');
		expect(promptsOf(items)).toEqual(PROMPTS);
		for (const { model, details } of items) {
			expect(model ?? (details as IDataObject).model).toBe(MODEL);
		}
		expect([...submitted, ...items].every((item) => 'mine' in item)).toBe(true);
		expect(submitted[0]?.estimatedCost).toBeGreaterThan(0);
		expect(items[0]?.estimatedCost).toBe(submitted[0]?.estimatedCost);
	},
);

test('a failed item keeps what n8n knows an error by', async () => {
	const result = await bench.host.run(chain('imageWait', 'continueErrorOutput'), { input });
	expect(promptsOf(result.json('Next', 0))).toEqual(['a fox', 'a hare']);
	// What stands beside it, n8n itself takes from the item of Submit Only.
	expect(result.json('Next', 1)[0]).toMatchObject({
		error: expect.stringContaining('ended with the status "failed"'),
		details: { prompt: 'an owl [fail]', model: MODEL, taskId: expect.any(String) },
	});
});

test('Image: whatever fails says for which prompt', async () => {
	bench.gateway.setFaults([
		{ call: 'submit', kind: 'status', status: 400, match: 'a hare' },
		{ call: 'download', kind: 'status', status: 404, match: 'a fox' },
	]);
	const result = await bench.run(
		'imageGeneration',
		{ prompt: '={{ $json.prompt }}', mode: 'wait', options: { pollInterval: 1 } },
		['a fox', 'an owl', 'a hare'].map((prompt) => ({ prompt })),
		{ onError: 'continueRegularOutput' },
	);
	const items = result.json(NODE);
	expect(items.map((item) => 'error' in item)).toEqual([true, false, true]);
	expect(promptsOf(items)).toEqual(['a fox', 'an owl', 'a hare']);
	expect(Object.keys(items[0]!).sort()).toEqual(['details', 'error', 'prompt']);
});
