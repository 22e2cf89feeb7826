/**
 * Lets at most so many acts run at the same time; the others wait in the order in which they came.
 *
 * @returns what an act returns, or throws
 */
export function createLimiter(most: number): <T>(act: () => Promise<T>) => Promise<T> {
	const waiting = new Set<() => void>();
	let running = 0;
	return async (act) => {
		if (running >= most) await new Promise<void>((enter) => waiting.add(enter));
		else running += 1;
		try {
			return await act();
		} finally {
			const [next] = waiting;
			// Whoever is let in takes over the place.
			if (next === undefined) running -= 1;
			else {
				waiting.delete(next);
				next();
			}
		}
	};
}
