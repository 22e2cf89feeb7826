/** What a payment is known to have come to, after several attempts under one key. */
import { errorFor } from '../../../gateway/errors/errorMessages.js';
import type { Journal } from '../../../gateway/journal.js';
import { createPayer, pay } from '../../../gateway/pay.js';
import type { GatewayError } from '../../../gateway/protocol/gatewayError.js';
import type { Outcome } from '../../../gateway/protocol/outcome.js';
import { planGeneration, type PaidPlan } from '../../../gateway/protocol/requestPlan.js';
import { Requests } from '../../../gateway/wire/inFlight.js';
import { fault, page, response } from '../virtual-gateway.mjs';

const HALF = page(200, '{"id": "task_77", "status": "que');
const REFUSED = response(400, { error: { message: 'unknown size' } });

/** Pays with attempts that have these outcomes. @returns the plans, what was settled, and the error */
async function payWith(
	outcomes: Outcome[],
	idempotencyHeader = 'Idempotency-Key',
	own: Partial<Journal<string>> = {},
) {
	const [sent, settled]: [PaidPlan[], string[]] = [[], []];
	const payer = createPayer({
		idempotencyHeader,
		requests: new Requests(),
		withoutKey: (text) => text,
		sendOnce: async (plan) => {
			sent.push(plan as PaidPlan);
			return await Promise.resolve(outcomes[sent.length - 1]!);
		},
		client: {
			requestPaid: async (plan, attempt) => {
				let last = outcomes[0]!;
				for (let count = 0; count < outcomes.length; count += 1) last = await attempt(plan);
				throw errorFor(plan, last);
			},
		},
	});
	const journal: Journal<string> = {
		find: () => undefined,
		begin: () => undefined,
		reference: (key) => `the payment ${key}`,
		settle: (_, { charged }) => void settled.push(charged),
		...own,
	};
	const plan = planGeneration({ model: 'm', prompt: 'p' });
	const paid = pay(payer, journal, '7', plan, () => undefined);
	const error = (await paid.catch((thrown: unknown) => thrown)) as GatewayError;
	return { sent, settled, error };
}

test('an ID in a response that was lost is named, whatever comes later', async () => {
	for (const last of [fault('reset'), page(502, ''), REFUSED]) {
		const { error } = await payWith([HALF, fault('timeout'), last]);
		expect(error).toMatchObject({ charged: 'maybe', problem: { taskId: 'task_77' } });
	}
});

test('a refusal after a loss leaves it unknown; before one, nothing is', async () => {
	const { settled, error } = await payWith([REFUSED, fault('reset'), REFUSED]);
	expect(settled).toEqual(['no', 'maybe']);
	expect(error.problem.description).toMatch(/The last attempt failed: .*unknown size/);
	const refused = await payWith([REFUSED]);
	expect([refused.settled, refused.error.charged]).toEqual([['no'], 'no']);
});

describe('what the journal itself throws', () => {
	const FULL = new Error('ENOSPC');
	const atAttempt = (count: number) => {
		let begun = 0;
		return {
			begin: () => {
				if ((begun += 1) === count) throw FULL;
			},
		};
	};

	test('before anything is sent comes out as it is, and settles nothing', async () => {
		const { sent, settled, error } = await payWith([HALF], '', atAttempt(1));
		expect([sent, settled, error]).toEqual([[], [], FULL]);
	});

	test('after a refusal comes out as it is, at the end of one attempt or the begin of the next', async () => {
		const again = await payWith([REFUSED, HALF], '', atAttempt(2));
		expect([again.sent.length, again.settled, again.error]).toEqual([1, ['no'], FULL]);
		const settle = () => {
			throw FULL;
		};
		expect((await payWith([REFUSED], '', { settle })).error).toBe(FULL);
	});

	test('after a loss leaves it unknown, and is told', async () => {
		const { sent, settled, error } = await payWith([HALF, HALF], undefined, atAttempt(2));
		expect([sent.length, settled]).toEqual([1, ['maybe']]);
		expect(error).toMatchObject({ charged: 'maybe', problem: { taskId: 'task_77' } });
		expect(error.problem.description).toMatch(/The last attempt failed: ENOSPC\. It wasn't sent\./);
	});
});

test('all attempts have one key; without the header there is none', async () => {
	const keysOf = async (header?: string) => {
		const { sent } = await payWith([HALF, HALF], header);
		return sent.map(({ headers }) => headers['Idempotency-Key']);
	};
	const [first, second] = await keysOf();
	expect([first, second]).toEqual([expect.stringMatching(/^[\da-f]{64}$/), first]);
	expect(await keysOf('')).toEqual([undefined, undefined]);
});
