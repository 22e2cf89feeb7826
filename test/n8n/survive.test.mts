import type { Gateway } from '../../simulator/gateway.mjs';
import { batchWorkflow } from '../../harness/server/batch-workflow.mjs';
import { itemsOf } from '../../harness/server/example-workflows.mjs';
import type { Json, N8nServer } from '../../harness/server/server.mjs';
import { openRealServer, type RealServer } from './real-server.mjs';

/** Long enough that the tasks outlive a park of 66 s, a crash, and the second park. */
jest.setTimeout(600_000);

describe('waiting that survives a restart, on n8n 2', () => {
	let real: RealServer;
	let server: N8nServer;
	let gateway: Gateway;
	let credentials: Json;

	beforeAll(async () => {
		real = await openRealServer('2');
		({ server, gateway, credentials } = real);
	});

	afterAll(async () => await real?.close());

	/** Webhook, one item for each prompt, submit, wait with parks, and a last node. */
	async function createWorkflow(path: string, waitSettings: Json = {}): Promise<string> {
		const workflow = await server.createWorkflow(
			batchWorkflow({
				path,
				credentials,
				wait: { maxWait: 400, options: { surviveRestarts: true, parkAfter: 5 } },
				waitSettings,
				ends: ['Last', 'Errors'],
			}),
		);
		await server.activate(workflow.id);
		return workflow.id;
	}

	/** Starts the workflow and gives back its execution, once that is parked. */
	async function parked(path: string, workflowId: string, prompts: string[]): Promise<string> {
		await server.runWebhook(path, { prompts });
		const executions = await server.executions({ workflowId });
		const outer = executions.map(({ id }) => Number(id)).sort((one, other) => one - other)[0];
		await server.until(String(outer), (status) => status === 'waiting');
		return String(outer);
	}

	it('brings every image after SIGKILL in mid-wait, pairs it, and submits nothing anew', async () => {
		gateway.reset();
		const workflowId = await createWorkflow('crash', { onError: 'continueErrorOutput' });
		const prompts = ['a fox', 'a boat [slow 60]', 'no way [slow 20] [fail]', 'a castle [slow 100]'];
		const id = await parked('crash', workflowId, prompts);

		await server.restart('SIGKILL');
		const execution = await server.settled(id, 400_000);

		expect(execution.status).toBe('success');
		const images = itemsOf(execution, 'Wait');
		expect(itemsOf(execution, 'Last')).toHaveLength(3);
		expect(images.map(({ json }) => json.status)).toEqual(['completed', 'completed', 'completed']);
		expect(images.every(({ binary }) => binary.data.mimeType === 'image/png')).toBe(true);
		for (const { binary } of images) {
			expect((await server.binary(binary.data)).subarray(1, 4).toString()).toBe('PNG');
		}
		expect(images.map(({ pairedItem }) => pairedItem.item)).toEqual([0, 1, 3]);
		const [failed] = itemsOf(execution, 'Errors');
		expect(failed.json).toMatchObject({ details: { taskType: 'generation', status: 'failed' } });
		expect(gateway.paid).toBe(4);
	});

	it('asks for nothing more once the outer execution was stopped while parked', async () => {
		gateway.reset();
		const workflowId = await createWorkflow('stopped');
		const id = await parked('stopped', workflowId, ['a lighthouse [slow 300]']);
		await server.rest('POST', `/executions/${id}/stop`);
		const before = gateway.count('poll');

		const inner = (await server.executions({ workflowId })).find(
			(execution) => execution.id !== id,
		);
		await server.settled(String(inner?.id), 200_000);

		expect(gateway.count('poll')).toBe(before);
	});

	it("becomes the node's error where the node stops on errors", async () => {
		gateway.reset();
		const workflowId = await createWorkflow('stops');
		const id = await parked('stops', workflowId, ['a tree [slow 10] [fail]', 'a cat [slow 200]']);
		const execution = await server.settled(id, 400_000);
		expect(execution.status).toBe('error');
		const error = execution.data.resultData.error as Json;
		expect(error.message).toMatch(/ended as "failed"/);
	});
});
