/** The example of a limit for each day, driven through a day. */
import type { Gateway } from '../../simulator/gateway.mjs';
import { createDataTable, selectTable } from '../../harness/server/data-table.mjs';
import {
	executionsOf,
	itemsOf,
	readExample,
	type Credentials,
} from '../../harness/server/example-workflows.mjs';
import type { Execution, Json, N8nServer } from '../../harness/server/server.mjs';

/** So long a pause is stored in n8n's database: its Wait node keeps shorter ones in memory. */
const WAIT_SECONDS = 66;
const SOON_MS = 300_000;
/** Of an image of the example's model. */
const PRICE = 0.04;

/**
 * Spends a limit of five images: three, then three that would be too many, two, and one more.
 *
 * @param waits whether the first execution waits, in n8n's database, between paying and writing it down
 */
export async function spendDailyBudget(
	server: N8nServer,
	gateway: Gateway,
	credentials: Credentials,
	waits: boolean,
): Promise<void> {
	const name = waits ? 'daily-budget-waits' : 'daily-budget';
	const table = await createDataTable(server, name, { day: 'string', cost: 'number' });
	await table.insert([{ day: '2026-01-01', cost: 100 }]);
	const workflow = readExample('daily-budget', credentials);
	selectTable(workflow, table);
	for (const { name: node, parameters } of workflow.nodes) {
		if (node === 'Webhook') parameters.path = name;
		if (node === 'Limit') parameters.assignments.assignments[0].value = 5 * PRICE;
	}
	if (waits) addWait(workflow.nodes, workflow.connections);
	const { id: workflowId } = await server.createWorkflow(workflow);
	await server.activate(workflowId);

	let count = 0;
	const send = async (images: number): Promise<Execution> => {
		const prompts = Array.from({ length: images }, (_, index) => `${name} ${count}.${index}`);
		expect((await server.runWebhook(name, { prompts })).status).toBe(200);
		count += 1;
		const [execution] = await executionsOf(server, workflowId, count, SOON_MS);
		expect(execution!.status).toBe('success');
		return execution!;
	};
	const costs = async (): Promise<number[]> =>
		(await table.rows()).slice(1).map(({ cost }) => cost as number);
	const before = gateway.paid;
	const paid = (): number => gateway.paid - before;

	expect(itemsOf(await send(3), 'Save the images here')).toHaveLength(3);
	expect([paid(), await costs()]).toEqual([3, [0.12]]);
	const refused = itemsOf(await send(3), 'Not generated');
	expect(refused.map(({ json }) => json.error)).toEqual(
		Array(3).fill('The estimated cost of 0.12 exceeds the budget of 0.08'),
	);
	expect([paid(), await costs()]).toEqual([3, [0.12]]);
	// What may have been charged counts.
	gateway.setFaults([{ call: 'submit', kind: 'cutAfter', times: 1 }]);
	expect(itemsOf(await send(2), 'Save the images here')).toHaveLength(1);
	expect([paid(), await costs()]).toEqual([5, [0.12, 0.08]]);
	const stopped = await send(1);
	expect(itemsOf(stopped, 'Limit reached')).toHaveLength(1);
	expect([paid(), await costs()]).toEqual([5, [0.12, 0.08]]);
	await server.deactivate(workflowId);
}

/** Between the item with the summary and the row that is written for it, in the first execution. */
function addWait(nodes: Json[], connections: Json): void {
	const amount = `={{ $('Spent today').all().length > 1 || $('Spent today').first().json.cost ? 1 : ${WAIT_SECONDS} }}`;
	nodes.push({
		id: 'wait',
		name: 'Wait',
		type: 'n8n-nodes-base.wait',
		typeVersion: 1.1,
		position: [1900, 60],
		parameters: { amount, unit: 'seconds' },
		webhookId: 'daily-budget-wait',
	});
	const to = (node: string) => ({ main: [[{ node, type: 'main', index: 0 }]] });
	connections['The item with the summary'] = to('Wait');
	connections.Wait = to('Write down the cost');
}
