import type { INodeExecutionData } from 'n8n-workflow';
import { nonEmptyString } from '../../../util/json';
import { withoutTries } from '../../../util/tries';
import { detailsOf } from './knownItems';
import { isFailed } from './nodeErrors';

/** What an error names of its own item. */
interface OwnTexts {
	taskId?: unknown;
	url?: unknown;
	requestId?: unknown;
}

/** In characters: of a longer message, the rest doesn't count. */
const LONGEST_READ = 1000;
const LONGEST_SHOWN = 200;

/** The ID of a request, a pause, a time, and how much of a limit is used, in the gateway's words. */
const OF_REQUEST = /\b((?:request|trace|log)[ _-]?id["':= ]{1,5})[\w-]{1,200}/gi;
const PAUSE =
	/\b((?:in|after) )\d[\d.]{0,20}(?= ?(?:ms|s|sec|seconds?|m|min|minutes?|h|hours?)\b)/gi;
const TIME = /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?/gi;
const USED = /\b((?:used|requested|remaining)[: ] ?)\d[\d.]{0,20}\b/gi;

/**
 * What happened, by an error's message: the same for all items that failed alike. The number of
 * tries, a pause, a time, what is used of a limit, and the IDs and the address of the item aren't part
 * of it.
 */
export function reasonIn(message: string, { taskId, url, requestId }: OwnTexts = {}): string {
	const own = [taskId, url, requestId].flatMap((text) => nonEmptyString(text) ?? []);
	return own
		.reduce((text, part) => text.replaceAll(part, '…'), withoutTries(message))
		.slice(0, LONGEST_READ)
		.replace(OF_REQUEST, '$1…')
		.replace(PAUSE, '$1…')
		.replace(TIME, '…')
		.replace(USED, '$1…');
}

/** The items that failed for one reason. */
interface Group {
	/** Their input items. */
	items: Set<number>;
	/** Their messages, without the number of tries. */
	messages: Set<string>;
}

/** The reasons that are told; the others are counted. */
const MOST_TOLD = 3;

/**
 * Why items have failed, the commonest reason first, each with the number of its items; only the
 * reason if it is one.
 *
 * @param items the output items of each input item
 */
export function describeReasons(items: INodeExecutionData[][]): string {
	const groups = new Map<string, Group>();
	items.forEach((list, itemIndex) => {
		for (const { json } of list.filter(isFailed)) {
			const message = String(json.error);
			const reason = reasonIn(message, detailsOf(json));
			const group = groups.get(reason) ?? { items: new Set(), messages: new Set() };
			group.items.add(itemIndex);
			group.messages.add(withoutTries(message));
			groups.set(reason, group);
		}
	});
	const sorted = [...groups].sort(([, one], [, other]) => other.items.size - one.items.size);
	const texts = sorted.map(([reason, { items: own, messages }]) => {
		const [message = ''] = messages;
		const text = messages.size === 1 ? message : reason;
		return { size: own.size, text: text.slice(0, LONGEST_SHOWN).replace(/\p{Cs}$/u, '') };
	});
	const [only] = texts;
	if (texts.length < 2) return only?.text ?? '';
	const rest = texts.slice(MOST_TOLD).reduce((sum, { size }) => sum + size, 0);
	const told = texts.slice(0, MOST_TOLD).map(({ size, text }) => `${size} × ${text}`);
	return [...told, ...(rest === 0 ? [] : [`${rest} × other reasons`])].join(', ');
}
