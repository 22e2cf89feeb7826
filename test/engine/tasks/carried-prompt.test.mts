/** Which task is which: model, prompt and estimated cost go along, whatever becomes of an item. */
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

test('Submit Only: the items have the prompt, and nothing else of the input', async () => {
	const result = await bench.host.run(chain('imageTask'), { input });
	expect(result.json(NODE)).toMatchObject(PROMPTS.map((prompt) => ({ prompt, model: MODEL })));
	expect(result.json(NODE)[0]).not.toHaveProperty('mine');
});

test('Image Wait and Image Task pass it on, of failed tasks too', async () => {
	for (const node of ['imageWait', 'imageTask'] as const) {
		const result = await bench.host.run(chain(node), { input });
		const items = result.json('Next');
		expect(promptsOf(items)).toEqual(PROMPTS);
		for (const { model, details } of items) {
			expect(model ?? (details as IDataObject).model).toBe(MODEL);
		}
		expect(items.map((item) => 'mine' in item)).toEqual([false, false, false]);
		const cost = result.json(NODE)[0]?.estimatedCost;
		expect(cost).toBeGreaterThan(0);
		expect(items[0]?.estimatedCost).toBe(cost);
	}
});

test('a failed item keeps what n8n knows an error by', async () => {
	const result = await bench.host.run(chain('imageWait', 'continueErrorOutput'), { input });
	expect(promptsOf(result.json('Next', 0))).toEqual(['a fox', 'a hare']);
	const [failed] = result.json('Next', 1);
	// What stands beside it, n8n itself takes from the item of Submit Only.
	expect(failed).toMatchObject({
		error: expect.stringContaining('ended with the status "failed"'),
		details: { prompt: 'an owl [fail]', model: MODEL, taskId: expect.any(String) },
	});
});

test.each(['sync', 'wait'])(
	'Image Generation, %s: whatever fails says for which prompt',
	async (mode) => {
		bench.gateway.setFaults([
			{ call: mode === 'sync' ? 'sync' : 'submit', kind: 'status', status: 400, match: 'a hare' },
			{ call: 'download', kind: 'status', status: 404, match: 'a fox' },
		]);
		const result = await bench.run(
			'imageGeneration',
			{ prompt: '={{ $json.prompt }}', mode, options: { pollInterval: 1 } },
			['a fox', 'an owl', 'a hare'].map((prompt) => ({ prompt })),
			{ onError: 'continueRegularOutput' },
		);
		const items = result.json(NODE);
		expect(items.map((item) => 'error' in item)).toEqual([true, false, true]);
		expect(promptsOf(items)).toEqual(['a fox', 'an owl', 'a hare']);
		expect(Object.keys(items[0]!).sort()).toEqual(['details', 'error']);
	},
);
