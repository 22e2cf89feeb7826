const LONGEST_S = 50;

/**
 * Waits, by looking again and again, until something is so. Gives up before jest ends the test:
 * otherwise the loop would go on during the tests after it, and make them fail as well.
 */
export async function until(isSo: () => boolean): Promise<void> {
	// Tests change the clock and the time of day, but not this.
	const end = process.uptime() + LONGEST_S;
	while (!isSo()) {
		if (process.uptime() > end) throw new Error(`Not so after ${LONGEST_S} s: ${isSo.toString()}`);
		await new Promise((resolve) => setImmediate(resolve));
	}
}
