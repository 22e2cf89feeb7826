import { isJsonObject, nonEmptyString } from '../util/json';
import type { ModelRecord } from './models';
import { planGet, type RequestPlan } from './requestPlan';

/** Plans `GET /v1/models` (docs/protocol.md, "Names of models"), with the key. */
export const planModelNames = (): RequestPlan => planGet('names', '/v1/models');

/**
 * Reads the response of `GET /v1/models`: records in which only the name is known, in alphabetical
 * order.
 *
 * @returns undefined if it has no list
 */
export function readModelNames(body: unknown): ModelRecord[] | undefined {
	const data = isJsonObject(body) ? body.data : undefined;
	if (!Array.isArray(data)) return undefined;
	const ids = data.filter(isJsonObject).flatMap(({ id }) => nonEmptyString(id)?.trim() ?? []);
	return [...new Set(ids)].sort().map((model) => ({
		model,
		parameters: {},
		raw: { model },
		isNameOnly: true,
	}));
}
