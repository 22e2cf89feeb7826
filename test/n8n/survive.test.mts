import { setTimeout as sleep } from 'node:timers/promises';

import type { Gateway } from '../../simulator/gateway.mjs';
import { batchWorkflow } from '../../harness/server/batch-workflow.mjs';
import {
	SHORT_MINUTE,
	type Execution,
	type Json,
	type N8nServer,
} from '../../harness/server/server.mjs';
import { until } from '../../harness/wait-until.mjs';
import { openRealServer, type RealServer } from './real-server.mjs';

/** Long enough for several crashes and restarts. */
jest.setTimeout(600_000);

const options = { surviveRestarts: true };

describe('waiting that survives a crash, on n8n 2', () => {
	let real: RealServer;
	let server: N8nServer;
	let gateway: Gateway;
	let credentials: Json;

	beforeAll(async () => {
		real = await openRealServer('2', { imageSize: 32 }, SHORT_MINUTE);
		({ server, gateway, credentials } = real);
	});

	afterAll(async () => await real?.close());

	async function createWorkflow(path: string, waitSettings: Json = {}): Promise<string> {
		const wait = { maxWait: 400, options };
		const ends = ['Last', 'Errors'];
		return await create(batchWorkflow({ path, credentials, wait, waitSettings, ends }));
	}

	async function create(workflow: ReturnType<typeof batchWorkflow>): Promise<string> {
		const { id } = await server.createWorkflow(workflow);
		await server.activate(id);
		return id;
	}

	/** All executions of a workflow, the first one first: the user's, then those that wait for it. */
	const executionsOf = async (workflowId: string) =>
		(await server.executions({ workflowId })).sort(
			(one, other) => Number(one.id) - Number(other.id),
		);

	/** Starts the workflow and gives back its execution, once that is stored. */
	async function suspended(path: string, workflowId: string, prompts: string[]): Promise<string> {
		await server.runWebhook(path, { prompts });
		const [outer] = await executionsOf(workflowId);
		await server.until(String(outer?.id), (status) => status === 'waiting');
		return String(outer?.id);
	}

	async function everyoneWaits(workflowId: string): Promise<void> {
		for (const { id } of await executionsOf(workflowId)) {
			await server.until(id, (status) => status === 'waiting');
		}
	}

	/** Waits until checks were started in the place of some that have crashed, and are stored. */
	async function suspendedAgain(workflowId: string): Promise<void> {
		// The keeper of the crashed checks has ended, and there is another with new checks.
		const all = await until('six executions, two ended', 150, async () => {
			const found = await executionsOf(workflowId);
			const ended = found.filter(({ status }) => !/running|waiting|new/.test(status));
			return found.length === 6 && ended.length === 2 && found;
		});
		const open = all.filter(({ status }) => /running|waiting|new/.test(status));
		// Each once: none of them has to wait at the same moment as another.
		for (const { id } of open) await server.until(id, (status) => status === 'waiting');
	}

	const itemsOf = ({ data }: Execution, name: string): Json[] =>
		(data.resultData.runData[name] ?? []).flatMap((run: Json) => run.data?.main?.[0] ?? []);

	it('brings every image after SIGKILL at once, in a check and after it, and submits nothing anew', async () => {
		gateway.reset();
		const workflowId = await createWorkflow('crash', { onError: 'continueErrorOutput' });
		const prompts = ['a fox', 'a boat [slow 60]', 'no way [slow 20] [fail]', 'a castle [slow 100]'];
		const id = await suspended('crash', workflowId, prompts);
		await server.restart('SIGKILL');

		// What is due is taken up while n8n starts. The second crash comes in a later check.
		await sleep(10_000);
		await everyoneWaits(workflowId);
		const before = gateway.count('download');
		gateway.setFaults([{ call: 'download', kind: 'latency', ms: 5000 }]);
		await until('a download', 120, () => gateway.count('download') > before);
		await server.restart('SIGKILL');
		const killed = (await executionsOf(workflowId)).filter(({ status }) => status === 'crashed');
		expect(killed).toHaveLength(1);
		gateway.setFaults([]);

		// And once more when all is suspended again: n8n's recovery looks at the supervisor anew.
		await suspendedAgain(workflowId);
		await server.restart('SIGKILL');
		const execution = await server.settled(id, 400_000);

		expect(execution.status).toBe('success');
		const images = itemsOf(execution, 'Wait');
		expect(itemsOf(execution, 'Last')).toHaveLength(3);
		expect(images.map(({ json }) => json.status)).toEqual(['completed', 'completed', 'completed']);
		for (const { binary } of images) {
			expect((await server.binary(binary.data)).subarray(1, 4).toString()).toBe('PNG');
		}
		expect(images.map(({ pairedItem }) => pairedItem.item)).toEqual([0, 1, 3]);
		const [failed] = itemsOf(execution, 'Errors');
		expect(failed.json).toMatchObject({ details: { taskType: 'generation', status: 'failed' } });
		expect(failed.json.taskId).toBe(failed.json.details.taskId);
		expect(gateway.paid).toBe(4);
	});

	it('keeps the tasks of a batch that is killed while it is submitted', async () => {
		gateway.reset();
		// Ten at a time: the rest of the batch is held.
		gateway.setFaults([{ call: 'submit', kind: 'latency', ms: 100_000, after: 200 }]);
		const submit = { mode: 'wait', options };
		const workflowId = await create(batchWorkflow({ path: 'batch', credentials, submit }));
		const prompts = Array.from({ length: 400 }, (_, index) => `fox ${index}`);
		await server.runWebhook('batch', { prompts });
		const storedTasks = async () => {
			const [, kept] = await executionsOf(workflowId);
			return kept ? itemsOf(await server.execution(kept.id), 'Submitted Image Tasks') : [];
		};
		await until(
			'the round with all accepted tasks',
			120,
			async () => (await storedTasks()).length >= 200,
		);
		await server.restart('SIGKILL');
		gateway.setFaults([]);

		const [outer, kept, ...others] = await executionsOf(workflowId);
		expect([outer?.status, kept?.status, others]).toEqual(['crashed', 'crashed', []]);
		const list = await server.execution(String(kept?.id));
		const tasks = itemsOf(list, 'Submitted Image Tasks');
		// The editor shows the last round.
		const rounds = list.data.resultData.runData['Submitted Image Tasks'];
		expect(rounds.at(-1).data.main[0]).toHaveLength(tasks.length);
		expect(tasks).toHaveLength(200);
		expect(new Set(tasks.map(({ json }) => json.taskId)).size).toBe(tasks.length);
		expect(tasks[0].json).toMatchObject({ taskId: expect.any(String), taskType: 'generation' });
	});

	it('charges once for requests in flight when it is killed, where the gateway knows them by their keys', async () => {
		gateway.reset();
		gateway.setFaults([{ call: 'sync', kind: 'latency', ms: 2000 }]);
		const { id, name } = await server.createCredential({
			type: 'mediaGatewayApi',
			name: 'With keys',
			data: {
				baseUrl: gateway.url,
				apiKey: gateway.keys[0],
				gatewaySettings: true,
				idempotencyHeader: 'Idempotency-Key',
			},
		});
		const own = { mediaGatewayApi: { id, name } };
		const settings = { saveExecutionProgress: true };
		const submit = { mode: 'sync' };
		const workflowId = await create(
			batchWorkflow({ path: 'keys', credentials: own, submit, settings }),
		);
		await server.runWebhook('keys', { prompts: ['a fox', 'an owl', 'an elk'] });
		await until('three requests', 60, () => gateway.count('sync') === 3);
		await server.restart('SIGKILL');
		// What was in flight is charged, and nobody gets it.
		await until('their charges', 60, () => gateway.paid === 3);
		const [killed] = await executionsOf(workflowId);
		expect(killed?.status).toBe('crashed');
		await server.rest('POST', `/executions/${killed!.id}/retry`, { loadWorkflow: false });
		const [, retried] = await executionsOf(workflowId);
		const execution = await server.settled(String(retried?.id));
		expect(execution.status).toBe('success');
		expect(itemsOf(execution, 'Submit')).toHaveLength(3);
		expect([gateway.count('sync'), gateway.paid]).toEqual([6, 3]);
	});

	it('asks for nothing more once the outer execution was stopped while stored', async () => {
		gateway.reset();
		const workflowId = await createWorkflow('stopped');
		const id = await suspended('stopped', workflowId, ['a lighthouse [slow 300]']);
		await server.rest('POST', `/executions/${id}/stop`);
		const before = gateway.count('poll');
		const [outer, supervisor, , checks] = await executionsOf(workflowId);
		await server.settled(String(supervisor?.id), 200_000);
		expect((await server.execution(String(checks?.id))).status).toBe('success');
		expect(gateway.count('poll')).toBe(before);
		// What a Stop leaves is what Image Wait takes.
		const [task] = itemsOf(await server.execution(String(outer?.id)), 'Wait');
		expect(task.json).toMatchObject({ taskId: expect.any(String), taskType: 'generation' });
	});

	it.each(['continueRegularOutput', 'continueErrorOutput'])(
		'ends in one round when the credential is gone (%s)',
		async (onError) => {
			gateway.reset();
			const own: Json = await server.storeAccount(gateway.url, gateway.keys[0]);
			const path = `gone-${onError}`;
			const workflowId = await createWorkflow(path, { onError, credentials: own });
			const id = await suspended(path, workflowId, ['a fox', 'an owl']);
			await server.rest('DELETE', `/credentials/${own.mediaGatewayApi.id}`);
			// n8n is asked for it for a minute.
			const execution = await server.settled(id, 200_000);
			const node = onError === 'continueErrorOutput' ? 'Errors' : 'Last';
			const submitted = itemsOf(execution, 'Submit').map(({ json }) => json.taskId);
			expect(itemsOf(execution, node).map(({ json }) => json.details.taskId)).toEqual(submitted);
			expect(await executionsOf(workflowId)).toHaveLength(4);
		},
	);
});
