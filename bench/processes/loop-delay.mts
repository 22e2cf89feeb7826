/** Watches for how long an event has to wait until the event loop gets to it. */
import { performance } from 'node:perf_hooks';

const EVERY_MS = 1;

interface Watch {
	without: (work: () => void) => void;
	end: () => number;
}

/**
 * Notes the gaps between turns of the event loop. A histogram of the gaps by their number says little:
 * while the loop is held up, nothing is noted, so that a second of 25 turns counts less than a hundredth
 * of an idle one (coordinated omission). What counts is when something arrives, which may be at any
 * moment: it waits for what is left of the gap that it falls into.
 *
 * `end` ends the watch: its result is the delay, in milliseconds, that 99 of 100 moments do not exceed.
 * `without` does what the bench itself needs, such as a collection of all garbage by hand, which nobody
 * meets in production.
 */
export function watchLoopDelay(): Watch {
	const gaps: number[] = [];
	let last = performance.now();
	const note = (): void => {
		const now = performance.now();
		gaps.push(Math.max(0, now - last - EVERY_MS));
		last = now;
	};
	const begun = last;
	const timer = setInterval(note, EVERY_MS);
	return {
		without: (work) => {
			note();
			work();
			last = performance.now();
		},
		end: () => {
			note();
			clearInterval(timer);
			return delayAt(gaps, (last - begun) / 100);
		},
	};
}

/** The delay that is exceeded by what arrives in `exceedingMs` of the whole time. */
function delayAt(gaps: number[], exceedingMs: number): number {
	gaps.sort((one, other) => other - one);
	let sum = 0;
	for (const [index, gap] of gaps.entries()) {
		sum += gap;
		// Of each of the longest gaps, what lies beyond the delay counts.
		const delay = (sum - exceedingMs) / (index + 1);
		if (delay >= (gaps[index + 1] ?? 0)) return Math.max(0, delay);
	}
	return 0;
}
