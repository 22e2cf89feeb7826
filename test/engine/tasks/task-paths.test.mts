/** The first task of a kind finds the path for all others: on the real clock, which limits how long they wait. */
import { NODE } from '../workbench.mjs';
import { gatewayAt, NODES, run, tenTasks } from './task-gateway.mjs';

describe.each(NODES)('%s', (node) => {
	test.each(['generation', 'edit', 'auto'])(
		'of ten tasks of kind %s, one looks for the path, and the others use it',
		async (taskType) => {
			for (const folder of ['/v1/images/tasks', '/v1/tasks']) {
				const gateway = await gatewayAt(folder);
				const result = await run(gateway.url, node, tenTasks(taskType));
				expect(result.json(NODE)).toHaveLength(10);
				expect(result.json(NODE).every(({ error }) => error === undefined)).toBe(true);
				// The first task is polled before all others.
				expect(gateway.wrong().length).toBeLessThan(4);
				expect(gateway.paths().length).toBeLessThan(14);
			}
		},
	);

	test.each(['generation', 'edit'])(
		'a task of kind %s at the path of the protocol is polled once',
		async (taskType) => {
			const gateway = await gatewayAt(`/v1/images/${taskType}s`);
			await run(gateway.url, node, tenTasks(taskType));
			expect(gateway.paths()).toHaveLength(10);
			expect(gateway.wrong()).toEqual([]);
		},
	);
});
