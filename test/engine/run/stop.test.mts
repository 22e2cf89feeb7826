/** Stop ends the node at once, and no request leaves afterwards. */
import { secondsOfNodes } from '../fast-time.mjs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Fault } from '../../../simulator/gateway.mjs';
import { chatRoot, chatWorkflow } from '../messages/chat-root.mjs';
import type { Host, WorkflowJson } from '../../../harness/engine/host.mjs';
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

interface Moment {
	node: NodeName;
	parameters: Record<string, unknown>;
	items?: number;
	faults?: Fault[];
	/** Reached when this is so. */
	when: () => boolean;
}

const silent = (call: Fault['call']): Fault[] => [{ call, kind: 'silence' }];
const count = (call: string) => bench.gateway.count(call);

const MESSAGE = { model: 'reason-large', prompt: 'hello' };
const EDIT = {
	prompt: 'a fox',
	imageSource: 'url',
	imageUrl: `data:image/png;base64,${TINY_PNG.toString('base64')}`,
	options: { checkLimits: false, pollInterval: 1 },
};

const MOMENTS: Record<string, Moment> = {
	'between two questions': {
		node: 'imageWait',
		parameters: { pollInterval: 2, maxWait: 100_000 },
		items: 20,
		when: () => count('poll') >= 25,
	},
	'during a question': {
		node: 'imageWait',
		parameters: { maxWait: 100_000 },
		items: 20,
		faults: silent('poll'),
		when: () => count('poll') >= 10,
	},
	'while a synchronous request is under way': {
		node: 'imageGeneration',
		parameters: { prompt: 'a fox' },
		items: 20,
		faults: silent('sync'),
		when: () => count('sync') >= 10,
	},
	'between submit and images': {
		node: 'imageGeneration',
		parameters: { prompt: 'a fox [slow 99]', mode: 'wait', options: { pollInterval: 1 } },
		items: 5,
		when: () => count('poll') >= 5,
	},
	'during a download': {
		node: 'imageGeneration',
		parameters: { prompt: 'a fox' },
		items: 3,
		faults: silent('download'),
		when: () => count('download') >= 3,
	},
	'while an image drips in': {
		node: 'imageGeneration',
		parameters: { prompt: 'a fox' },
		faults: [{ call: 'download', kind: 'drip', ms: 20 }],
		when: () => count('download') >= 1,
	},
	'in the pause before a second attempt': {
		node: 'imageGeneration',
		parameters: { prompt: 'a fox' },
		items: 5,
		faults: [{ call: 'sync', kind: 'status', status: 429, retryAfter: 290 }],
		when: () => count('sync') >= 1,
	},
	'while one task is asked for': {
		node: 'imageTask',
		parameters: {},
		items: 3,
		faults: silent('poll'),
		when: () => count('poll') >= 3,
	},
	'while a message is answered': {
		node: 'message',
		parameters: MESSAGE,
		items: 20,
		faults: silent('message'),
		when: () => count('message') >= 10,
	},
	'while an edit is under way': {
		node: 'imageEdit',
		parameters: EDIT,
		items: 12,
		faults: silent('sync'),
		when: () => count('sync') >= 10,
	},
	'while the models are listed': {
		node: 'mediaModels',
		parameters: {},
		items: 3,
		faults: silent('listing'),
		when: () => count('listing') >= 1,
	},
	'while the listing is read': {
		node: 'imageGeneration',
		parameters: { prompt: 'a fox' },
		faults: silent('listing'),
		when: () => count('listing') >= 1,
	},
};

const SETTINGS = [
	{},
	{ retryOnFail: true, maxTries: 5, waitBetweenTries: 1 },
	{ onError: 'continueErrorOutput' as const },
];

/** Each moment with one of the settings, one after another. */
const cases = Object.entries(MOMENTS).map(
	([name, moment], index) => [name, SETTINGS[index % 3]!, moment] as const,
);

test.each(cases)('Stop %s, %j', async (_, settings, moment) => {
	const { node, parameters, items = 1, faults, when } = moment;
	const prompts = Array.from({ length: items }, () => 'a fox [slow 99]');
	const waits = node === 'imageWait' || node === 'imageTask';
	const ids = waits ? await bench.submit(...prompts) : [];
	bench.gateway.setFaults(faults ?? []);
	const paidBefore = bench.gateway.paid;
	const input = prompts.map((__, index) => ({ json: ids[index] ? { taskId: ids[index] } : {} }));
	const execution = bench.host.start(workflowOf(node, parameters, settings), { input });
	await until(when);
	execution.stop();
	const sent = countRequests();
	const result = await execution.promise;
	expect(result.status).toBe('canceled');

	// Time for the next request of a node that is still alive.
	await secondsOfNodes(3);
	sent.stop();
	expect(sent.to(bench.gateway.url)).toBe(0);
	await until(() => bench.gateway.inFlight === 0);
	expect(bench.gateway.paid - paidBefore).toBeLessThanOrEqual(items);
	expect(result.error?.message).toBe('The execution was canceled');
	expect(result.output(NODE).every(({ json }) => json.url === undefined)).toBe(true);
});

/** Runs a workflow against an address, stops it, and sees to it that nothing leaves afterwards. */
async function stopped(host: Host, workflow: WorkflowJson, address: string, when: () => boolean) {
	const execution = host.start(workflow);
	await until(when);
	execution.stop();
	const sent = countRequests();
	const result = await execution.promise;
	await secondsOfNodes(3);
	sent.stop();
	expect(result.status).toBe('canceled');
	expect(sent.to(address)).toBe(0);
	return result;
}

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
	test.each([
		['memory', SETTINGS[0]!],
		['filesystem', SETTINGS[1]!],
	] as const)('binary data in %s, %j', async (binaryMode, settings) => {
		const reader = await opened(slowReader());
		const host = await hostFor(
			{ baseUrl: reader.url },
			{
				binaryMode,
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
		const workflow = workflowOf('imageEdit', parameters, settings);
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

describe('the chat model', () => {
	test.each<[string, 'invoke' | 'stream', object, Fault]>([
		['while it responds', 'invoke', SETTINGS[0]!, { call: 'message', kind: 'silence' }],
		[
			'while its response drips in',
			'stream',
			SETTINGS[1]!,
			{ call: 'message', kind: 'drip', ms: 20 },
		],
		[
			'in the pause before it is asked again',
			'invoke',
			SETTINGS[2]!,
			{ call: 'message', kind: 'status', status: 429, retryAfter: 290 },
		],
	])('%s (%s, %j)', async (_, way, settings, fault) => {
		bench.gateway.setFaults([fault]);
		const host = await hostFor({ baseUrl: bench.gateway.url }, { extraNodeTypes: chatRoot });
		const workflow = chatWorkflow(way, {}, settings);
		await stopped(host, workflow, bench.gateway.url, () => count('message') > 0);
		await until(() => bench.gateway.inFlight === 0);
		expect(count('message')).toBe(1);
	});
});
