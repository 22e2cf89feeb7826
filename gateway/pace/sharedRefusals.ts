import type { HttpResponse, Outcome } from '../protocol/outcome';
import type { PaidPlan, RequestPlan } from '../protocol/requestPlan';
import { tellsQuotaByCode } from '../responses/quota';

/** The requests that are refused alike: a key may lack one model, or the right to edit. */
const kindOf = ({ path, body, form }: RequestPlan): string => {
	const field = form?.fields.find(([name]) => name === 'model');
	return `${path} ${String(body?.model ?? field?.[1])}`;
};

/** The items that are refused in a row before the others aren't sent: one may be refused by mistake. */
const ENOUGH = 3;

/**
 * The refusals of a run that its other requests to the same endpoint for the same model would get too:
 * a 401, and missing quota that the gateway tells by its code, of several items with nothing accepted
 * between them.
 */
export class SharedRefusals {
	/** The refused items since the last accepted request, by what is refused alike. */
	private readonly refused = new Map<string, Map<number, HttpResponse>>();

	/** The response that a request would get. */
	of(plan: RequestPlan): HttpResponse | undefined {
		const refusals = [...(this.refused.get(kindOf(plan))?.values() ?? [])];
		return refusals.length < ENOUGH ? undefined : refusals[0];
	}

	/** Records what a request has come to. One that is no item's is of an agent, which may ask again later. */
	note(plan: PaidPlan, outcome: Outcome): void {
		if (plan.item === undefined || outcome.kind === 'fault') return;
		const kind = kindOf(plan);
		if (outcome.httpCode === 401 || tellsQuotaByCode(outcome)) {
			const refusals = this.refused.get(kind) ?? new Map<number, HttpResponse>();
			// The request's number and pause are its own.
			this.refused.set(kind, refusals.set(plan.item, { ...outcome, headers: {} }));
		} else if (outcome.httpCode < 500 && ![403, 407, 429].includes(outcome.httpCode)) {
			// Also one whose parameters are refused has a key that is accepted.
			this.refused.delete(kind);
		}
	}
}
