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
/** The lowest similarity of a suggestion relative to the best one. */
const NEARLY_AS_NEAR = 0.75;
const MOST_SUGGESTED = 3;
/** In characters: a foreign name can have any length. */
const LONGEST_SHOWN = 100;

/** The names most similar to a mistyped one, the best first, as a question; empty without any. */
export function didYouMean(wanted: string, names: string[]): string {
	const wantedPairs = pairs(wanted);
	const near = names
		.slice(0, MOST_NAMES)
		.map((name) => ({ name, like: likeness(wantedPairs, pairs(name)) }))
		.sort((one, other) => other.like - one.like);
	const lowest = Math.max(NEAR, NEARLY_AS_NEAR * (near[0]?.like ?? 0));
	const shown = near
		.filter(({ like }) => like >= lowest)
		.slice(0, MOST_SUGGESTED)
		.map(({ name }) => `'${name.slice(0, LONGEST_SHOWN)}'`);
	return shown.length === 0 ? '' : `Did you mean ${shown.join(' or ')}?`;
}
