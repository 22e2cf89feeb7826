/** The first task of a kind finds the path for all others: on the real clock, which limits how long they wait. */
import { opened } from '../opened.mjs';
import { NODE, sendJson, serve } from '../workbench.mjs';
import { DONE, gatewayAt, run, tenTasks, UNKNOWN } from './task-gateway.mjs';

test.each([
	['imageWait', 'generation', '/v1/images/tasks'],
	['imageTask', 'edit', '/v1/tasks'],
	['imageTask', 'auto', '/v1/images/tasks'],
] as const)(
	'%s: of ten tasks of kind %s at %s, one looks for the path, and the others use it',
	async (node, taskType, folder) => {
		const gateway = await gatewayAt(folder);
		const result = await run(gateway.url, node, tenTasks(taskType));
		expect(result.json(NODE)).toHaveLength(10);
		expect(result.json(NODE).every(({ error }) => error === undefined)).toBe(true);
		// The first task is polled before all others.
		expect(gateway.wrong().length).toBeLessThan(4);
		expect(gateway.paths().length).toBeLessThan(14);
	},
);

test('tasks at the path of the protocol are polled once', async () => {
	const gateway = await gatewayAt('/v1/images/edits');
	await run(gateway.url, 'imageWait', tenTasks('edit'));
	expect(gateway.paths()).toHaveLength(10);
	expect(gateway.wrong()).toEqual([]);
});

test.each([
	['/v1/images/edits', 1 + 9 * 2],
	['/v1/images/tasks', 3 + 9 * 3],
])(
	'once a task was found below %s, one that is not visible yet is not looked for elsewhere',
	async (folder, requests) => {
		const asked = new Map<string, number>();
		const server = await opened(
			serve(({ url = '' }, response) => {
				const count = (asked.get(url) ?? 0) + 1;
				asked.set(url, count);
				const isFirst = url.endsWith([...asked.keys()][0]!.split('/').at(-1)!);
				const isThere = url.startsWith(`${folder}/`) && (isFirst || count > 1);
				sendJson(response, isThere ? DONE : UNKNOWN, isThere ? 200 : 404);
			}),
		);
		const submittedAt = new Date().toISOString();
		const items = tenTasks('edit').map(({ taskId, taskType }) => ({
			taskId: `task-of-0123456789-${taskId}`,
			taskType,
			submittedAt,
		}));
		const found = (await run(server.url, 'imageTask', items)).json(NODE);
		expect(found.map(({ taskId }) => taskId)).toEqual(items.map(({ taskId }) => taskId));
		expect(server.requests).toHaveLength(requests);
	},
);
