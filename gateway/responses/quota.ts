import { isJsonObject } from '../../util/json';
import type { HttpResponse, Outcome } from '../protocol/outcome';
import { bestReason, reasonsIn } from './reasons';

/** In characters: only the beginning of a message is read. */
const LONGEST_MESSAGE = 2000;

/** Types and codes of rate limit errors, which decide before the message. */
const RATE_LIMIT_CODE =
	/rate.?limit|too.?many|throttl|slow.?down|concurren|overload|frequen|^(requests?|tokens?|rate|rpm|tpm|qps)$/i;

/**
 * Words about the request rate, which take precedence: time spans, retry times, too many requests.
 */
const RATE =
	/\b(per|this|calls?|requests?|tokens?) (second|sec|minute|min|hour)\b|\b(rpm|tpm|rps|qps|qpm|rpd|tpd)\b|\b(retry|again|resets?|wait) ((in|after|for) )?#|\bconcurren|\brate limit|\b(requests?|calls?|rate) quota\b|\bor (insufficient|quota)\b|\bquota increase\b|\btoo (frequent|often|fast)|\btoo many requests ([a-z]{1,20} ){0,3}quota|\bslow down|\bthrottl|\bcapacity\b|频|限流|限速|并发/;

/** Words about missing quota or money. */
const MONEY = [
	/\b(insufficient|not enough|no|0|out of) ([a-z]{1,20} ){0,2}(funds?|balance|credits?|quota)\b/,
	/\b(funds?|balance|credits?|quota) ([a-z#]{1,20} ){0,4}(insufficient|not enough|not sufficient|too low|exhausted|depleted|empty|used up|0|exceeded|reached)\b/,
	/\bexceeded your ([a-z]{1,20} )?quota\b|\b(billing|spending) (hard )?limit\b|\btop up\b|\bpayment required\b/,
	/(余额|额度|配额)已?(不足|用尽|用完|失败)|欠费|saldo insuficiente|solde insuffisant/,
];

/** Words about a quota of nothing, which no wait raises, whatever else is said of one. */
const NO_QUOTA = /\bquota exceeded ([a-z#]{1,40} ){0,12}limit 0\b/;

/** The words of a message with single spaces, numbers as `#` or `0`, and without addresses. */
function wordsOf(message: string): string {
	const tokens = message.slice(0, LONGEST_MESSAGE).toLowerCase().split(/\s/);
	return tokens
		.filter((token) => !/\/\/|^\/|\.\w+\//.test(token))
		.join(' ')
		.replace(/\d[\d.,]*/g, (number) => (/[1-9]/.test(number) ? '#' : '0'))
		.replace(/[^\p{L}#0]+/gu, ' ')
		.replace(/load balanc/g, 'load');
}

/** Whether a message is about missing quota or money and not about the request rate. */
export function speaksOfMoney(message: string): boolean {
	const words = wordsOf(message);
	return (
		NO_QUOTA.test(words) || (MONEY.some((pattern) => pattern.test(words)) && !RATE.test(words))
	);
}

/** Types and codes of errors about money, which decide before all others. */
const QUOTA_CODE =
	/budget.?exceeded|insufficient.?([a-z]{1,10}.)?(quota|balance|credits?|funds)|usage.?limit.?(reached|exceeded)|exceeded.?current.?quota|arrearage|overdue|billing.?not.?active/i;

/**
 * Whether a response says that quota or money is missing, whatever its status: some gateways send
 * 401, 402 or 403 for it.
 */
export function isOutOfQuota(response: HttpResponse): boolean {
	if (response.httpCode === 402 || is429ForQuota(response)) return true;
	return [400, 401, 403].includes(response.httpCode) && saysQuota(response.json);
}

/**
 * Whether a 429 is about quota and not about the rate; both have this status (docs/protocol.md,
 * "Errors"). A type or code decides, about money before one about the rate, then the gateway's reason,
 * which also is what people read; the day's quota is one of money, as no wait is that long. In doubt
 * it is the rate, which costs only time.
 */
export function is429ForQuota(outcome: Outcome): boolean {
	return outcome.kind === 'response' && outcome.httpCode === 429 && saysQuota(outcome.json);
}

/** Whether a refusal tells by its type or code that quota or money is missing. */
export const tellsQuotaByCode = ({ httpCode, json }: HttpResponse): boolean =>
	[400, 401, 402, 403, 429].includes(httpCode) &&
	codesIn(json).some((code) => QUOTA_CODE.test(code));

/** The types and codes of an error, from its own object and around it. */
function codesIn(json: unknown): string[] {
	if (!isJsonObject(json)) return [];
	const error = isJsonObject(json.error) ? json.error : {};
	return [error.type, error.code, json.type, json.code]
		.filter((code) => typeof code === 'string')
		.map((code) => code.slice(0, 200));
}

function saysQuota(json: unknown): boolean {
	const codes = codesIn(json);
	if (codes.some((code) => QUOTA_CODE.test(code))) return true;
	if (codes.some((code) => RATE_LIMIT_CODE.test(code))) return false;
	return speaksOfMoney(bestReason(reasonsIn(json)) ?? '');
}
