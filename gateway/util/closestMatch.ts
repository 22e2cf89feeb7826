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

/** The names most similar to `wanted`, the best first. */
export function closestMatches(wanted: string, names: string[], most = 3): string[] {
	const looked = pairs(wanted);
	const near = names
		.slice(0, MOST_NAMES)
		.map((name) => ({ name, like: likeness(looked, pairs(name)) }))
		.filter(({ like }) => like >= NEAR)
		.sort((one, other) => other.like - one.like);
	const nearest = near[0]?.like ?? 0;
	return near
		.filter(({ like }) => like >= NEARLY_AS_NEAR * nearest)
		.slice(0, most)
		.map(({ name }) => name);
}

/** In characters: a foreign name can have any length. */
const LONGEST_SHOWN = 100;

/** Suggestions for a mistyped name, as a question; empty if there are none. */
export function didYouMean(wanted: string, names: string[]): string {
	const near = closestMatches(wanted, names).map((name) => `'${name.slice(0, LONGEST_SHOWN)}'`);
	return near.length === 0 ? '' : `Did you mean ${near.join(' or ')}?`;
}
