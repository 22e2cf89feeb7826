/** Ways to send plans in tests of what the client and the journal do with them. */
import type { Client, Sent } from '../../gateway/pace/client.js';
import { errorFor } from '../../gateway/errors/errorFor.js';
import type { Sender } from '../../gateway/pay.js';
import { isGood, type GoodResponse } from '../../gateway/protocol/outcome.js';
import type { FreePlan, PaidPlan, RequestPlan } from '../../gateway/protocol/requestPlan.js';
import { Requests } from '../../gateway/wire/inFlight.js';
import { response } from './virtual-gateway.mjs';

/** Sends a plan, free or paid, and returns its good response, or throws its error. */
export async function sendBy(client: Client, plan: RequestPlan): Promise<GoodResponse> {
	if (plan.paid) {
		const attempt = client['options'].sendOnce;
		return await client.requestPaid(plan as PaidPlan, async (...args) => await attempt(...args));
	}
	const { outcome, attempts } = await client.request(plan as FreePlan);
	if (isGood(outcome)) return outcome;
	throw errorFor(plan, outcome, attempts);
}

/** Sends a plan, free or paid, and returns how it has ended. */
export const sentBy = async (client: Client, plan: RequestPlan): Promise<Sent> =>
	plan.paid ? await client['requestWithRetries'](plan) : await client.request(plan as FreePlan);

/** A payer whose gateway responds with this JSON, and may know payments by a header. */
export const payerFor = (json: () => object, idempotencyHeader = ''): Sender => ({
	account: { idempotencyHeader, withoutKey: (text) => text },
	client: {
		requestPaid: async (plan, attempt) => (await attempt(plan)) as GoodResponse,
	},
	sendOnce: async () => await Promise.resolve(response(200, json() as never)),
	requests: new Requests(),
});
