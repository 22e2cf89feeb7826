/** Stop ends the node at once, and no request leaves afterwards. */
import { secondsOfNodes } from '../fast-time.mjs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Fault } from '../../../simulator/gateway.mjs';
import { chatRoot, chatWorkflow } from '../messages/chat-root.mjs';
import type { Host, RunOptions, WorkflowJson } from '../../../harness/engine/host.mjs';
import { opened } from '../opened.mjs';
import { filesNode } from '../one-node.mjs';
import {
	countRequests,
	hostFor,
	NODE,
	openBench,
	TINY_PNG,
	workflowOf,
	type Bench,
	type NodeName,
} from '../workbench.mjs';
import { until } from '../../until.mjs';

let bench: Bench;

// A gateway for each test: a request that was on its way at the Stop may arrive after the end of its
// test. And a listing is kept for a minute, so that only a new address is asked for it.
beforeEach(async () => {
	bench = await openBench();
});
afterEach(async () => await bench.close());

type Call = Fault['call'];
/** What it is called, the node with its parameters and items, and the request that is waited for. */
type Moment = [
	name: string,
	node: NodeName,
	parameters: object,
	items: number,
	until: [call: Call, count: number],
	fault?: Omit<Fault, 'call'>,
];

const SETTINGS = [
	{},
	{ retryOnFail: true, maxTries: 5, waitBetweenTries: 1 },
	{ onError: 'continueErrorOutput' as const },
];

const count = (call: Call) => bench.gateway.count(call);
const silence = { kind: 'silence' } as const;
const drip = { kind: 'drip', ms: 20 } as const;
const tooMany = { kind: 'status', status: 429, retryAfter: 290 } as const;

const FOX = { prompt: 'a fox' };
const SLOW = { prompt: 'a fox [slow 99]', mode: 'wait', options: { pollInterval: 1 } };
const WAIT = { pollInterval: 2, maxWait: 100_000 };
const MESSAGE = { model: 'reason-large', prompt: 'hello' };
const EDIT = {
	prompt: 'a fox',
	images: `data:image/png;base64,${TINY_PNG.toString('base64')}`,
};

const MOMENTS: Moment[] = [
	['between two questions', 'imageWait', WAIT, 5, ['poll', 8]],
	['while a request is under way', 'imageGeneration', FOX, 12, ['sync', 10], silence],
	['between submit and images', 'imageGeneration', SLOW, 5, ['poll', 5]],
	['during a download', 'imageGeneration', FOX, 3, ['download', 3], silence],
	['before a second attempt', 'imageGeneration', FOX, 5, ['sync', 1], tooMany],
	['while one task is asked for', 'imageTask', {}, 3, ['poll', 3], silence],
	['while a message is answered', 'message', MESSAGE, 12, ['message', 10], silence],
	['while an edit is under way', 'imageEdit', EDIT, 12, ['sync', 10], silence],
	['while the listing is read', 'imageGeneration', FOX, 1, ['listing', 1], silence],
];

/** Runs a workflow against an address, stops it, and sees to it that nothing leaves afterwards. */
async function stopped(
	host: Host,
	workflow: WorkflowJson,
	address: string,
	when: () => boolean,
	options: RunOptions = {},
) {
	const execution = host.start(workflow, options);
	await until(when);
	execution.stop();
	const sent = countRequests();
	const result = await execution.promise;
	// Time for the next request of a node that is still alive.
	await secondsOfNodes(3);
	sent.stop();
	expect(result.status).toBe('canceled');
	expect(sent.to(address)).toBe(0);
	return result;
}

/** Each moment with one of the settings, one after another. */
const cases = MOMENTS.map((moment, index) => [moment[0], SETTINGS[index % 3]!, moment] as const);

test.each(cases)('Stop %s, %j', async (_, settings, moment) => {
	const [, node, parameters, items, [call, times], fault] = moment;
	const prompts = Array.from({ length: items }, () => 'a fox [slow 99]');
	const waits = node === 'imageWait' || node === 'imageTask';
	const ids = waits ? await bench.submit(...prompts) : [];
	if (fault !== undefined) bench.gateway.setFaults([{ call, ...fault }]);
	const paidBefore = bench.gateway.paid;
	const input = prompts.map((__, index) => ({ json: { taskId: ids[index] ?? null } }));
	const workflow = workflowOf(node, { ...parameters }, settings);
	const when = () => count(call) >= times;
	const result = await stopped(bench.host, workflow, bench.gateway.url, when, { input });
	await until(() => bench.gateway.inFlight === 0);
	expect(bench.gateway.paid - paidBefore).toBeLessThanOrEqual(items);
	expect(result.error?.message).toBe('The execution was canceled');
	expect(result.output(NODE).every(({ json }) => json.url === undefined)).toBe(true);
});

describe('while an image is uploaded', () => {
	/** Reads the beginning of each body and no more, so that all uploads come to a halt half-way. */
	async function slowReader() {
		const bodies: IncomingMessage[] = [];
		let uploads = 0;
		let received = 0;
		let cut = 0;
		let reads = false;
		const server = createServer({ highWaterMark: 1024 }, (request) => {
			bodies.push(request);
			request.once('data', () => (uploads += 1));
			request.on('data', (chunk: Buffer) => {
				received += chunk.length;
				if (!reads) request.pause();
			});
			request.socket.once('close', () => (cut += 1));
		});
		await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
		return {
			url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
			counts: () => ({ requests: bodies.length, uploads, received, cut }),
			/** Reads on: whoever does not read does not see that the other side has left. */
			readOn: () => {
				reads = true;
				bodies.forEach((request) => request.resume());
			},
			close: async () => {
				server.closeAllConnections();
				await new Promise((resolve) => server.close(resolve));
			},
		};
	}

	const BYTES = 12 * 1024 * 1024;
	const big = Buffer.concat([TINY_PNG, Buffer.alloc(BYTES)]);
	test('two at once: both end, and neither a third nor a second try begins', async () => {
		const reader = await opened(slowReader());
		const host = await hostFor(
			{ baseUrl: reader.url },
			{
				binaryMode: 'filesystem',
				extraNodeTypes: {
					'test.big': {
						...filesNode['test.files']!,
						async execute() {
							const file = await this.helpers.prepareBinaryData(big, 'big.png', 'image/png');
							return [[0, 1, 2].map((item) => ({ json: { item }, binary: { data: file } }))];
						},
					},
				},
			},
		);
		const parameters = { prompt: 'a fox', options: { checkLimits: false, concurrency: 2 } };
		const workflow = workflowOf('imageEdit', parameters, SETTINGS[1]);
		workflow.nodes[0] = { name: 'Start', type: 'test.big' };
		const result = await stopped(host, workflow, reader.url, () => reader.counts().uploads === 2);
		reader.readOn();
		await until(() => reader.counts().cut === 2);
		// Two were under way; the third was never begun, and none was begun anew.
		expect(reader.counts().requests).toBe(2);
		expect(reader.counts().received).toBeLessThan(2 * BYTES);
		expect(result.error?.message).toBe('The execution was canceled');
	});
});

test.each([
	['while its response drips in', 'stream', SETTINGS[1]!, drip],
	['in the pause before it is asked again', 'invoke', SETTINGS[2]!, tooMany],
] as const)('the chat model %s (%s, %j)', async (_, way, settings, fault) => {
	bench.gateway.setFaults([{ call: 'message', ...fault }]);
	const host = await hostFor({ baseUrl: bench.gateway.url }, { extraNodeTypes: chatRoot });
	const workflow = chatWorkflow(way, {}, settings);
	await stopped(host, workflow, bench.gateway.url, () => count('message') > 0);
	await until(() => bench.gateway.inFlight === 0);
	expect(count('message')).toBe(1);
});
