/** Calls of a tool side by side share a list of payments: whatever their order, each is one call's. */
import fc from 'fast-check';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { planImages } from '../../../gateway/protocol/requestPlan.js';
import { pay } from '../../../gateway/pay.js';
import { payerFor } from '../senders.mjs';
import { identify, paymentContext } from './payment-context.mjs';
import type { ImagesResult } from '../../../nodes/shared/payments/payment.js';
import { openPaymentLog } from '../../../nodes/shared/payments/paymentLog.js';
import { isRunByAgent, isTool } from '../../../nodes/shared/run/runContext.js';

const KEY = 'mediaGatewayPaid';

/** The calls of one tool in one execution, by default with the same request. */
function openTool(payments: object[] = [], idempotencyHeader = '') {
	const store = { [KEY]: { version: 1, payments } };
	let sent = 0;
	return {
		payments,
		sent: () => sent,
		/** Another call, or another try of one: each has a run of its own. */
		open: (
			runIndex: number,
			prompt = 'a fox',
			json: IDataObject = { prompt },
			executionId = '1',
		) => {
			const context = paymentContext(executionId, store, [{ json }], {
				isToolExecution: () => true,
				getWorkflowDataProxy: () => ({ $runIndex: runIndex }),
			});
			const paid = openPaymentLog<ImagesResult>(context, []);
			const payer = payerFor(() => ({ created: (sent += 1) }), idempotencyHeader);
			const plan = planImages('generation', { model: 'm', prompt });
			const identified = identify(paid, 0, plan);
			return {
				idempotencyKey: async () => {
					await identified;
					return paid.journal.idempotencyKey(0);
				},
				/** A request whose response doesn't come. */
				lose: async () => {
					await identified;
					paid.assignment.assign();
					expect(paid.journal.find(0)).toBeUndefined();
					paid.journal.idempotencyKey(0);
					paid.journal.begin(0, () => ({ message: 'unknown', description: '' }));
				},
				/** @returns what it got, by when it was paid for */
				pay: async (): Promise<number> => {
					await identified;
					paid.assignment.assign();
					const { created } = await pay(payer, paid.journal, 0, plan, ({ json }) => ({
						kind: 'images' as const,
						images: [{ url: 'fox.png' }],
						created: Number(json.created),
					}));
					return Number(created);
				},
				listed: () => paid.itemReport.listUnreturned(),
				charged: async () => {
					await identified;
					paid.assignment.assign();
					return paid.itemReport.chargeOf(0);
				},
				end: (succeeds: boolean) => {
					if (succeeds) paid.itemReport.markReturned(new Set());
					paid.journal.close();
				},
			};
		},
	};
}

test('a call that was opened while another held its image does not return that image as well', async () => {
	const tool = openTool();
	const [slow, failing] = [tool.open(0), tool.open(1)];
	expect([await slow.pay(), await failing.pay()]).toEqual([1, 2]);
	failing.end(false);
	const again = tool.open(2);
	slow.end(true);
	expect(await again.pay()).toBe(2);
	again.end(true);
	expect([tool.sent(), tool.payments]).toEqual([2, []]);
});

test.each<[string, number, [IDataObject, IDataObject]]>([
	['place', 0, [{ prompt: 'a fox' }, { prompt: 'an owl' }]],
	['input, which is empty', 1, [{}, {}]],
])('another request is another image, also with the same %s', async (_, runIndex, [one, other]) => {
	const tool = openTool();
	const failing = tool.open(0, 'a fox', one);
	expect(await failing.pay()).toBe(1);
	failing.end(false);
	expect(await tool.open(runIndex, 'an owl', other).pay()).toBe(2);
});

test('the same call is the same image, whatever its expressions return now', async () => {
	const tool = openTool();
	const failing = tool.open(0, 'a fox 0.1', { toolCallId: 'c1' });
	expect(await failing.pay()).toBe(1);
	failing.end(false);
	expect(await tool.open(1, 'a fox 0.2', { toolCallId: 'c1' }).pay()).toBe(1);
});

test('a call finds what another one leaves after it was opened', async () => {
	const tool = openTool();
	const [one, other] = [tool.open(0), tool.open(1)];
	expect(await one.pay()).toBe(1);
	const slow = tool.open(2);
	expect(await other.pay()).toBe(2);
	[one, other].forEach((call) => call.end(false));
	const next = tool.open(3);
	expect([await next.pay(), await slow.pay()]).toEqual([1, 2]);
	expect(tool.sent()).toBe(2);
	[slow, next].forEach((call) => call.end(true));
});

test('in any order: each image is returned by one call, and what was not returned is kept', async () => {
	const step = fc.record({ call: fc.nat(3), succeeds: fc.boolean() });
	await fc.assert(
		fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
			const tool = openTool();
			const calls = new Map<number, { call: ReturnType<typeof tool.open>; got?: number }>();
			const returned: number[] = [];
			for (const [index, { call: name, succeeds }] of steps.entries()) {
				const known = calls.get(name);
				if (known === undefined) calls.set(name, { call: tool.open(index) });
				else if (known.got === undefined) {
					const held = [...calls.values()].filter(({ got }) => got !== undefined);
					const isFree = tool.sent() > returned.length + held.length;
					const before = tool.sent();
					known.got = await known.call.pay();
					expect(tool.sent()).toBe(isFree ? before : before + 1);
				} else {
					known.call.end(succeeds);
					if (succeeds) returned.push(known.got);
					calls.delete(name);
				}
			}
			expect(new Set(returned).size).toBe(returned.length);
			const kept = tool.payments as Array<{ result: { created: number } }>;
			const all = [...returned, ...kept.map(({ result }) => result.created)];
			expect(all.sort((one, other) => one - other)).toEqual(
				Array.from({ length: tool.sent() }, (_, index) => index + 1),
			);
		}),
		{ numRuns: 60 },
	);
});

test('at the gateway, each call is known by another idempotencyKey, but one that replaces a lost one', async () => {
	const tool = openTool([], 'Idempotency-Key');
	const [one, other, owl] = [tool.open(0), tool.open(1), tool.open(2, 'an owl')];
	for (const call of [one, other, owl]) await call.lose();
	const lost = tool.payments as Array<{ idempotencyKey: string }>;
	[one, other, owl].forEach((call) => call.end(false));
	const idempotencyKeys = lost.map(({ idempotencyKey }) => idempotencyKey);
	expect(new Set(idempotencyKeys).size).toBe(3);
	const again = await Promise.all([3, 4].map(async (run) => await tool.open(run).idempotencyKey()));
	expect(again.sort()).toEqual(idempotencyKeys.slice(0, 2).sort());
	expect(idempotencyKeys).not.toContain(await tool.open(5).idempotencyKey());
});

test('a lost call is asked for again by the next one, if that one was not answered either', async () => {
	const tool = openTool([], 'Idempotency-Key');
	const lost = tool.open(0);
	await lost.lose();
	lost.end(false);
	const [{ idempotencyKey } = {}] = tool.payments as Array<{ idempotencyKey?: string }>;
	for (const runIndex of [1, 2]) {
		const refused = tool.open(runIndex);
		expect(await refused.idempotencyKey()).toBe(idempotencyKey);
		refused.end(false);
	}
});

test.each([
	['and is answered', true],
	['and is lost again', false],
])(
	'what was lost before a Retry has one idempotencyKey: it is asked for %s',
	async (_, isAnswered) => {
		const tool = openTool([], 'Idempotency-Key');
		const lost = tool.open(0);
		await lost.lose();
		lost.end(false);
		const [{ idempotencyKey }] = tool.payments as [{ idempotencyKey: string }];
		const retried = tool.open(0, 'a fox', { prompt: 'a fox' }, '2');
		await (isAnswered ? retried.pay() : retried.lose());
		retried.end(isAnswered);
		const kept = (tool.payments as Array<{ idempotencyKey?: string }>).map(
			(payment) => payment.idempotencyKey,
		);
		expect(kept).toStrictEqual(isAnswered ? [] : [undefined, idempotencyKey]);
	},
);

test('a call that was refused was not charged, whatever an equal one at the same time has paid', async () => {
	const tool = openTool();
	const paying = tool.open(0);
	await paying.pay();
	expect(await tool.open(1).charged()).toBe('no');
	paying.end(false);
	expect(await tool.open(2).charged()).toBe('yes');
});

test('another try of a call takes the payment of that call, not that of an equal one', async () => {
	const tool = openTool();
	const inputs = [{ prompt: 'a fox' }, { prompt: 'a fox' }, { prompt: 'a fox' }];
	const first = inputs.map((input, call) => tool.open(call, 'a fox', input));
	const paid = [];
	for (const call of first) paid.push(await call.pay());
	for (const call of first) call.end(false);
	// Its prompt may contain the time of day.
	const [again, changed] = [tool.open(3, 'a fox', inputs[2]), tool.open(4, 'an owl', inputs[0])];
	expect([paid, await again.pay(), await changed.pay()]).toEqual([[1, 2, 3], 3, 1]);
	again.end(false);
	const last = tool.open(5, 'a fox', inputs[1]);
	expect([await last.pay(), tool.sent()]).toEqual([2, 3]);
});

test('the error of a call lists its own payment, not that of another call at the same time', async () => {
	const tool = openTool();
	const [one, other] = [tool.open(0), tool.open(0)];
	expect([await one.pay(), await other.pay()]).toEqual([1, 2]);
	expect(one.listed()).toHaveLength(1);
});

test('a list of any length can be opened', async () => {
	const payment = {
		requestDigest: 'x',
		inputDigest: '',
		executionId: '0',
		runIndex: 0,
		itemIndex: 1,
		result: { kind: 'images', images: [] },
	};
	const tool = openTool(Array.from({ length: 100_000 }, () => ({ ...payment })));
	const call = tool.open(0);
	expect(await call.pay()).toBe(1);
	call.end(true);
	expect(tool.payments).toHaveLength(100_000);
});

test.each([
	['an agent that calls its tool itself', { type: 'x.message' }, true, true, true],
	[
		'an agent whose tools the engine runs',
		{ type: 'x.message', rewireOutputLogTo: 'ai_tool' as const },
		false,
		true,
		false,
	],
	['an agent of n8n 1', { type: 'x.messageTool' }, undefined, true, true],
	[
		'an agent of n8n 1 whose tools the engine runs',
		{ type: 'x.messageTool', rewireOutputLogTo: 'ai_tool' as const },
		undefined,
		true,
		false,
	],
	['no agent', { type: 'x.message' }, false, false, false],
])('the node knows who calls: %s', (_, node, isToolExecution, isAgent, isByAgent) => {
	const context = {
		getNode: () => node,
		isToolExecution: isToolExecution === undefined ? undefined : () => isToolExecution,
	};
	expect(isTool(context)).toBe(isAgent);
	expect(isRunByAgent(context)).toBe(isByAgent);
});
