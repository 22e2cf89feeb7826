/** Executions side by side in one process: what they share must not let one pay for the other. */
import type { ServerResponse } from 'node:http';
import type { RunOptions, RunResult } from '../../../harness/engine/host.mjs';
import {
	byName,
	hostFor,
	NODE,
	sendJson,
	serve,
	workflowOf,
	type NodeName,
	type OwnServer,
} from '../workbench.mjs';

/** Waits for what has to come, by looking; whoever waits in vain is ended by the test's time limit. */
async function until(condition: () => boolean): Promise<void> {
	while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

const servers: OwnServer[] = [];
afterEach(async () => void (await Promise.all(servers.splice(0).map((server) => server.close()))));

describe('a model list that comes late', () => {
	const models = { success: true, data: { items: [{ model: 'm', media_type: 'image' }] } };
	const image = { created: 1, data: [{ url: 'http://127.0.0.1:9/x.png' }] };
	const GENERATE = {
		model: byName('m'),
		prompt: 'a fox',
		download: false,
		options: { timeout: 1 },
	};

	/** A gateway whose first list is held back. */
	async function open() {
		const held: ServerResponse[] = [];
		const server = await serve(({ method }, response) => {
			if (method !== 'GET') sendJson(response, image);
			else if (held.length === 0) held.push(response);
			else sendJson(response, models);
		});
		servers.push(server);
		const host = await hostFor({ baseUrl: server.url });
		const run = async (
			type: NodeName,
			parameters: Record<string, unknown>,
			options?: RunOptions,
		): Promise<RunResult> => await host.run(workflowOf(type, parameters), options);
		return { run, held, isAsked: () => held.length > 0 };
	}

	test('a short time-out of one execution is none of another, which waits longer for it', async () => {
		const { run, held, isAsked } = await open();
		const generating = run('imageGeneration', GENERATE);
		await until(isAsked);
		const listed = await run('mediaModels', { returnAll: true });
		expect(listed.error).toBeUndefined();
		expect(listed.json(NODE)).toHaveLength(1);
		held.forEach((response) => sendJson(response, models));
		expect((await generating).json(NODE)).toHaveLength(1);
	});

	test('who does without a slow one does not wait for another that is patient', async () => {
		const { run, held, isAsked } = await open();
		const listing = run('mediaModels', { returnAll: true });
		await until(isAsked);
		const generated = await run('imageGeneration', GENERATE);
		expect(generated.json(NODE)).toHaveLength(1);
		held.forEach((response) => sendJson(response, models));
		expect((await listing).json(NODE)).toHaveLength(1);
	});
});
