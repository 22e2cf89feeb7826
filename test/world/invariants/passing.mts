/** Whether what goes wrong in a world passes, so that nobody has to fail because of it. */
import type { Flow, World } from '../plan/world.mjs';
import { PASSING, REFUSALS_429, STATUSES, type ServiceFault } from '../service/service-setup.mjs';

/** A request is sent more often than that, whatever was the matter. */
const MOST_TIMES = 4;

/** Whether a request that meets these faults, all of them, gets through in the end. */
export function passes({ service, flow }: World): boolean {
	const { faults } = service;
	const times = faults.reduce((sum, fault) => sum + fault.times, 0);
	if (faults.length === 0) return true;
	// The list of models is read once, and what is edited comes from a server that nobody knows yet.
	const isPatient = flow.make !== 'models' && (flow.make !== 'edit' || flow.editFrom !== 'url');
	return isPatient && times <= MOST_TIMES && faults.every((fault) => isPassing(fault, flow));
}

function isPassing({ call, kind, variant }: ServiceFault, { make, mode }: Flow): boolean {
	// A connection that is not there has cost nothing.
	if (kind === 'refused' || kind === 'unknownHost') return true;
	const isFree = call === 'poll' || call === 'download';
	if (kind === 'status') return isFree ? ofFree(variant) : call === 'paid' && ofPaid(variant);
	const isTask = make === 'nothing' || mode !== 'sync';
	return isFree && isTask && (kind === 'reset' || kind === 'statusAfter');
}

/** A refusal because of the rate, and not for hours. */
function isRate(variant: number): boolean {
	const { body, headers } =
		REFUSALS_429[Math.floor(variant / STATUSES.length) % REFUSALS_429.length]!;
	const isQuota = JSON.stringify(body).includes('quota');
	return !isQuota && headers?.['retry-after'] !== '7200';
}

const ofPaid = (variant: number): boolean =>
	STATUSES[variant % STATUSES.length] === 429 && isRate(variant);

function ofFree(variant: number): boolean {
	const status =
		variant % 3 > 0
			? PASSING[Math.floor(variant / 3) % PASSING.length]!
			: STATUSES[variant % STATUSES.length]!;
	if (status === 429) return isRate(variant);
	return status >= 500 || status === 408 || status === 425;
}
