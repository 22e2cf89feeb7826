/** What a payment is known to have come to, after several attempts under one key. */
import { errorFor } from '../../../gateway/errors/errorFor.js';
import type { Journal } from '../../../gateway/journal.js';
import { pay, type Sender } from '../../../gateway/pay.js';
import type { GatewayError } from '../../../gateway/protocol/gatewayError.js';
import type { Outcome } from '../../../gateway/protocol/outcome.js';
import { planImages, type PaidPlan } from '../../../gateway/protocol/requestPlan.js';
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
	const payer: Sender = {
		account: { idempotencyHeader, withoutKey: (text) => text },
		requests: new Requests(),
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
	};
	const journal: Journal<string> = {
		find: () => undefined,
		begin: () => undefined,
		idempotencyKey: (key) => `the payment ${key}`,
		settle: (_, { charged }) => void settled.push(charged),
		...own,
	};
	const plan = planImages('generation', { model: 'm', prompt: 'p' });
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
	for (const [last, said] of [
		[REFUSED, /The last attempt failed: .*unknown size\.$/],
		[fault('refused'), /The last attempt failed: .*connection .* was refused\.$/],
	] as const) {
		const { settled, error } = await payWith([REFUSED, fault('reset'), last]);
		expect(settled).toEqual(['no', 'maybe']);
		expect(error.problem.description).toMatch(said);
		expect(error.problem.description).not.toContain("weren't charged");
	}
	const refused = await payWith([REFUSED]);
	expect([refused.settled, refused.error.charged]).toEqual([['no'], 'no']);
});

test('an attempt that the journal can not record is not sent, and leaves it unknown', async () => {
	const begin = () => {
		throw new Error('ENOSPC');
	};
	const { sent, settled, error } = await payWith([HALF], '', { begin });
	expect([sent, settled, error.charged]).toEqual([[], ['maybe'], 'maybe']);
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

describe('what an earlier try has left unknown', () => {
	const problem = { message: 'The outcome is unknown: reset', description: 'Check.' };
	const find = () => ({ charged: 'maybe' as const, problem });

	test('stays so if it is refused when it is sent again', async () => {
		const refused = response(402, { error: { message: 'no money' } });
		const { sent, settled, error } = await payWith([refused], undefined, { find });
		expect([sent.length, settled]).toEqual([1, ['maybe']]);
		expect(error).toMatchObject({ charged: 'maybe', code: 'outcomeUnknown' });
		expect(error.problem.description).toMatch(/^Check\. The last attempt failed: .*no money/);
	});

	test.each(['', 'Idempotency-Key'])(
		'is not sent without a idempotencyKey, header "%s"',
		async (name) => {
			const { sent, settled, error } = await payWith([HALF], name, {
				find,
				idempotencyKey: () => undefined,
			});
			expect([sent, settled, error.problem]).toEqual([[], [], problem]);
		},
	);
});

test('a key that the gateway is busy with is about an earlier request, which may have been charged', async () => {
	const busy = page(409, 'Idempotency-Key in use');
	const { settled, error } = await payWith([busy]);
	expect([settled, error.charged]).toEqual([['maybe'], 'maybe']);
	const unkeyed = await payWith([busy], '');
	expect([unkeyed.settled, unkeyed.error.charged]).toEqual([['no'], 'no']);
});

test('a Stop in the second attempt names the task of the first', async () => {
	const begun: Array<() => object> = [];
	const begin = (_: string, pending: () => object) => void begun.push(pending);
	await payWith([HALF, fault('reset')], undefined, { begin });
	expect(begun.map((pending) => pending())).toMatchObject([{}, { taskId: 'task_77' }]);
});

test.each([402, 403])(
	'a refusal that may be stored for the key says how to get out of it: %i',
	async (status) => {
		const refused = response(status, { error: { message: 'no' } });
		const { error } = await payWith([refused]);
		expect(error).toMatchObject({ charged: 'no' });
		expect(error.problem.description).toMatch(
			/run the workflow again: another execution has other keys/,
		);
		expect((await payWith([refused], '')).error.problem.description).not.toMatch(/other keys/);
	},
);

test('a refusal that is replayed says so, and a new one of its kind does not', async () => {
	const other = response(400, { error: { message: 'no' } });
	const replayed = response(400, { error: { message: 'no' } }, { 'idempotent-replayed': 'true' });
	const texts = [await payWith([other]), await payWith([replayed])];
	expect(texts.map(({ error }) => /other keys/.test(error.problem.description))).toEqual([
		false,
		true,
	]);
});
