/** No model has a longer name; what is behind it is not compared. */
const LONGEST_NAME = 200;
/** More than any gateway lists; the rest is not compared. */
const MOST_NAMES = 1000;

/** How often each pair of neighboring letters is in a name, blanks and case aside. */
function pairs(name: string): Map<string, number> {
	const letters = name
		.slice(0, LONGEST_NAME)
		.toLowerCase()
		.replace(/[\s_./-]/g, '');
	const counts = new Map<string, number>();
	for (let index = 1; index < letters.length; index += 1) {
		const pair = letters.slice(index - 1, index + 1);
		counts.set(pair, (counts.get(pair) ?? 0) + 1);
	}
	return counts;
}

/** How alike two names are, from 0 to 1: the share of letter pairs that they have in common. */
function likeness(left: Map<string, number>, right: Map<string, number>): number {
	let total = 0;
	let common = 0;
	for (const count of right.values()) total += count;
	for (const [pair, count] of left) {
		total += count;
		common += Math.min(count, right.get(pair) ?? 0);
	}
	return total === 0 ? 0 : (2 * common) / total;
}

/** A near name has at least half of its letter pairs in common with the wanted one. */
const NEAR = 0.5;
/** What is much less alike than the nearest is not what was meant. */
const NEARLY_AS_NEAR = 0.75;

/**
 * The names that are near to `wanted`, the likest first. Of a name 200 characters count, of the names
 * 1000.
 */
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

/** In characters: a name of any length may come from elsewhere. */
const LONGEST_SHOWN = 100;

/** The names that are near to a mistyped one, as a question; empty where none is. */
export function didYouMean(wanted: string, names: string[]): string {
	const near = closestMatches(wanted, names).map((name) => `'${name.slice(0, LONGEST_SHOWN)}'`);
	return near.length === 0 ? '' : `Did you mean ${near.join(' or ')}?`;
}
