/** Runs `work` for each of `list`, at most `width` at once, and keeps the order. */
export async function pooled<T, R>(
	list: readonly T[],
	width: number,
	work: (entry: T) => Promise<R>,
): Promise<R[]> {
	const results: R[] = [];
	const queue = [...list.entries()];
	const worker = async (): Promise<void> => {
		for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
			results[next[0]] = await work(next[1]);
		}
	};
	await Promise.all(Array.from({ length: width }, worker));
	return results;
}
