import { digestOf } from '../../util/digest';
import type { PaidPlan } from './requestPlan';

/**
 * The same plan with the key under which the gateway knows its payment, if it has one: a second request
 * with this key gets the response to the first one (docs/protocol.md, "Idempotency"). It has 64 hexadecimal
 * digits, which the strictest gateways take.
 *
 * @param name of the header that the gateway takes
 * @param reference what the payment is known by
 */
export function withIdempotencyKey(plan: PaidPlan, name: string, reference?: string): PaidPlan {
	if (reference === undefined) return plan;
	const headers = { ...plan.headers, [name]: digestOf(reference) };
	return { ...plan, headers, isIdempotent: true };
}

/** What a gateway finds wrong with a key: its request is in progress, or was another one. */
type KeyConflict = 'inProgress' | 'otherRequest';

const IN_PROGRESS =
	/\b(in|being|still|already) (use\b|progress|process|flight|running|pending)|concurrent/i;
const OTHER =
	/different|differs|mismatch|not match|same (param|request|body|payload)|reuse|already (been )?used/i;

/** What a refusal says about the key of a request; 409 says so by itself. */
export function keyConflict({
	httpCode,
	text,
}: {
	httpCode: number;
	text: string;
}): KeyConflict | undefined {
	const said = text.slice(0, 2000);
	const isInProgress = IN_PROGRESS.test(said);
	const isOther = OTHER.test(said) && !isInProgress;
	if (httpCode === 409) return isOther ? 'otherRequest' : 'inProgress';
	if (![400, 422].includes(httpCode) || !/idempoten/i.test(said)) return undefined;
	// A 400 may be about the form of the key.
	if (isOther || (httpCode === 422 && !isInProgress)) return 'otherRequest';
	return isInProgress ? 'inProgress' : undefined;
}
