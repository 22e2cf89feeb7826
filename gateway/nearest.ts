/** The pairs of neighbouring letters of a name, blanks and case aside. */
function pairs(name: string): string[] {
	const letters = name.toLowerCase().replace(/[\s_./-]+/g, '');
	return Array.from({ length: Math.max(0, letters.length - 1) }, (_, index) =>
		letters.slice(index, index + 2),
	);
}

/** How alike two names are, from 0 to 1: the share of letter pairs that they have in common. */
function likeness(one: string, other: string): number {
	const left = pairs(one);
	const right = pairs(other);
	const total = left.length + right.length;
	let common = 0;
	for (const pair of left) {
		const index = right.indexOf(pair);
		if (index < 0) continue;
		right.splice(index, 1);
		common += 1;
	}
	return total === 0 ? 0 : (2 * common) / total;
}

/** The names that look most like `wanted`, the likest first; those that look nothing like it are left out. */
export function nearestNames(wanted: string, names: string[], most = 3): string[] {
	return names
		.map((name) => ({ name, like: likeness(wanted, name) }))
		.filter(({ like }) => like >= 0.3)
		.sort((one, other) => other.like - one.like)
		.slice(0, most)
		.map(({ name }) => name);
}
