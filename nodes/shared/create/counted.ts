import { UnknownOutcomeError } from '../../../gateway/util/gatewayError';
import type { Paid } from '../run/paid';
import { addCost, type Tally } from '../run/tally';

/**
 * Counts what a paid request brings, as it comes. An unknown outcome may have been charged: it
 * counts among the costs.
 *
 * @param takenOver whether an earlier try has paid for it
 */
export async function counted(
	tally: Tally,
	estimatedCost: number | undefined,
	takenOver: boolean,
	pay: () => Promise<Paid>,
): Promise<Paid> {
	try {
		const paid = await pay();
		addCost(tally, paid.facts?.estimatedCost ?? estimatedCost);
		if (paid.task !== undefined) tally.tasks += 1;
		if (takenOver) tally.takenOverItems += 1;
		// Those of a task, and those that have an address, are counted when they are handed out.
		if (paid.items !== undefined) tally.images += paid.items.length;
		return paid;
	} catch (error) {
		if (error instanceof UnknownOutcomeError) addCost(tally, estimatedCost);
		return await Promise.reject(error);
	}
}
