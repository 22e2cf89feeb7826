import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';

import type { Gateway } from '../../simulator/gateway.mjs';
import {
	exampleNames,
	executionsOf,
	itemsOf,
	itemsWithBinary,
	nodeNames,
	readExample,
	startsByHand,
	withWebhook,
	type Credentials,
	type Workflow,
} from '../../harness/server/example-workflows.mjs';
import { serverVersions } from '../../harness/server/packed-package.mjs';
import type { Execution, Json, N8nServer } from '../../harness/server/server.mjs';
import { openRealServer, type RealServer } from './real-server.mjs';

/** The node that gets what an example can't finish: nothing, here. */
const FOR_FAILURES = 'To look at';

/** Begin with what a person pastes or selects: recipes.test.mts and paying-examples.test.mts do. */
const PASTED = ['collect-these-tasks', 'daily-budget', 'images-for-a-spreadsheet'];

describe.each(serverVersions())('the examples on n8n %s', (version) => {
	let real: RealServer;
	let server: N8nServer;
	let gateway: Gateway;
	let credentials: Credentials;

	beforeAll(async () => {
		real = await openRealServer(version, { taskSeconds: [1, 2] });
		({ server, gateway, credentials } = real);
	});

	afterAll(async () => await real?.close());

	/** Checks that all went well and that every picture is, byte for byte, the gateway's. */
	async function expectPictures(workflow: Workflow, execution: Execution) {
		expect(execution.data.resultData.error).toBeUndefined();
		expect(execution.status).toBe('success');
		expect(Object.keys(execution.data.resultData.runData).sort()).toEqual(
			nodeNames(workflow)
				.filter((name) => name !== FOR_FAILURES)
				.sort(),
		);
		const items = itemsWithBinary(execution);
		for (const item of items) {
			for (const binary of Object.values(item.binary as Json) as Json[]) {
				// A page or a table that was made of the pictures is no picture.
				if (!binary.mimeType.startsWith('image/')) continue;
				const served = await fetch(item.json.url);
				const bytes = Buffer.from(await served.arrayBuffer());
				expect(served.status).toBe(200);
				expect(binary).toMatchObject({
					mimeType: served.headers.get('content-type'),
					fileName: expect.stringMatching(/\.(png|jpe?g|webp)$/),
				});
				expect(hash(await server.binary(binary))).toBe(hash(bytes));
			}
		}
		return items;
	}

	const byHand = exampleNames().filter((name) => startsByHand(readExample(name)));

	it.each(byHand.filter((name) => !PASTED.includes(name)))('%s runs by hand', async (name) => {
		gateway.reset();
		const workflow = readExample(name, credentials);
		const { id } = await server.createWorkflow(workflow);
		const execution = await server.settled(await server.runManually(id));
		const items = await expectPictures(workflow, execution);
		expect(items.length).toBeGreaterThan(0);
		expect(gateway.paid).toBeGreaterThan(0);
	});

	/** One item through Image, as it is set here. */
	function generation(parameters: Json, account = credentials): Workflow {
		return {
			name: 'One picture',
			nodes: [
				{
					id: 'start',
					name: 'Start',
					type: 'n8n-nodes-base.manualTrigger',
					typeVersion: 1,
					position: [0, 0],
					parameters: {},
				},
				{
					id: 'generate',
					name: 'Generate',
					type: 'n8n-nodes-media-gateway.imageGeneration',
					typeVersion: 1,
					position: [220, 0],
					parameters: {
						model: { __rl: true, mode: 'name', value: 'aurora-image-1' },
						prompt: 'A fox',
						mode: 'sync',
						...parameters,
					},
					credentials: account,
				},
			],
			connections: { Start: { main: [[{ node: 'Generate', type: 'main', index: 0 }]] } },
		};
	}

	async function runOnce(workflow: Workflow): Promise<Execution> {
		const { id } = await server.createWorkflow(workflow);
		return await server.settled(await server.runManually(id));
	}

	it.each([
		['a key that is refused', { key: 'disabled' }, {}],
		['a model that is not there', {}, { model: { __rl: true, mode: 'name', value: 'nothing' } }],
		['an unknown outcome', { faults: [{ call: 'sync', kind: 'status', status: 502 }] }, {}],
		['a cut connection', { faults: [{ call: 'sync', kind: 'cut' }] }, {}],
		[
			'a task that cannot be asked for',
			{ faults: [{ call: 'poll', kind: 'html', status: 403 }] },
			{ mode: 'wait' },
		],
		['a download that fails', { faults: [{ call: 'download', kind: 'status', status: 404 }] }, {}],
	] as Array<[string, Json, Json]>)(
		'after %s tells what happened and stores no key',
		async (_name, { key, faults }, parameters) => {
			gateway.setFaults(faults ?? []);
			const apiKey = key ? gateway.disabledKey : gateway.keys[0];
			const account = await server.storeAccount(gateway.url, apiKey);
			const execution = await runOnce(generation(parameters, account));
			gateway.setFaults([]);
			expect(execution.status).toBe('error');
			const { error } = execution.data.resultData;
			expect(error.message).not.toMatch(
				/^(Bad request|The service|Forbidden|Authorization failed)/,
			);
			expect(error.message.length).toBeGreaterThan(20);
			expect(error.description ?? '').not.toBe('');
			expect(JSON.stringify(execution)).not.toMatch(/Bearer/);
		},
	);

	it('hands what was paid for to an error workflow, whose Image Wait gets the image', async () => {
		gateway.reset();
		gateway.setFaults([{ call: 'poll', kind: 'html', status: 403, times: 1, match: 'A fox' }]);
		const rescue = await server.createWorkflow(readExample('get-what-was-paid', credentials));
		// n8n 2 runs published error workflows only; n8n 1 activates none without a trigger of its own.
		if (version === '2') await server.activate(rescue.id);
		const failing = withWebhook(generation({ mode: 'wait' }), 'fails');
		const { id } = await server.createWorkflow({
			...failing,
			settings: { errorWorkflow: rescue.id },
		});
		await server.activate(id);
		await server.runWebhook('fails', {});
		const [rescued] = await executionsOf(server, rescue.id);
		await server.deactivate(id);
		gateway.setFaults([]);
		expect(rescued!.data.resultData.error).toBeUndefined();
		const [image] = itemsOf(rescued!, 'Get the images');
		expect(image).toMatchObject({ json: { url: expect.stringContaining('http'), index: 0 } });
		expect(image!.binary.data.mimeType).toMatch(/^image/);
		expect(gateway.paid).toBe(1);
	});

	it('leaves the key nowhere: not in executions, database, files or log', async () => {
		const executions = await server.executions();
		expect(executions.length).toBeGreaterThan(5);
		const keys = [...gateway.keys, gateway.disabledKey];
		for (const { id } of executions) {
			const text = JSON.stringify(await server.rest('GET', `/executions/${id}`));
			for (const key of keys) expect(text.includes(key)).toBe(false);
		}
		// The whole user folder: the database and its journal, binary files, the server's log.
		const found = filesIn(server.userFolder)
			.map((file) => ({ file, bytes: fs.readFileSync(file) }))
			.filter(({ bytes }) => keys.some((key) => bytes.includes(key)));
		expect(found.map(({ file }) => path.relative(server.userFolder, file))).toEqual([]);
	});
});

function hash(bytes: Buffer): string {
	return createHash('sha256').update(bytes).digest('hex');
}

function filesIn(folder: string): string[] {
	return fs
		.readdirSync(folder, { withFileTypes: true, recursive: true })
		.filter((entry) => entry.isFile())
		.map((entry) => path.join(entry.parentPath, entry.name));
}
