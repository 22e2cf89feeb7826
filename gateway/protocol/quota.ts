import { isJsonObject, nonEmptyString } from '../util/json';
import type { Outcome } from './outcome';

/** A message is judged by its beginning. */
const LONGEST_MESSAGE = 2000;

/** Types and codes of an error that say that it is about the request rate, whatever its message mentions. */
const RATE_LIMIT_CODE =
	/rate.?limit|too.?many|throttl|slow.?down|concurren|overload|frequen|^(requests?|tokens?|rate|rpm|tpm|qps)$/i;

/** Only about the rate: a span of time, or a moment after which to try again. */
const HASTE = [
	/\b(per|each|every|this|requests?|calls?|tokens?|images?|a|#) (second|sec|minute|min|hour|day)s?\b/,
	/\b(rpm|tpm|ipm|rps|qps|qpm|rpd|tpd)\b/,
	/\b(retry|again|wait|resets?|retrying) ((in|after|for|at least|about|approximately) ){0,2}#/,
	/\b(concurren|parallel|simultaneous)/,
	/\bquota of # (requests?|calls?|tokens?|images?)\b/,
	/\b(requests?|calls?|rate|burst|concurrency) quota\b/,
	/频率|频繁|限流|限速|限频|并发|每分钟|每秒|请求过多|请求太多/,
];

/** Who names these speaks of the rate, unless a lack of money is said in as many words. */
const MAYBE_HASTE =
	/\brate limit|\btoo many requests|\btoo (frequent|often|fast|quickly)|\bslow down|\bthrottl|\bcapacity\b|\boverload|\bbusy\b/;

const LACK = '(insufficient|not enough|no|zero|0|low|negative|exhausted|depleted|out of|lack of)';
const LACKING =
	'(insufficient|not enough|not sufficient|too low|low|negative|exhausted|depleted|empty|0|zero|gone|run out|used up|overdrawn)';
const MONEY = '(funds?|balance|credits?)';
const OWNER = '((your|any|more|account|user|token|wallet|credit|remaining|available|api) ){0,3}';
const FILLER =
	'((is|are|was|has|have|been|of|at|already|currently|now|left|remaining|for|this|request|account|#) ){0,4}';

/** A lack of money. */
const SURELY_MONEY = [
	new RegExp(`\\b${LACK} ${OWNER}${MONEY}\\b`),
	new RegExp(`\\b${MONEY} ${FILLER}${LACKING}\\b`),
	new RegExp(`\\b(insufficient|not enough) ${OWNER}quota\\b`),
	new RegExp(`\\bquota ${FILLER}(insufficient|not enough|not sufficient)\\b`),
	/\bexceeded your current quota\b|\bplan and billing\b/,
	/余额不足|余额为|余额已|额度不足|额度已用|额度用尽|额度失败|配额不足|配额已用|欠费|残高不足|잔액 ?부족/,
	/\bsaldo insuficiente\b|\bsolde insuffisant\b/,
];

/** A lack of quota, where nothing speaks of the rate. */
const MAYBE_MONEY = [
	new RegExp(`\\bquota ${FILLER}(exceeded|exhausted|reached|used up|depleted|spent)\\b`),
	/\b(exceeds?|exceeded|exceeding|reached|exhausted|used up|over) ((your|the|all|of|current|daily|monthly|account|api|key|free|available) ){0,4}quota\b/,
	/\b(billing|spending|spend|budget|usage|monthly) ((hard|soft|usage) )?(limit|cap)\b/,
	/\btop up\b|\brecharge\b|\bpayment required\b|\bin arrears\b|充值/,
];

/** Addresses out: what they are called says nothing. Then words with single blanks between them. */
function wordsOf(message: string): string {
	const tokens = message.slice(0, LONGEST_MESSAGE).toLowerCase().split(/\s+/);
	return tokens
		.map((token) => {
			const start = token.search(/https?:|www\./);
			if (start >= 0) return token.slice(0, start);
			const isPath = token.startsWith('/') || (token.includes('/') && /\w\.[a-z]/.test(token));
			return isPath ? '' : token;
		})
		.join(' ')
		.replace(/\d[\d.,]*/g, (number) => (/[1-9]/.test(number) ? '#' : '0'))
		.replace(/[.;!?,]/g, ' | ')
		.replace(/[^\p{L}\p{N}#|]+/gu, ' ')
		.replace(/\bload balanc\w*/g, 'load')
		.replace(/#([a-z])/g, '# $1');
}

/** Whether a message says that quota or money is lacking, and not that somebody is in a hurry. */
export function speaksOfMoney(message: string): boolean {
	const words = wordsOf(message);
	const says = (patterns: RegExp[]): boolean => patterns.some((pattern) => pattern.test(words));
	if (says(HASTE)) return false;
	const maybeHaste = MAYBE_HASTE.test(words);
	// "Too many requests, or insufficient quota" names both.
	if (maybeHaste && /\bor\b/.test(words)) return false;
	return says(SURELY_MONEY) || (!maybeHaste && says(MAYBE_MONEY));
}

/**
 * Whether a 429 speaks of money rather than of the rate (specification, section 7, has one status for
 * both). Only the gateway's own `error.message` counts, and a type or code that says rate limit
 * wins. Where in doubt it is the rate: that costs time at most.
 */
export function isQuotaRefusal(outcome: Outcome): boolean {
	if (outcome.kind === 'fault' || outcome.httpCode !== 429) return false;
	const error = isJsonObject(outcome.json) ? outcome.json.error : undefined;
	if (!isJsonObject(error)) return false;
	const codes = [error.type, error.code].filter((code) => typeof code === 'string');
	if (codes.some((code) => RATE_LIMIT_CODE.test(code.slice(0, 200)))) return false;
	return speaksOfMoney(nonEmptyString(error.message) ?? '');
}
