/** Digits with or without a sign, a fraction and a power of ten; no zero in front of other digits. */
const NUMBER = /^-?(0|[1-9]\d{0,400})?(\.\d{1,400})?([eE][+-]?\d{1,4})?$/;
const HAS_DIGIT = /^-?\.?\d/;
/** In characters: no number is longer, and what is longer is not looked through. */
const LONGEST_NUMBER = 400;

/**
 * What a person means who types a value into a field for texts: a number, true, false or a text.
 *
 * - Blanks around a number, true or false do not count; of a text they are kept.
 * - `true` and `false` in whatever case.
 * - Numbers as in JSON, and `.5`. What a number cannot hold exactly stays text with all its digits:
 *   integers of more than 15 to 16 digits, and what is beyond the largest number or below the
 *   smallest. So does what is written as no number is: `007`, `+5`, `0x10`, `1,5`.
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
	if (word.length > LONGEST_NUMBER || !HAS_DIGIT.test(word) || !NUMBER.test(word)) return text;
	const number = Number(word);
	return isExact(word, number) ? number : text;
}

/** More digits than these are not all kept. */
const EXACT_DIGITS = 15;

/** Whether a number still is the one that was written, but for the last digits of a fraction. */
function isExact(word: string, number: number): boolean {
	if (!Number.isFinite(number)) return false;
	if (!/[.eE]/.test(word)) return Number.isSafeInteger(number);
	const [mantissa = ''] = word.split(/[eE]/);
	const digits = mantissa.replace(/^[-0.]+/, '').replace('.', '');
	if (number === 0) return digits === '';
	return Math.abs(number) <= Number.MAX_SAFE_INTEGER || digits.length <= EXACT_DIGITS;
}
