import { nonEmptyString } from '../../util/json';
import { hasNoModel, isGood, type HttpResponse, type Outcome } from '../protocol/outcome';
import type { RequestPlan } from '../protocol/requestPlan';
import { codesIn, tellsQuotaByCode } from '../responses/quota';
import { reasonIn } from '../responses/errorBody';

/** A refusal of the account: its key, or its quota. */
interface Refusal {
	response: HttpResponse;
	/** The only model that it is about, if the response doesn't say that it is about the key or quota. */
	model?: string;
}

/** In words, a refusal for the key; in a code, underscores stand between words. */
const ABOUT_KEY = /\b(?:keys?|tokens?|credentials?|authentication)\b|密钥|令牌|鉴权/i;

/** A refusal for the model, or one that a gateway hands on from another service. */
const ABOUT_ELSE = /\bmodels?\b|模型|\bupstream\b|\bproviders?\b|\bchannels?\b/i;

/** In characters: more of a reason isn't read. */
const LONGEST_READ = 2000;

/**
 * The refusals of a run for which no other request is accepted: a key that the gateway doesn't take, or
 * a missing quota. Another request would only be refused as well.
 */
export class AccountRefusals {
	private refusals: Refusal[] = [];

	/** Notes the last outcome of a paid request. An accepted one shows that the key works. */
	note(plan: RequestPlan, outcome: Outcome): void {
		if (!plan.paid) return;
		if (isGood(outcome)) this.refusals = [];
		const refusal = refusalIn(plan, outcome);
		if (refusal === undefined || this.find(plan) !== undefined) return;
		this.refusals.push(refusal);
	}

	/** The refusal that another request would get as well. */
	find(plan: RequestPlan): HttpResponse | undefined {
		const own = modelOf(plan);
		return this.refusals.find(({ model = own }) => model === own)?.response;
	}
}

function refusalIn(plan: RequestPlan, outcome: Outcome): Refusal | undefined {
	if (outcome.kind === 'fault') return undefined;
	const isOfQuota = outcome.httpCode === 402 || tellsQuotaByCode(outcome);
	if ((outcome.httpCode !== 401 && !isOfQuota) || hasNoModel(outcome)) return undefined;
	const model = modelOf(plan);
	const words = [...codesIn(outcome.json), reasonIn(outcome.json)].join(' ').slice(0, LONGEST_READ);
	// A gateway may refuse one model with 401, for which the key isn't enabled.
	if (ABOUT_ELSE.test(words) || (model !== '' && words.includes(model))) return undefined;
	const isOfAll = tellsQuotaByCode(outcome) || ABOUT_KEY.test(words.replaceAll('_', ' '));
	return { response: outcome, model: isOfAll ? undefined : model };
}

/** The model of a request; empty if it names none. */
function modelOf({ body, form }: RequestPlan): string {
	const named = body?.model ?? form?.fields.find(([name]) => name === 'model')?.[1];
	return nonEmptyString(named) ?? '';
}
