/** Worlds in which nothing goes wrong but what passes, so that nothing has to fail. */
import type { Action, Flow, World } from '../world.mjs';
import {
	PASSING,
	REFUSALS_429,
	STATUSES,
	type ServiceFault,
	type ServiceSetup,
} from '../../service/service-setup.mjs';

/** A request is sent more often than that, whatever was the matter. */
const MOST_TIMES = 4;

/** Whether a request that meets these faults, all of them, gets through in the end. */
export function passes({ service, flow }: World): boolean {
	const { faults } = service;
	const times = faults.reduce((sum, fault) => sum + fault.times, 0);
	if (faults.length === 0) return true;
	// The images to edit come from a server that nobody knows yet.
	const isPatient = flow.make !== 'edit' || flow.editFrom !== 'url';
	return (
		isPatient &&
		times <= MOST_TIMES &&
		faults.every((fault) => isPassing(fault, flow, service.keys))
	);
}

/** One world in so many is a calm one. */
const ONE_IN = 8;

/** Every eighth world without anything that may make an item fail; what goes wrong in it passes. */
export function calmed(one: World): World {
	if (one.seed % ONE_IN > 0) return one;
	const { flow, service } = one;
	const { timeout: _, budget: __, requestsPerSecond: ___, ...options } = flow.options;
	const items = flow.items.slice(0, 1 + ((one.seed / ONE_IN) % 3));
	const [from, to] = service.taskSeconds;
	const [run, ...retries] = one.actions as [Action, ...Action[]];
	return {
		...one,
		actions: [{ ...run, stopAfter: undefined, crashAfter: undefined }, ...retries],
		checks: one.checks.filter((end) => end !== 'stop'),
		flow: {
			...flow,
			items,
			options,
			editFrom: 'binary',
			maxWait: 600,
			trouble: 'none',
		},
		service: {
			...service,
			failPercent: 0,
			lateSeconds: service.lateSeconds > LATE_SECONDS ? 0 : service.lateSeconds,
			taskSeconds: to > SLOW_SECONDS ? [3, 30] : [from, to],
			faults: service.faults.slice(0, 1).map((fault) => made(fault, flow, service.keys)),
		},
	};
}

const LATE_SECONDS = 10;
const SLOW_SECONDS = 400;

/** A fault that passes. */
function made(fault: ServiceFault, flow: Flow, keys: ServiceSetup['keys']): ServiceFault {
	const usual = fault.variant % 5 === 0 ? 'refused' : 'status';
	const isKept = isPassing(fault, flow, keys) && LOST.includes(fault.kind);
	const kind = isKept ? fault.kind : usual;
	const call = fault.call === 'any' || fault.call === 'listing' ? 'paid' : fault.call;
	let { variant } = fault;
	while (!isPassing({ ...fault, call, kind, variant }, flow, keys)) variant += 1;
	return { ...fault, call, kind, variant, times: 1 + (fault.times % MOST_TIMES) };
}

/** A response that is lost; with the key of a payment, the next one is the same. */
const LOST: Array<ServiceFault['kind']> = ['reset', 'cut', 'statusAfter'];

function isPassing(
	{ call, kind, variant }: ServiceFault,
	{ make, mode }: Flow,
	keys: ServiceSetup['keys'],
): boolean {
	if (call === 'paid' && keys === 'honored' && LOST.includes(kind)) return true;
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
