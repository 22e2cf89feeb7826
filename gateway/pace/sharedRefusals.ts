import { isGood, type HttpResponse, type Outcome } from '../protocol/outcome';
import type { PaidPlan, RequestPlan } from '../protocol/requestPlan';
import { tellsQuotaByCode } from '../responses/quota';

/** The requests that are refused alike: a key may lack one model, or the right to edit. */
const kindOf = ({ path, body, form }: RequestPlan): string => {
	const field = form?.fields.find(([name]) => name === 'model');
	return `${path} ${String(body?.model ?? field?.[1])}`;
};

/**
 * The refusals of a run that its other requests to the same endpoint for the same model would get too:
 * a 401 before any success there, and missing quota that the gateway tells by its code. A 402 alone isn't
 * one, as a smaller request may be accepted.
 */
export class SharedRefusals {
	private readonly refusals = new Map<string, HttpResponse>();

	private readonly accepted = new Set<string>();

	/** The response that a request would get. */
	of(plan: RequestPlan): HttpResponse | undefined {
		return this.refusals.get(kindOf(plan));
	}

	/** Records what a request has come to. One that is no item's is of an agent, which may ask again later. */
	note(plan: PaidPlan, outcome: Outcome): void {
		if (plan.item === undefined) return;
		const kind = kindOf(plan);
		if (isGood(outcome)) {
			this.accepted.add(kind);
			this.refusals.delete(kind);
		} else if (outcome.kind === 'response' && this.isShared(outcome, kind)) {
			// The request's number and pause are its own.
			this.refusals.set(kind, { ...outcome, headers: {} });
		}
	}

	private isShared(response: HttpResponse, kind: string): boolean {
		const isRefused = response.httpCode === 401 && !this.accepted.has(kind);
		return isRefused || tellsQuotaByCode(response);
	}
}
