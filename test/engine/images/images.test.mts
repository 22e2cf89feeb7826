import '../fast-time.mjs';
import { opened, sharedBench } from '../opened.mjs';
import {
	byName,
	hostFor,
	MODEL,
	NODE,
	sendJson,
	serve,
	TINY_PNG,
	workflowOf,
	type OwnServer,
} from '../workbench.mjs';

/** One word of each group; test/unit/protocol/status.test.mts has all spellings. */
const STATUSES = [
	['waiting', 'queued'],
	['working', ' \tIN_PROGRESS\n'],
	['success', 'Succeeded'],
	['unsuccessful', 'cancelled'],
] as const;

const bench = sharedBench();

const messageOf = (result: { error?: Error }): string => result.error?.message ?? '';

describe('statuses', () => {
	/** A gateway whose task IDs say what is answered: the statuses in their order, as JSON. */
	async function statusGateway(): Promise<OwnServer> {
		const asked = new Map<string, number>();
		return await opened(
			serve((request, response, url) => {
				const id = decodeURIComponent(new URL(request.url ?? '', url).pathname.split('/').pop()!);
				const statuses = JSON.parse(id) as string[];
				const turn = asked.get(id) ?? 0;
				asked.set(id, turn + 1);
				const status = statuses[Math.min(turn, statuses.length - 1)];
				// It always sends `data`; only a success may be taken for one.
				sendJson(response, { id, status, data: [{ url: `${url}/one.png` }] });
			}),
		);
	}

	const taskOf = (...statuses: string[]) => ({
		json: { taskId: JSON.stringify(statuses), taskType: 'generation' },
	});

	test('Image Task says for each whether the task is finished, and has succeeded', async () => {
		const { url } = await statusGateway();
		const host = await hostFor({ baseUrl: url });
		const result = await host.run(workflowOf('imageTask', { download: false }), {
			input: STATUSES.map(([, status]) => taskOf(status)),
		});
		expect(result.error).toBeUndefined();
		expect(result.json(NODE)).toMatchObject(
			STATUSES.map(([group]) => ({
				taskType: 'generation',
				statusGroup: group,
				finished: ['success', 'unsuccessful'].includes(group),
				succeeded: group === 'success',
				images: group === 'success' ? [{ url: `${url}/one.png` }] : [],
				...(group === 'unsuccessful' ? { error: expect.any(String) } : {}),
			})),
		);
	});

	test('Image Wait goes on while a task is open, takes a success, and says what failed', async () => {
		const { url, requests } = await statusGateway();
		const host = await hostFor({ baseUrl: url });
		const parameters = { download: false, pollInterval: 1, maxWait: 100 };
		const goOn = { onError: 'continueRegularOutput' as const };
		const result = await host.run(workflowOf('imageWait', parameters, goOn), {
			input: [taskOf('queued', 'running', 'unheard-of', 'success'), taskOf('Expired')],
		});
		expect(result.json(NODE)).toMatchObject([
			{ status: 'success', url: `${url}/one.png`, index: 0 },
			{ error: expect.stringMatching(/ended with the status "expired"/i) },
		]);
		expect(requests).toHaveLength(5);
	});

	test('an unknown status keeps the task open until the deadline, which names it', async () => {
		const [taskId] = await bench.submit('a fox [status percolating]');
		const result = await bench.run('imageWait', { taskId, pollInterval: 1, maxWait: 100 });
		expect(messageOf(result)).toBe(
			`The generation task ${taskId} was still open after 100 s; its status "percolating" is unknown to this node`,
		);
	});
});

test('expressions are evaluated for each item, and the order is kept', async () => {
	// The first items are the slowest.
	const prompts = Array.from({ length: 12 }, (_, index) => `picture ${index}.`);
	bench.gateway.setFaults(
		prompts.map((match, index) => ({ call: 'sync', kind: 'latency', ms: (12 - index) * 5, match })),
	);
	const parameters = {
		model: byName('={{ $json.model }}'),
		prompt: '={{ $json.prompt }}',
		options: { n: 2, binaryPropertyName: '={{ $json.field }}' },
	};
	const given = prompts.map((prompt, index) => ({
		prompt,
		model: index % 2 === 0 ? MODEL : 'plain-image',
		field: `picture_${index}`,
	}));
	const items = (await bench.run('imageGeneration', parameters, given)).output(NODE);
	expect(
		items.map(({ json: { prompt, model, index }, pairedItem, binary }) => [
			{ prompt, model, field: Object.keys(binary!).join() },
			[index, pairedItem],
		]),
	).toEqual(given.flatMap((one, item) => [0, 1].map((index) => [one, [index, { item }]])));
	const bytes = await Promise.all(
		items.map(async (item) => await bench.host.binary(item, Object.keys(item.binary!)[0])),
	);
	expect(new Set(bytes.map((one) => one.toString('base64'))).size).toBe(24);
	expect(bench.gateway.paid).toBe(12);
});

describe('which task', () => {
	test.each(['imageTask', 'imageWait'] as const)(
		'%s finds out the kind by itself, also where it was said to be another',
		async (node) => {
			const edit = await bench.submitEdit();
			const [generation] = await bench.submit('a fox');
			const items = [
				{ taskId: edit, taskType: 'generation' },
				{ taskId: generation, taskType: 'edit' },
			];
			const wrong = await bench.run(node, { download: false }, items);
			expect(wrong.json(NODE)).toMatchObject(items);
			const unknown = items.map(({ taskId }) => ({ taskId }));
			const found = await bench.run(node, { download: false }, unknown);
			expect(found.json(NODE)).toMatchObject([{ taskType: 'edit' }, { taskType: 'generation' }]);
		},
	);

	test.each(['imageTask', 'imageWait'] as const)(
		'%s: a task of another account, and none',
		async (node) => {
			const host = await hostFor({ baseUrl: bench.gateway.url, apiKey: bench.gateway.keys[1] });
			const ids = [...(await bench.submit('a fox')), 'task_none', '../../messages?x=1'];
			const result = await host.run(workflowOf(node, {}, { onError: 'continueRegularOutput' }), {
				input: ids.map((taskId) => ({ json: { taskId } })),
			});
			expect(result.json(NODE).map(({ error }) => error)).toEqual(
				ids.map((id) => `The gateway has no task ${id} (404)`),
			);
			// An ID cannot lead to another endpoint.
			expect(
				bench.gateway.requests.every(({ path }) =>
					/^\/v1\/(images\/)?(generations|edits|tasks)\b/.test(path),
				),
			).toBe(true);
		},
	);

	test('several IDs in one field are refused; an ID that the item has is taken as it is', async () => {
		for (const taskId of ['task_1, task_2', 'task_1\ntask_2']) {
			const { error } = await bench.run('imageWait', { taskId }, [{ taskId: 'task_1' }]);
			expect(error).toMatchObject({
				message: "'Task ID' must be the ID of one task",
				description: expect.stringMatching(/one task ID for each item.*Nothing was sent/s),
			});
		}
		expect(bench.gateway.count('any')).toBe(0);
		const own = await bench.run('imageTask', {}, [{ taskId: 'batch 7, image 1' }]);
		expect(messageOf(own)).toContain('has no task batch 7, image 1');
	});

	test('no task ID is said before anything is asked, and the item of a dry run is named as what it is', async () => {
		const parameters = { mode: 'submit', prompt: 'x', options: { dryRun: true } };
		const [item] = (await bench.run('imageGeneration', parameters)).json(NODE);
		const { error } = await bench.run('imageTask', {}, [{ taskId: 'x' }, item!, item!]);
		expect(error).toMatchObject({
			message: `2 items failed. Item 2 ("x"): 'Task ID' is empty`,
			description: expect.stringMatching(/^The input item comes from a dry run/),
		});
		const other = await bench.run('imageWait', {}, [{ dryRun: 'true' }]);
		expect(other.error).toMatchObject({ description: expect.not.stringContaining('dry run') });
		expect(bench.gateway.count('poll')).toBe(0);
	});
});

test('failed and cancelled: a result for Image Task, an error for Image Wait', async () => {
	const items = (await bench.submit('a [fail]', 'a [cancel]')).map((taskId) => ({ taskId }));
	const asked = await bench.run('imageTask', {}, items);
	expect(asked.json(NODE)).toMatchObject([
		{ status: 'failed', finished: true, succeeded: false },
		{ status: 'cancelled', error: expect.stringContaining('cancelled by the operator') },
	]);
	const waited = await bench.run('imageWait', {}, items, { onError: 'continueErrorOutput' });
	expect(waited.json(NODE, 0)).toEqual([]);
	const says = ['"failed": the picture could not', '"cancelled": the task was'];
	expect(waited.json(NODE, 1)).toMatchObject(
		items.map(({ taskId }, index) => ({
			error: expect.stringContaining(`task ${taskId} ended with the status ${says[index]}`),
			details: { taskId },
		})),
	);
});

describe('an odd response to a paid request', () => {
	test.each([
		['an ID alone, to a submit', { id: 'only' }, 'submit', { taskId: 'only', status: 'queued' }],
		['an ID alone, waited for', { id: 'only' }, 'wait', { taskId: 'only', status: 'success' }],
		[
			'a task, to a synchronous request',
			{ id: 'only', status: 'queued' },
			'sync',
			{ taskId: 'only', status: 'success' },
		],
	])('%s: the task is not lost', async (_, body, mode, expected) => {
		const { url } = await opened(
			serve((request, response, url) => {
				if (request.url?.endsWith('.png')) return void response.end(TINY_PNG);
				if (request.method === 'POST') return sendJson(response, body);
				if (!request.url?.includes('/generations/')) return sendJson(response, {}, 404);
				sendJson(response, { id: 'only', status: 'success', data: [{ url: `${url}/one.png` }] });
			}),
		);
		const host = await hostFor({ baseUrl: url });
		const result = await host.run(workflowOf('imageGeneration', { prompt: 'a fox', mode }));
		expect(messageOf(result)).toBe('');
		expect(result.json(NODE)).toMatchObject([expected]);
	});
});
