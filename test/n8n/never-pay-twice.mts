/** The example with a table whose rows are paid for once: through a crash, and run twice at once. */
import { setTimeout as sleep } from 'node:timers/promises';

import type { Gateway } from '../../simulator/gateway.mjs';
import { createDataTable, selectTable } from '../../harness/server/data-table.mjs';
import {
	itemsOf,
	readExample,
	type Credentials,
	type Workflow,
} from '../../harness/server/example-workflows.mjs';
import type { Json, N8nServer } from '../../harness/server/server.mjs';
import { until } from '../../harness/wait-until.mjs';

const TRIGGER = 'Every night at two';
const COLUMNS = ['sku', 'prompt', 'state', 'claimedBy', 'taskId', 'taskType', 'url', 'reason'];

interface Products {
	/** Rows in the order of the prompts. */
	rows(): Promise<Json[]>;
	/** Sets the state of a row, as a person does in the editor. */
	setState(sku: string, state: string): Promise<void>;
	/** Stores the example with this table, and gives its id. */
	store(prepare?: (workflow: Workflow) => void): Promise<string>;
}

async function products(
	server: N8nServer,
	credentials: Credentials,
	name: string,
	prompts: string[],
): Promise<Products> {
	const types = Object.fromEntries(COLUMNS.map((column) => [column, 'string']));
	const table = await createDataTable(server, name, types);
	await table.insert(prompts.map((prompt, n) => ({ sku: `A-${n}`, prompt, state: 'new' })));
	const { id: project } = await server.rest('GET', '/projects/personal');
	return {
		rows: table.rows,
		setState: async (sku, state) => {
			const filters = [{ columnName: 'sku', condition: 'eq', value: sku }];
			await server.rest('PATCH', `/projects/${project}/data-tables/${table.id}/rows`, {
				filter: { type: 'and', filters },
				data: { state },
			});
		},
		store: async (prepare = () => undefined) => {
			const workflow = readExample('never-pay-twice', credentials);
			selectTable(workflow, table);
			prepare(workflow);
			return (await server.createWorkflow(workflow)).id;
		},
	};
}

const statesOf = async ({ rows }: Products) => (await rows()).map(({ state }) => state);

/** n8n is killed while the third of five rows is being submitted. */
export async function killInTheMiddle(
	server: N8nServer,
	gateway: Gateway,
	credentials: Credentials,
): Promise<void> {
	const prompts = ['a lamp', 'a teapot', 'a stool', 'a rug', 'a [fail] clock'];
	const table = await products(server, credentials, 'products', prompts);
	const id = await table.store();
	const night = async (workflow = id) =>
		await server.settled(await server.runManually(workflow, TRIGGER));

	// The gateway holds up the third row, and n8n dies while it is held up.
	gateway.setFaults([{ call: 'submit', kind: 'status', status: 429, match: 'stool' }]);
	await server.runManually(id, TRIGGER);
	await until('the third row is held up', 60, async () => {
		const held = gateway.requests.some(({ status }) => status === 429);
		return held && (await statesOf(table))[1] === 'submitted';
	});
	await server.restart('SIGKILL');
	expect(await statesOf(table)).toEqual(['submitted', 'submitted', 'claimed', 'new', 'new']);
	expect(gateway.paid).toBe(2);

	gateway.setFaults([]);
	await sleep(1000);
	const execution = await night();
	expect(execution.status).toBe('success');
	expect(await table.rows()).toMatchObject([
		...[0, 1].map((n) => ({ sku: `A-${n}`, state: 'done', url: expect.any(String) })),
		// Nobody but the gateway knows whether this one was accepted.
		{ sku: 'A-2', state: 'claimed' },
		{ sku: 'A-3', state: 'done', url: expect.any(String) },
		{ sku: 'A-4', state: 'check', reason: expect.stringContaining('failed') },
	]);
	expect(
		itemsOf(execution, 'Save the images here').map(({ binary }) => binary.data.fileName),
	).toEqual([0, 1, 3].map((n) => `A-${n}.png`));

	// An hour later the interrupted row is put before a person, who sends it again.
	const later = await table.store(({ nodes }) => {
		const { parameters } = nodes.find(({ name }) => name === 'Interrupted rows');
		parameters.filters.conditions[1].keyValue = '={{ $now.plus({ hours: 1 }).toISO() }}';
	});
	await night(later);
	expect((await table.rows())[2]).toMatchObject({
		state: 'check',
		reason: expect.stringContaining('n8n stopped'),
	});
	expect(gateway.paid).toBe(4);
	await table.setState('A-2', 'new');
	await night();
	expect(gateway.paidByPrompt).toEqual(Object.fromEntries(prompts.map((prompt) => [prompt, 1])));
	expect(await statesOf(table)).toEqual(['done', 'done', 'done', 'done', 'check']);
	// Another night finds nothing to do.
	await night();
	expect(gateway.paid).toBe(prompts.length);
}

/** n8n starts the schedule twice: both executions see all rows as new. */
export async function runTwiceAtOnce(
	server: N8nServer,
	gateway: Gateway,
	credentials: Credentials,
): Promise<void> {
	const prompts = ['a lamp', 'a teapot', 'a stool', 'a rug'].map((prompt) => `${prompt}, twice`);
	const table = await products(server, credentials, 'products twice', prompts);
	// Each submit takes a while, so that both are at work until the last row.
	gateway.setFaults([{ call: 'submit', kind: 'latency', ms: 500 }]);
	const id = await table.store();
	const started = await Promise.all([0, 1].map(() => server.runManually(id, TRIGGER)));
	const executions = await Promise.all(started.map((one) => server.settled(one)));
	expect(executions.map(({ status }) => status)).toEqual(['success', 'success']);
	for (const execution of executions) expect(itemsOf(execution, 'New rows')).toHaveLength(4);
	expect(gateway.paidByPrompt).toEqual(Object.fromEntries(prompts.map((prompt) => [prompt, 1])));
	expect(await statesOf(table)).toEqual(prompts.map(() => 'done'));
	const claims = (await table.rows()).map(({ claimedBy }) => claimedBy as string);
	expect(claims.every((claim) => started.includes(claim))).toBe(true);
}
