import { setTimeout as sleep } from 'node:timers/promises';

type Found<T> = T | undefined | false;

/**
 * Waits for something of another process, by looking again and again.
 * @param what what is waited for: the error says it
 * @param seconds after which it is given up
 * @param look gives what is waited for, or undefined or false as long as it isn't there
 */
export async function until<T>(
	what: string | (() => string),
	seconds: number,
	look: () => Found<T> | Promise<Found<T>>,
	pauseMs = 100,
): Promise<T> {
	for (const end = process.uptime() + seconds; ; await sleep(pauseMs)) {
		const found = await look();
		if (found !== undefined && found !== false) return found;
		if (process.uptime() < end) continue;
		throw new Error(`Not within ${seconds} s: ${typeof what === 'string' ? what : what()}`);
	}
}
