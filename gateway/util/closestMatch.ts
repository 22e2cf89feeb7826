/** In characters: the rest of a longer name isn't compared. */
const LONGEST_NAME = 200;
/** The rest of a longer list isn't compared. */
const MOST_NAMES = 1000;

/** The pairs of neighboring letters in a name, without spaces and case. */
function pairs(name: string): Set<string> {
	const letters = name
		.slice(0, LONGEST_NAME)
		.toLowerCase()
		.replace(/[\s_./-]/g, '');
	return new Set(Array.from(letters.slice(1), (letter, index) => letters[index] + letter));
}

/** The similarity of two names from 0 to 1: the share of common letter pairs. */
function likeness(left: Set<string>, right: Set<string>): number {
	const common = [...left].filter((pair) => right.has(pair)).length;
	return common === 0 ? 0 : (2 * common) / (left.size + right.size);
}

/** The lowest similarity of a suggestion. */
const NEAR = 0.5;
/** In characters: a foreign name can have any length. */
const LONGEST_SHOWN = 100;

/** The name most similar to a mistyped one, as a question; empty without any. */
export function didYouMean(wanted: string, names: string[]): string {
	const wantedPairs = pairs(wanted);
	const likenesses = names.slice(0, MOST_NAMES).map((name) => likeness(wantedPairs, pairs(name)));
	const nearest = names[likenesses.indexOf(Math.max(NEAR, ...likenesses))];
	return nearest === undefined ? '' : `Did you mean '${nearest.slice(0, LONGEST_SHOWN)}'?`;
}
