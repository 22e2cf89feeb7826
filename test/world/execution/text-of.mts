/** All texts of a value: own fields, hidden ones, circles. */
export function textOf(value: unknown): string {
	const seen = new Set<unknown>();
	const texts: string[] = [];
	const visit = (part: unknown): void => {
		if (typeof part === 'string') texts.push(part);
		else if (typeof part === 'number') texts.push(String(part));
		if (typeof part !== 'object' || part === null || seen.has(part)) return;
		seen.add(part);
		for (const name of Object.getOwnPropertyNames(part)) {
			if (name === 'stack' || name === 'node' || name === 'source') continue;
			visit(Object.getOwnPropertyDescriptor(part, name)?.value);
		}
	};
	visit(value);
	return texts.join('\n');
}
