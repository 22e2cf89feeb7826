/** As JSON has them, and `.5`. */
const NUMBER = /^-?(?=\.?\d)(?:0|[1-9]\d{0,400})?(?:\.\d{1,400})?(?:[eE][+-]?\d{1,4})?$/;
/** In characters: no number is longer, and what is longer is not looked through. */
const LONGEST_NUMBER = 400;

/**
 * What a person means who types a value into a field for texts: a number, true, false or a text.
 *
 * - Blanks around a number, true or false do not count; of a text they are kept.
 * - `true` and `false` in whatever case.
 * - Numbers as in JSON, and `.5`. What is beyond the largest safe integer stays text with all its
 *   digits, and so does what is written as no number is: `007`, `+5`, `0x10`, `1,5`.
 * - Quotes around it, single or double, make anything a text: `"5"` is the text 5, `""` an empty one.
 * - Nothing, or nothing but blanks, is no value.
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
