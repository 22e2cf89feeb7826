import { quote } from '../../../util/text';

/** In characters; whole words, where there is a space. */
const LONGEST_NAME = 40;
const FIRST_WORDS = /^.{1,40}(?=\s|$)|^.{1,40}/u;

/** The first words of a prompt, or the beginning of a longer word; empty without a prompt. */
function firstWords(prompt: string): string {
	const text = quote(prompt.slice(0, 10 * LONGEST_NAME));
	const words = FIRST_WORDS.exec(text)?.[0] ?? '';
	return words.length < text.length ? `${words}…` : words;
}

/** The first column of a row that has a short value, for an item without a prompt. */
export function firstColumn(row: object = {}): string | undefined {
	const isShort = (value: unknown) => ['string', 'number'].includes(typeof value) && value !== '';
	const [column] = Object.entries(row).filter(([, value]) => isShort(value));
	return column?.join(': ');
}

/**
 * An input item as a person knows it: by its position, from 1, and the first words of its prompt, or
 * else a column of its row. Data count from 0.
 */
export function rowName(itemIndex: number, prompt = ''): string {
	const words = firstWords(prompt);
	return `item ${itemIndex + 1}${words === '' ? '' : ` ("${words}")`}`;
}
