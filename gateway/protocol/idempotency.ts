import { digestOf } from '../../util/digest';
import type { PaidPlan } from './requestPlan';

/**
 * The same plan with the key under which the gateway knows its payment, if it has one: a second request
 * with this key gets the response to the first one (docs/protocol.md, "Idempotency"). It has 64 hexadecimal
 * digits, which the strictest gateways take.
 *
 * @param name of the header that the gateway takes
 * @param idempotencyKey what the payment is known by
 */
export function withIdempotencyKey(
	plan: PaidPlan,
	name: string,
	idempotencyKey?: string,
): PaidPlan {
	if (idempotencyKey === undefined) return plan;
	const headers = { ...plan.headers, [name]: digestOf(idempotencyKey) };
	return { ...plan, headers, isIdempotent: true };
}

/** What a gateway finds wrong with a key: its request is in progress, or has ended or was another one. */
type KeyConflict = 'inProgress' | 'used';

/** Statuses that may be about a key. Each has other meanings as well, so the words decide. */
const ABOUT_KEYS = [400, 409, 422, 425, 429];

const IN_PROGRESS =
	/\b(in|being|still) (use|progress|process|flight|running|pending)|\balready (processing|running|pending)|\boutstanding\b/i;
const USED =
	/different|differs|mismatch|not match|same (param|request|body|payload)|reuse|conflict|duplicate|already exists|(?<!\bnot |\byet )\b(already|been|was|is) (been )?(used|processed|completed|finished)\b/i;

/** What tells of a key in a refusal. */
interface Refusal {
	httpCode: number;
	headers: Record<string, string>;
	text: string;
}

/** What a refusal says about the key of a request, if it speaks of one. */
export function keyConflict({ httpCode, text }: Refusal): KeyConflict | undefined {
	if (!ABOUT_KEYS.includes(httpCode)) return undefined;
	const said = text.slice(0, 2000).replace(/[_-]+/g, ' ');
	const isNamed = /idempoten/i.test(said);
	// A gateway may call its API key so, of which many requests may be in progress.
	if (!isNamed && !/\b(same|this|request) key\b/i.test(said)) return undefined;
	if (IN_PROGRESS.test(said) || (isNamed && /concurrent/i.test(said))) return 'inProgress';
	if (USED.test(said)) return 'used';
	// Whatever its words are, a conflict about such a key is with a request that the gateway has.
	return httpCode === 409 && isNamed ? 'inProgress' : undefined;
}

/**
 * Whether a refusal may be the one that the gateway has stored for the key of a request, and gives again
 * although its cause is gone: it says so, or somebody has topped up the account since.
 */
export const mayBeStored = ({ httpCode, headers }: Refusal): boolean =>
	[402, 403].includes(httpCode) || headers['idempotent-replayed'] === 'true';
