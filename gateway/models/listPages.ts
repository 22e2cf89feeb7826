import { finiteNumber, isJsonObject, nonEmptyString, type JsonObject } from '../../util/json';
import type { FreePlan } from '../protocol/requestPlan';

/** The most pages of a list that are requested. */
export const MOST_PAGES = 20;

/**
 * Plans the next page of a list, as its response names it: the last ID of this page, or a total above
 * the entries so far.
 *
 * @param plan of the first page
 * @returns undefined after the last page
 */
export function planNextPage(
	plan: FreePlan,
	json: unknown,
	{ pages, count }: { pages: number; count: number },
): FreePlan | undefined {
	const cursor = cursorIn(json);
	// Each gateway reads one of two names, and ignores the other.
	const byId = cursor === undefined ? undefined : { after: cursor, after_id: cursor };
	const byNumber =
		totalOf(json) > count ? { page: String(pages + 1), offset: String(count) } : undefined;
	const query = byId ?? byNumber;
	return query === undefined ? undefined : { ...plan, query: { ...plan.query, ...query } };
}

/** A list and the object that it may be in. */
const layersOf = (json: unknown): JsonObject[] =>
	isJsonObject(json) ? [json, json.data].filter(isJsonObject) : [];

function cursorIn(json: unknown): string | undefined {
	const layer = layersOf(json).find(({ has_more }) => has_more === true);
	return layer && (nonEmptyString(layer.last_id) ?? nonEmptyString(layer.after));
}

/** The number of entries that a list says it has. */
export const totalOf = (json: unknown): number =>
	Math.max(0, ...layersOf(json).map(({ total }) => finiteNumber(total) ?? 0));

/** The number of entries of a page. */
export function countOf(json: unknown): number {
	const lists = layersOf(json).flatMap(({ data, items, models }) => [items, models, data]);
	return lists.find((list) => Array.isArray(list))?.length ?? 0;
}
