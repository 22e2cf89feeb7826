import { isSuccess, type HttpResponse, type Outcome } from '../protocol/outcome';
import type { PaidPlan } from '../protocol/requestPlan';
import { tellsQuotaByCode } from '../responses/quota';

/** The items that are refused before the others aren't sent: one may be refused by mistake. */
const ENOUGH = 3;

/**
 * The refusals of a key that has never worked in this run: a 401, and missing quota that the gateway tells
 * by its code. Once a paid request was accepted, also one whose parameters are refused, each refusal is
 * that of its own request. Status checks and lists show nothing: a gateway may give them to a key without
 * quota, or to any.
 */
export class SharedRefusals {
	/** By item; undefined once a request was accepted. */
	private refused: Map<number, HttpResponse> | undefined = new Map();

	/** The requests under way. */
	private pending = 0;

	/**
	 * The response that the items not sent yet would get. Each request under way asks for one more refusal:
	 * a refusal comes at once, an image after half a minute.
	 */
	get shared(): HttpResponse | undefined {
		const { refused = new Map<number, HttpResponse>(), pending } = this;
		if (refused.size < ENOUGH + pending) return undefined;
		return [...refused.values()][0];
	}

	/**
	 * Waits for what a request comes to, and records a refusal. One that is no item's is of an agent,
	 * which may ask again later.
	 */
	async watch(plan: PaidPlan, sending: Promise<Outcome>): Promise<Outcome> {
		this.pending += 1;
		const outcome = await sending.finally(() => void (this.pending -= 1));
		if (plan.item === undefined || outcome.kind === 'fault') return outcome;
		if (outcome.httpCode === 401 || tellsQuotaByCode(outcome)) {
			// The request's number and pause are its own.
			this.refused?.set(plan.item, { ...outcome, headers: {} });
		} else if (isSuccess(outcome.httpCode) || [400, 422].includes(outcome.httpCode)) {
			this.refused = undefined;
		}
		return outcome;
	}
}
