import { isJsonObject, nonEmptyString } from '../../util/json';
import type { ModelRecord } from './models';
import { planGet, type FreePlan } from '../protocol/requestPlan';

/**
 * Plans `GET /v1/models` (docs/protocol.md, "Names of models"), with the key.
 *
 * @param headers `KEY_IN_OWN_HEADER`, where `Authorization` was refused
 */
export function planModelNames(headers: Record<string, string> = {}): FreePlan {
	const plan = planGet('names', '/v1/models');
	return { ...plan, headers: { ...plan.headers, ...headers } };
}

/**
 * Reads the response of `GET /v1/models`: records in which only the name is known, in alphabetical
 * order. Some gateways list plain texts.
 *
 * @returns undefined if it has no list
 */
export function readModelNames(body: unknown): ModelRecord[] | undefined {
	const names = isJsonObject(body) ? (namesIn(body.data) ?? namesIn(body.models)) : undefined;
	if (names === undefined) return undefined;
	return [...new Set(names)].sort().map((model) => ({
		model,
		parameters: {},
		raw: { model },
		isNameOnly: true,
	}));
}

function namesIn(list: unknown): string[] | undefined {
	if (Array.isArray(list)) return list.flatMap((entry) => nameOf(entry) ?? []);
	if (!isJsonObject(list)) return undefined;
	return namesIn([list.items, list.models, list.data].find((value) => value !== undefined));
}

function nameOf(entry: unknown): string | undefined {
	const { id, model, name } = isJsonObject(entry) ? entry : { id: entry };
	return [id, model, name].map(nonEmptyString).find(Boolean)?.trim();
}
