/** Numbers as in JSON, and `.5`. */
const NUMBER = /^-?(?=\.?\d)(?:0|[1-9]\d{0,400})?(?:\.\d{1,400})?(?:[eE][+-]?\d{1,4})?$/;
/** In characters: longer texts aren't matched, because no number is longer. */
const LONGEST_NUMBER = 400;

/**
 * The meaning of a value typed into a text field: a number, true, false or text.
 *
 * - Spaces around a number, true or false are ignored; those of a text are kept.
 * - `true` and `false` in any case.
 * - Numbers as in JSON, and `.5`. Integers beyond the largest safe one stay text with all digits,
 * and so do `007`, `+5`, `0x10` and `1,5`.
 * - Quotes, single or double, make anything a text: `"5"` is the text 5, `""` an empty one.
 * - An empty or blank text is no value.
 *
 * @returns undefined for no value
 */
export function readTypedValue(text: string): string | number | boolean | undefined {
	const word = text.trim();
	if (word === '') return undefined;
	const quotation = word.length > 1 && /^["']/.test(word) ? word.charAt(0) : undefined;
	if (quotation !== undefined && word.indexOf(quotation, 1) === word.length - 1) {
		return word.slice(1, -1);
	}
	const lower = word.length > 5 ? '' : word.toLowerCase();
	if (lower === 'true' || lower === 'false') return lower === 'true';
	if (word.length > LONGEST_NUMBER || !NUMBER.test(word)) return text;
	const number = Number(word);
	return Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : text;
}
