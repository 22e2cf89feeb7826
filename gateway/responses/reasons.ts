import { isJsonObject, nonEmptyString } from '../../util/json';
import { ALL_ENVELOPES, DEEPEST, inAllSpellings, valuesAt } from './responseFields';
import { statusGroup } from '../protocol/status';

/** Where a response says why something failed, the most reliable name first. */
// prettier-ignore
const NAMES = inAllSpellings({
	/** Why something failed. */
	reason: [
		'error_description', 'error', 'message', 'detail', 'reason', 'fail_reason', 'failure_reason', 'failed_reason',
		'error_message', 'error_msg', 'task_status_msg', 'fail_msg', 'msg', 'err_msg', 'errmsg', 'status_msg', 'base_resp', 'description', 'title', 'code',
		'rai_filtered_reason', 'block_reason', 'finish_reason',
	],
	/** Whether each image is not safe for work, so that it may be blank. */
	flags: ['has_nsfw_concepts'],
	/** Several errors: a list, or an object by the names of the parameters that they are about. */
	errors: ['errors'],
	/** The parameter that an error in a list is about, or the way to it. */
	parameter: ['loc', 'param', 'field'],
});

/** The values that can be a reason, the likeliest first; of a list, those of its entries as one. */
export function reasonsIn(value: unknown, depth = 0): unknown[] {
	if (typeof value === 'string') return statusGroup(value) === 'success' ? [] : [value];
	if (depth > DEEPEST) return [];
	if (Array.isArray(value)) {
		const told = value.flatMap((entry) => reasonOfEntry(entry, depth + 1) ?? []);
		return told.length === 0 ? [] : [[...new Set(told)].slice(0, MOST_REASONS).join('; ')];
	}
	const errors = valuesAt(value, NAMES.errors).map(asList);
	const own = [...errors, ...valuesAt(value, NAMES.reason)];
	const around = valuesAt(value, ALL_ENVELOPES).flatMap((field) =>
		[field].flat().filter(isJsonObject),
	);
	return [...own, ...around].flatMap((inner) => reasonsIn(inner, depth + 1));
}

/** In characters: a longer reason is more than a status's own phrase. */
const LONGEST_PHRASE = 40;

/** What says no more than a status: its own phrase in HTTP, or one word. */
const PHRASE =
	/^([\w.:-]+|bad request|payment required|not found|method not allowed|not acceptable|request timeout|payload too large|unprocessable (entity|content)|too many requests|internal (server )?error|not implemented|bad gateway|service unavailable|gateway time-?out|(http )?error \d{3}|(validation|server|unknown|request) (error|failed))[.!]?$/i;

const isPhrase = (reason: string): boolean =>
	reason.length <= LONGEST_PHRASE && PHRASE.test(reason.trim());

/** The first of some reasons that says more than a status does; without such a one, the first. */
export function bestReason(reasons: unknown[]): string | undefined {
	const told = reasons.flatMap((reason) => nonEmptyString(reason) ?? []);
	return told.find((reason) => !isPhrase(reason)) ?? told[0];
}

/** A hint that an image was flagged, in the name of the field that says so; undefined if none was. */
export function flaggedIn(layers: unknown[]): string | undefined {
	const flags = layers.flatMap((layer) => valuesAt(layer, NAMES.flags)).flat();
	return flags.includes(true)
		? 'an image was flagged as not safe for work (has_nsfw_concepts) and may be blank'
		: undefined;
}

/** More reasons than anybody reads. */
const MOST_REASONS = 10;

/** The first reason of an entry, after the parameter that it is about. */
function reasonOfEntry(entry: unknown, depth: number): string | undefined {
	const reason = bestReason(reasonsIn(entry, depth));
	const way = valuesAt(entry, NAMES.parameter).flat().filter(isName);
	const name = way.filter((part, index) => index > 0 || part !== 'body').join('.');
	return reason === undefined || name === '' ? reason : `${name}: ${reason}`;
}

const isName = (part: unknown): boolean => typeof part === 'string' || typeof part === 'number';

/** Errors by the names of parameters as a list. */
const asList = (errors: unknown): unknown =>
	isJsonObject(errors) && valuesAt(errors, NAMES.reason).length === 0
		? Object.entries(errors).map(([field, message]) => ({ field, message }))
		: errors;
