import { statusGroup } from './status';

/** Whether a request was charged. Items show these words. */
export type Charged = 'no' | 'maybe' | 'yes';

const CHARGES: Charged[] = ['no', 'maybe', 'yes'];

/** What several findings about the same item or run mean together. */
export const mostCharged = (found: Charged[]): Charged =>
	CHARGES.findLast((charged) => found.includes(charged)) ?? 'no';

/** Reads a `charged` from JSON; undefined for anything else. */
export const readCharged = (value: unknown): Charged | undefined =>
	CHARGES.find((charged) => charged === value);

/**
 * What the status of a task tells: one that has failed may have been paid back, any other one was
 * accepted. Without a status, nothing.
 */
export function chargeOfStatus(status: string | undefined): Charged {
	if (status === undefined) return 'no';
	return statusGroup(status) === 'unsuccessful' ? 'maybe' : 'yes';
}
