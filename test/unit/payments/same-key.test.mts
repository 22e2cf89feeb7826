/** Payments at once with one key: the second one waits for what becomes of the first. */
import { errorFor } from '../../../gateway/errors/errorFor.js';
import { UNRECORDED, type Journal, type Settled } from '../../../gateway/journal.js';
import { pay, type Sender } from '../../../gateway/pay.js';
import type { GatewayError } from '../../../gateway/protocol/gatewayError.js';
import { isGood } from '../../../gateway/protocol/outcome.js';
import { planImages } from '../../../gateway/protocol/requestPlan.js';
import { Requests } from '../../../gateway/wire/inFlight.js';
import { payerFor } from '../senders.mjs';
import { fault, response } from '../virtual-gateway.mjs';

const PLAN = planImages('generation', { model: 'm', prompt: 'p' });

/** A journal in memory. */
function openJournal(): Journal<string, number> {
	const entries = new Map<string, Settled<number>>();
	return {
		find: (key) => {
			const entry = entries.get(key);
			return entry?.charged === 'no' ? undefined : entry;
		},
		begin: (key, pending) => void entries.set(key, { charged: 'maybe', problem: pending() }),
		settle: (key, end) => void entries.set(key, end),
	};
}

test('those of one key in one journal are sent once; others, and those without a record, each', async () => {
	let sent = 0;
	const payer = payerFor(() => ({ count: (sent += 1) }));
	const journal = openJournal();
	const buy = async (key: string, by: Journal<string, number> = journal) =>
		await pay(payer, by, key, PLAN, ({ json }) => json.count as number);
	expect(await Promise.all([buy('a'), buy('b'), buy('a'), buy('a')])).toEqual([1, 2, 1, 1]);
	expect(await Promise.all([buy('a', openJournal()), buy('a', UNRECORDED)])).toEqual([3, 4]);
	expect(await Promise.all([buy('c', UNRECORDED), buy('c', UNRECORDED)])).toEqual([5, 6]);
});

test('those without a record do not wait for one another', async () => {
	let [sending, most] = [0, 0];
	const sendOnce: Sender['sendOnce'] = async () => {
		most = Math.max(most, (sending += 1));
		await Promise.resolve();
		sending -= 1;
		return response(200, {});
	};
	const payer = { ...payerFor(() => ({})), sendOnce };
	const buy = async () => await pay(payer, UNRECORDED, 'a', PLAN, () => 1 as never);
	await Promise.all([buy(), buy()]);
	expect(most).toBe(2);
});

test('after one that was refused, the next is sent; after an unknown outcome, none', async () => {
	const outcomes = [response(400, {}), fault('reset'), response(200, { count: 3 })];
	let sent = 0;
	const payer: Sender = {
		requests: new Requests(),
		account: { idempotencyHeader: '', withoutKey: (text) => text },
		sendOnce: async () => await Promise.resolve(outcomes[(sent += 1) - 1]!),
		client: {
			requestPaid: async (plan, attempt) => {
				const outcome = await attempt(plan);
				if (isGood(outcome)) return outcome;
				throw errorFor(plan, outcome);
			},
		},
	};
	const journal = openJournal();
	const buy = async () => await pay(payer, journal, 'a', PLAN, () => 1).catch(chargeOf);
	expect(await Promise.all([buy(), buy(), buy()])).toEqual(['no', 'maybe', 'maybe']);
	expect(sent).toBe(2);
});

const chargeOf = (error: GatewayError): string => error.charged;
