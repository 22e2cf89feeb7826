import { createServer, type Server } from 'node:http';
import { cpSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
	createHost,
	type Host,
	type ProgressEvent,
	type WorkflowJson,
} from '../../../harness/engine/host.mjs';

const packageFolder = mkdtempSync(join(tmpdir(), 'fixture-package-'));
cpSync(join(__dirname, 'fixture-package'), packageFolder, { recursive: true });
// A second package.json in the repository would be one too many for n8n.
renameSync(join(packageFolder, 'manifest.json'), join(packageFolder, 'package.json'));
const credentials = { fixtureApi: { key: 'secret' } };
const wire = (node: string) => [{ node, type: 'main' as const, index: 0 }];

function workflowOf(operation: string, node: object = {}, url = ''): WorkflowJson {
	return {
		nodes: [
			{ name: 'Start', type: 'n8n-nodes-base.manualTrigger' },
			{
				name: 'Fixture',
				type: 'n8n-nodes-fixture.fixture',
				parameters: { operation, url },
				...node,
			},
			{ name: 'Done', type: 'n8n-nodes-base.noOp' },
			{ name: 'Note', type: 'n8n-nodes-base.stickyNote' },
		],
		connections: {
			Start: { main: [wire('Fixture')] },
			Fixture: { main: [wire('Done')] },
		},
	};
}

describe('the host runs nodes as n8n does', () => {
	let host: Host;
	let server: Server;
	let address: string;

	beforeAll(async () => {
		host = await createHost({ credentials, packageFolder });
		server = createServer((request, response) => {
			response.setHeader('content-type', 'application/json');
			response.end(
				JSON.stringify({ path: request.url, key: request.headers.authorization ?? null }),
			);
		});
		await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
		address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	});

	afterAll(() => {
		server.close();
		rmSync(packageFolder, { recursive: true });
	});

	test('expressions per item, the credential with its defaults, and progress', async () => {
		const events: ProgressEvent[] = [];
		const result = await host.run(workflowOf('request', {}, `=${address}/{{ $json.name }}`), {
			input: [{ json: { name: 'a' } }, { json: { name: 'b' } }],
			onProgress: (event) => events.push(event),
		});
		expect(result.status).toBe('success');
		expect(result.json('Done')).toEqual([
			{ path: '/a', key: 'Bearer secret' },
			{ path: '/b', key: 'Bearer secret' },
		]);
		expect(events).toContainEqual({ type: 'nodeStarted', node: 'Fixture' });
		expect(events).toContainEqual(
			expect.objectContaining({ type: 'nodeFinished', node: 'Fixture', items: 2 }),
		);
	});

	test.each(['filesystem', 'memory'] as const)('binary data in %s', async (binaryMode) => {
		const own = await createHost({ credentials, packageFolder, binaryMode });
		const [item] = (await own.run(workflowOf('binary'))).output('Done');
		expect(item!.binary!.data!.id === undefined).toBe(binaryMode === 'memory');
		expect((await own.binary(item!)).toString()).toBe('abc');
	});

	test('a failing node ends the execution, or goes on to the error output', async () => {
		const failed = await host.run(workflowOf('fail'));
		expect(failed).toMatchObject({ status: 'error', error: { message: 'It failed.' } });

		const wentOn = await host.run(workflowOf('fail', { onError: 'continueErrorOutput' }));
		expect(wentOn.status).toBe('success');
		expect(wentOn.json('Fixture', 0)).toEqual([]);
		expect(wentOn.json('Fixture', 2)).toEqual([{ error: 'It failed.' }]);
	});

	test('Stop reaches the node', async () => {
		const execution = host.start(workflowOf('untilStopped'), {
			onProgress: ({ type, node }) => {
				if (type === 'nodeStarted' && node === 'Fixture') queueMicrotask(execution.stop);
			},
		});
		expect((await execution.promise).status).toBe('canceled');
	});

	test('a suspended execution gives the input of the suspended node when it goes on', async () => {
		const waiting = await host.run(workflowOf('park'), { input: [{ json: { from: 'start' } }] });
		expect(waiting.status).toBe('waiting');
		expect(waiting.waitTill!.getTime()).toBeGreaterThan(Date.now());
		const resumed = await host.resume(waiting);
		expect(resumed.status).toBe('success');
		expect(resumed.json('Done')).toEqual([{ from: 'start' }]);
	});

	test('a suspended sub-execution gives its result to its parent', async () => {
		const waiting = await host.run(workflowOf('parkInChild'), { mode: 'trigger' });
		expect(waiting.status).toBe('waiting');
		const resumed = await host.resume(waiting);
		expect(resumed.json('Done')).toEqual([{ runs: 3 }]);
	});

	test.each(['subNode', 'engine'] as const)('a node as a tool, by %s', async (through) => {
		const url = "={{ $fromAI('url', 'an address', 'string') }}";
		const answer = await host.runAsTool(
			'n8n-nodes-fixture.fixture',
			{ operation: 'tool', url, toolDescription: 'Looks it up' },
			{ args: { url: 'from the model' }, through },
		);
		// The engine does not tell a node by `isToolExecution()` that an agent of n8n 2 calls it.
		const told = {
			isTool: through === 'subNode',
			loggedAs: through === 'engine' ? 'ai_tool' : null,
		};
		expect(JSON.parse(answer)).toEqual([{ asked: 'from the model', ...told }]);
	});

	test('nodes of n8n: a list is set and split', async () => {
		const result = await host.run({
			nodes: [
				{ name: 'Start', type: 'n8n-nodes-base.manualTrigger' },
				{
					name: 'List',
					type: 'n8n-nodes-base.set',
					typeVersion: 3.4,
					parameters: { mode: 'raw', jsonOutput: '{ "prompts": ["one", "two"] }' },
				},
				{
					name: 'Split',
					type: 'n8n-nodes-base.splitOut',
					parameters: {
						fieldToSplitOut: 'prompts',
						options: { destinationFieldName: 'prompt' },
					},
				},
			],
			connections: { Start: { main: [wire('List')] }, List: { main: [wire('Split')] } },
		});
		expect(result.json('Split')).toEqual([{ prompt: 'one' }, { prompt: 'two' }]);
	});
});
