/** Faults that are easily taken wrong come up more often than the rest. */
import { REFUSALS_429, STATUSES, type ServiceFault } from '../service/service-setup.mjs';

/** The same fault, or one of the same call that is more easily taken wrong. */
export function likelier(fault: ServiceFault): ServiceFault {
	const { call, variant } = fault;
	const kind = kindOf(call, fault);
	// A wait has many polls, and what happens to a late one is another thing.
	const skip = call === 'poll' && variant % 3 === 0 ? LATER * fault.skip : fault.skip;
	return { ...fault, kind, skip, variant: variantOf(call, kind, variant) };
}

/** Half a file, a refusal that passes. */
function kindOf(call: ServiceFault['call'], { kind, variant }: ServiceFault): ServiceFault['kind'] {
	if (call === 'download' && variant % 3 === 0) return 'cut';
	if (call === 'download' && variant % 6 === 1) return 'redirect';
	if (call === 'download' && variant % 6 === 2) return 'status';
	return call === 'poll' && variant % 3 > 0 && variant % 5 < 2 ? 'status' : kind;
}

/** So many times more polls come before a fault that strikes late. */
const LATER = 5;

/** The first variant by which a poll gets a 404, and how far it is to the next. */
const SAYS_404 = 21;
const NEXT_404 = 42;

/** The one refusal that a paid request may be sent again after is the most usual one: each of its forms. */
function variantOf(
	call: ServiceFault['call'],
	kind: ServiceFault['kind'],
	variant: number,
): number {
	if (kind !== 'status') return variant;
	if (call === 'poll' && variant % 4 === 1) return SAYS_404 + NEXT_404 * (variant % 5);
	if (call !== 'paid' || variant % 4 > 0) return variant;
	return STATUSES.indexOf(429) + STATUSES.length * ((variant / 4) % REFUSALS_429.length);
}
