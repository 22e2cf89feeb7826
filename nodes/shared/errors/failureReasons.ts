import type { INodeExecutionData } from 'n8n-workflow';
import { nonEmptyString } from '../../../util/json';
import { withoutTries } from '../../../util/tries';
import { detailsOf } from './itemReport';
import { isFailed } from './nodeErrors';

/** In characters: of a longer message, the rest doesn't count. */
const LONGEST_READ = 1000;
const LONGEST_SHOWN = 200;

/** Words with a digit: IDs, pauses, times, amounts. */
const VARYING = /[\w.:+-]{0,200}\d[\w.:+-]{0,200}/g;

/**
 * What happened, by an error's message: the same for all items that failed alike. The number of
 * tries, the address of the item, and words with a digit aren't part of it.
 */
export const reasonIn = (message: string, { url }: { url?: unknown } = {}): string =>
	withoutTries(message)
		.slice(0, LONGEST_READ)
		.replaceAll(nonEmptyString(url) ?? '\0', '…')
		.replace(VARYING, '…');

/** The items that failed for one reason. */
interface Group {
	/** Their input items. */
	items: Set<number>;
	/** The message of the first one, without the number of tries. */
	message: string;
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
			const group = groups.get(reason) ?? { items: new Set(), message: withoutTries(message) };
			group.items.add(itemIndex);
			groups.set(reason, group);
		}
	});
	const sorted = [...groups.values()].sort((one, other) => other.items.size - one.items.size);
	const texts = sorted.map(({ items: own, message }) => ({
		size: own.size,
		text: message.slice(0, LONGEST_SHOWN).replace(/\p{Cs}$/u, ''),
	}));
	const [only] = texts;
	if (texts.length < 2) return only?.text ?? '';
	const rest = texts.slice(MOST_TOLD).reduce((sum, { size }) => sum + size, 0);
	const told = texts.slice(0, MOST_TOLD).map(({ size, text }) => `${size} × ${text}`);
	return [...told, ...(rest === 0 ? [] : [`${rest} × other reasons`])].join(', ');
}
