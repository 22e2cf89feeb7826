/** How large inputs are read: once, and in pieces, between which other work goes on. */
import type { IExecuteFunctions } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { openGateway } from '../../../gateway/index.js';
import { planMessage } from '../../../gateway/messages/index.js';
import { openFile } from '../../../nodes/shared/images/inputFiles.js';
import { openPaymentLog } from '../../../nodes/shared/payments/paymentLog.js';
import { createDigest, digestOf, PIECE } from '../../../util/digest.js';
import { isLongerThan } from '../../../util/json.js';
import { requestDigestOf } from './payment-context.mjs';

function countTurns() {
	let turns = 0;
	const turn = async (): Promise<void> => await Promise.resolve(void (turns += 1));
	return { turn, turns: () => turns };
}

/** A log of payments for items with a file each, of which each reading is counted. */
function logFor(items: number, length: number) {
	const reads: number[] = [];
	const input = Array.from({ length: items }, (_, itemIndex) => ({
		json: {},
		binary: {
			file: {
				get data() {
					reads.push(itemIndex);
					return 'A'.repeat(length);
				},
			},
		},
	}));
	const context = {
		getWorkflowDataProxy: () => ({ $runIndex: 0 }),
		getExecutionId: () => '1',
		getContext: () => ({}),
		getNode: () => ({ parameters: {} }),
		getInputData: () => input,
	} as unknown as IExecuteFunctions;
	return { log: openPaymentLog(context, []), reads };
}

test('the digest of a large value is that of the value, in a turn of its own', async () => {
	const value = { b: '👾"é'.repeat(PIECE), a: 1 };
	const { turn, turns } = countTurns();
	expect(await createDigest(turn)(value)).toBe(digestOf(value));
	expect(turns()).toBe(1);
	const nothing: Record<string, unknown> = {};
	nothing.itself = nothing;
	for (const none of [undefined, nothing]) expect(await createDigest(turn)(none)).toBe('');
});

test.each([50, 500_000])('an input with %s characters is digested once', async (length) => {
	const { log, reads } = logFor(1, length);
	const identity = await log.assignment.identify(0, 'account', createDigest(countTurns().turn));
	const before = reads.length;
	identity.requestDigest = 'digest';
	expect(log.assignment.findOwnEarlier(identity)).toBeUndefined();
	expect(reads).toHaveLength(before);
});

test('large inputs are read one after another: of their turns, none is one with another', async () => {
	const { log, reads } = logFor(3, 500_000);
	let [pending, most] = [0, 0];
	const turn = async (): Promise<void> => {
		most = Math.max(most, ++pending);
		await new Promise((resolve) => setImmediate(resolve));
		pending -= 1;
	};
	const digest = createDigest(turn);
	await Promise.all(
		[0, 1, 2].map(async (item) => await log.assignment.identify(item, 'account', digest)),
	);
	expect([most, new Set(reads).size]).toEqual([1, 3]);
});

test('a file in memory is digested in pieces', async () => {
	const { turn, turns } = countTurns();
	const png = Buffer.alloc(4 * PIECE);
	Buffer.from('89504e470d0a1a0a', 'hex').copy(png);
	const run = {
		fileReads: { run: async (read: () => unknown) => await read() },
		gateway: { yieldToOthers: turn },
	};
	const upload = { label: 'x', part: 'image', imageOnly: true };
	const binary = { data: png.toString('base64') };
	const file = await openFile({} as never, run as never, { ...upload, binary });
	expect([file.size, turns()]).toEqual([png.length, 4]);
	let largest = 0;
	for await (const piece of file.open()) largest = Math.max(largest, piece.length);
	expect(largest).toBe(PIECE);
});

test.each([
	[undefined, 0, true],
	['abc', 4, false],
	['abc', 3, true],
	[{ a: ['b'.repeat(50), { c: 'd'.repeat(50) }] }, 99, true],
	[{ a: ['b'.repeat(50), { c: 'd'.repeat(50) }] }, 120, false],
	[Array.from({ length: 100 }, (_, index) => index), 90, true],
])('whether %j is longer than %s: %s', (value, most, expected) => {
	expect(isLongerThan(value, most)).toBe(expected);
	const itself: unknown[] = [];
	itself.push(itself);
	expect(isLongerThan(itself, 1000)).toBe(true);
});

test('a large message is known by the digest of what is sent, in a turn of its own', async () => {
	const { turn, turns } = countTurns();
	const gateway = openGateway(
		{ baseUrl: 'https://gateway.example', apiKey: 'sk-of-a-test' },
		{ transport: async () => await Promise.reject(new Error('sent')), sleep: turn },
	);
	const content = 'a'.repeat(4 * PIECE);
	const plan = planMessage({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content }] });
	expect(await gateway.requestDigest(plan)).toBe(requestDigestOf(plan, gateway.account.id));
	expect(turns()).toBe(1);
	gateway.end();
});
