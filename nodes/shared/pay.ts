import type { JsonObject } from '../../gateway/json';
import type { RequestPlan } from '../../gateway/plan';
import { UnknownOutcomeError } from '../../gateway/problem';
import type { Ledger, Paid } from './ledger';
import type { Run } from './run';

/**
 * Sends a paid request, unless this item has already paid in an earlier try of the same run: then
 * what was paid for is used, and an unknown outcome stays one.
 *
 * @param read what was bought, out of the answer; undefined if there is nothing of use in it
 * @throws GatewayError, or UnknownOutcomeError where the request may have been charged
 */
export async function payOnce(
	run: Run,
	ledger: Ledger,
	itemIndex: number,
	plan: RequestPlan,
	read: (body: JsonObject) => Paid | undefined,
): Promise<Paid> {
	// An agent may call the same tool twice in one run: its second picture is not the first.
	const known = run.isTool ? undefined : ledger.of(itemIndex);
	if (known?.unknown !== undefined) throw new UnknownOutcomeError(known.unknown);
	if (known !== undefined) return known;
	const body = await run.sender.send(plan).catch(async (error: unknown) => {
		if (error instanceof UnknownOutcomeError) ledger.note(itemIndex, { unknown: error.problem });
		return await Promise.reject(error);
	});
	const paid = read(body);
	if (paid !== undefined) {
		ledger.note(itemIndex, paid);
		return paid;
	}
	const unknown = {
		message: 'The gateway accepted the request, but there is nothing of use in its answer',
		description:
			"It may have been charged, so it was not sent again. Look for it in the usage list of the gateway's console.",
	};
	ledger.note(itemIndex, { unknown });
	throw new UnknownOutcomeError(unknown);
}
