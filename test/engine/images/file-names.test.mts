/** The names of files, by default and by the option "File Name", through the nodes. */
import '../fast-time.mjs';
import type { RunResult } from '../../../harness/engine/host.mjs';
import { sharedBench } from '../opened.mjs';
import { hostFor, MODEL, NODE, sendJson, serve, TINY_PNG, workflowOf } from '../workbench.mjs';

const bench = sharedBench();

const names = (result: RunResult): unknown[] =>
	result.output(NODE).flatMap(({ binary = {} }) => Object.values(binary).map((b) => b.fileName));
const FOXES = [{ prompt: 'A red fox' }, { prompt: 'an owl, at night' }, { prompt: 'a RED fox' }];
const PROMPT = '={{ $json.prompt }}';

test('as the option says, with the real extension', async () => {
	const fileName = '={{ $json.prompt.split(" ").at(-1) }}.gif';
	const parameters = { prompt: PROMPT, mode: 'wait', options: { fileName, n: 2 } };
	expect(names(await bench.run('imageGeneration', parameters, FOXES))).toEqual([
		...['fox.png', 'fox-2.png', 'night.png', 'night-2.png', 'fox-3.png', 'fox-4.png'],
	]);
});

test.each(['sync', 'wait'])(
	'%s, without the option: the first words of the prompt, and an end that no other execution gives',
	async (mode) => {
		const prompts = ['A red fox, asleep', 'a RED fox asleep', '🦊'];
		const parameters = { prompt: PROMPT, mode, options: { n: 2 } };
		const items = prompts.map((prompt) => ({ prompt }));
		const first = names(await bench.run('imageGeneration', parameters, items));
		const stems = ['a-red-fox-asleep', 'a-red-fox-asleep', mode === 'sync' ? MODEL : `${MODEL}-`];
		expect(first).toEqual(
			[0, 0, 1, 1, 2, 2].map((at) => expect.stringMatching(`^${stems[at]}.*-[0-9a-f]{8}\\.png$`)),
		);
		const second = names(await bench.run('imageGeneration', parameters, items));
		expect(new Set([...first, ...second]).size).toBe(12);
	},
);

test('the default name of a task is the same wherever its image is downloaded', async () => {
	const parameters = { prompt: PROMPT, mode: 'submit', options: { n: 2 } };
	const tasks = (await bench.run('imageGeneration', parameters, FOXES)).json(NODE);
	const waited = names(await bench.run('imageWait', {}, tasks));
	expect(new Set(waited).size).toBe(6);
	expect(names(await bench.run('imageTask', {}, tasks))).toEqual(waited);
	// The position of the row doesn't count.
	expect(names(await bench.run('imageWait', {}, tasks.slice(2)))).toEqual(waited.slice(4));
});

test('a generation and an edit with one ID have names of their own', async () => {
	const state = {
		id: 'job_1',
		status: 'completed',
		data: [{ b64_json: TINY_PNG.toString('base64') }],
	};
	const server = await serve((_, response) => sendJson(response, state));
	const host = await hostFor({ baseUrl: server.url });
	const tasks = ['generation', 'edit'].map((taskType) => ({
		json: { taskId: 'job_1', taskType, status: 'queued', prompt: 'a fox' },
	}));
	const result = await host.run(workflowOf('imageWait', {}), { input: tasks });
	await server.close();
	const ends = names(result).map((name) => /-([0-9a-f]{8})\.png$/.exec(String(name))?.[1]);
	expect(ends).toEqual([expect.any(String), expect.any(String)]);
	expect(ends[0]).not.toBe(ends[1]);
});

test('equal names get a number by position, also where they differ only in case', async () => {
	// The first one arrives last.
	bench.gateway.setFaults([{ call: 'download', kind: 'latency', ms: 60, match: 'A red' }]);
	const result = await bench.run(
		'imageGeneration',
		{ prompt: PROMPT, options: { fileName: PROMPT } },
		FOXES,
	);
	expect(names(result)).toEqual(['A red fox.png', 'an owl, at night.png', 'a RED fox-2.png']);
});

test('an expression for each item; where it gives nothing, the name is the usual one', async () => {
	const [usual] = names(await bench.run('imageGeneration', { prompt: 'a fox' }));
	expect(usual).toMatch(/\.png$/);
	const result = await bench.run(
		'imageGeneration',
		{ prompt: 'a fox', options: { fileName: '={{ $json.sku ? $json.sku + "-a" : "" }}' } },
		[{ sku: 'A/100' }, {}, { sku: 'CON' }, { sku: 12 }],
	);
	const [first, second, third, fourth] = names(result);
	expect([first, third, fourth]).toEqual(['A-100-a.png', 'CON-a.png', '12-a.png']);
	expect(second).toMatch(/\.png$/);
	expect(bench.gateway.paid).toBe(5);
});

test('a name that is no text is refused before anything is sent', async () => {
	const result = await bench.run(
		'imageGeneration',
		{ prompt: 'a fox', options: { fileName: '={{ $json.name }}' } },
		[{ name: 'one' }, { name: { a: 1 } }],
	);
	expect(result.error).toMatchObject({
		message: "'File Name' must be text",
		context: { itemIndex: 1 },
	});
	expect(bench.gateway.paid).toBe(0);
});

test('Image Edit, Image Wait and Image Task use the option too, also for several images', async () => {
	const edit = await bench.run(
		'imageEdit',
		{
			prompt: 'Make it night',
			images: `data:image/png;base64,${TINY_PNG.toString('base64')}`,
			options: { fileName: 'Night' },
		},
		[{}, {}],
	);
	expect(edit.error).toBeUndefined();
	expect(names(edit)).toEqual(['Night.png', 'Night-2.png']);

	const submitted = await bench.run('imageGeneration', {
		prompt: 'a fox',
		mode: 'submit',
		options: { n: 2 },
	});
	const tasks = submitted.json(NODE);
	const taskId = String(tasks[0]?.taskId);
	const options = { fileName: '={{ $json.taskId }}' };
	const waited = await bench.run('imageWait', { options }, tasks);
	expect(names(waited)).toEqual([`${taskId}.png`, `${taskId}-2.png`]);
	const asked = await bench.run('imageTask', { options }, [...tasks, ...tasks]);
	expect(names(asked)).toEqual([
		`${taskId}.png`,
		`${taskId}-2.png`,
		`${taskId}-3.png`,
		`${taskId}-4.png`,
	]);
});
