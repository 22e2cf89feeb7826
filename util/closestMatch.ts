/** In characters: the rest of a longer name isn't compared. */
const LONGEST_NAME = 200;
/** The rest of a longer list isn't compared. */
const MOST_NAMES = 1000;
const MOST_SUGGESTED = 3;
/** In characters: a foreign name can have any length. */
const LONGEST_SHOWN = 100;
/** In letters: with fewer, many names begin like this one. */
const SHORTEST_BEGINNING = 3;

/** A name without spaces, separators and case. */
const letters = (name: string): string =>
	name
		.slice(0, LONGEST_NAME)
		.toLowerCase()
		.replace(/[\s_./-]/g, '');

/** Whether two names differ in one letter at most, or in the order of two neighboring ones. */
function isOneSlip(one: string, other: string): boolean {
	const shorter = Math.min(one.length, other.length);
	let start = 0;
	while (start < shorter && one[start] === other[start]) start += 1;
	let end = 0;
	while (end < shorter - start && one.at(-1 - end) === other.at(-1 - end)) end += 1;
	const [left, right] = [one, other].map((name) => name.slice(start, name.length - end));
	if (left === undefined || right === undefined) return false;
	return (
		Math.max(left.length, right.length) < 2 || (left.length === 2 && left[1]! + left[0]! === right)
	);
}

/**
 * The names that a mistyped one may mean, as a question; empty without any. Those with one slip come
 * first, then those that begin with it, or with which it begins.
 */
export function didYouMean(wanted: string, names: string[]): string {
	const own = letters(wanted);
	if (own.length < SHORTEST_BEGINNING) return '';
	const others = names
		.slice(0, MOST_NAMES)
		.map((name) => ({ name, like: letters(name) }))
		.filter(({ like }) => like.length >= SHORTEST_BEGINNING);
	const same = others.filter(({ like }) => like === own);
	const slips = others.filter(({ like }) => isOneSlip(like, own));
	const longer = others.filter(({ like }) => like.startsWith(own) || own.startsWith(like));
	const shown = [...new Set([...same, ...slips, ...longer].map(({ name }) => name))]
		.slice(0, MOST_SUGGESTED)
		.map((name) => `'${name.slice(0, LONGEST_SHOWN)}'`);
	return shown.length === 0 ? '' : `Did you mean ${shown.join(' or ')}?`;
}
