import type { Lump } from './survival';

/** What the pauses are chosen from, in milliseconds. */
export interface Pauses {
	shortest: number;
	longest: number;
	/**
	 * The pause after so many polls where nothing is known, while this share of the tasks is open: the
	 * plan polls no more often in all.
	 */
	usual: (polls: number, openShare: number) => number;
}

/** The age at which to poll next, for a task still open at an age; undefined where nothing is known. */
export type NextPoll = (ageMs: number) => number | undefined;

/** The time axis has steps of at least this, and so many of them at most. */
const STEP_MS = 100;
const MOST_STEPS = 1000;
/** The usual pauses are jittered, which makes them longer by this much on average. */
const MEAN_JITTER = 1.05;
/** What a poll may be worth in milliseconds of delay: the plan takes the lowest at which it polls hardly more than usual. */
const PRICES = [25, 50, 100, 200, 400, 800, 1600, 3200];
/** A hundredth more polls are as many: no price lies between them and far fewer. */
const SAME_POLLS = 1.01;
/** A task that is found later than usual pauses would find it counts as so many polls more. */
const LATE_POLLS = 50;
/** A lump as narrow as this share of the shortest pause is not explored. */
const NARROW_SHARE = 0.1;
/** Only a lump of at least this weight is explored: others are parts of a wide distribution. */
const EXPLORED_WEIGHT = 0.3;
/**
 * At which share of a lump each place of an explorer looks. In a wide lump a guess pays at once. In
 * one that is narrower than the shortest pause a wrong guess costs more than the lump is wide: there
 * the first place keeps to the end, and the second looks where it is seldom wrong.
 */
const IN_WIDE = [0.45, 0.45, 0.25, 0.75, 0.9];
const IN_NARROWER = [1, 0.75, 0.25, 0.5, 0.9];
/** Each lump is spread over the nearest ones that make up this share of all. */
const KERNEL_SHARE = 0.3;

/**
 * The polls that minimize the expected delay plus a price per poll, given that a task is still open
 * at an age: by dynamic programming from the longest duration back (the optimal inspection policy
 * of R. E. Barlow and F. Proschan, "Mathematical Theory of Reliability", 1965, chapter 4).
 *
 * @param known where the probability lies
 * @param seen from so many durations
 * @param failed how many tasks have failed beside those
 * @param place of an explorer, from 1; 0 for a task that is polled where it is best by what is known
 */
export function planPolls(
	known: readonly Lump[],
	seen: number,
	pauses: Pauses,
	place: number,
	failed = 0,
): NextPoll {
	if (seen === 0) return () => undefined;
	const { shortest, longest } = pauses;
	const lumps = known.map((lump) => {
		if (Number.isFinite(lump.by)) return locate(lump, shortest, place);
		return { ...lump, by: Math.max(1.5 * lump.after, lump.after + longest) };
	});
	const lowest = Math.min(...lumps.map(({ after }) => after));
	const highest = Math.max(...lumps.map(({ by }) => by));
	const end = Math.max(1.5 * highest, highest + longest);
	const step = Math.max(STEP_MS, shortest / 20, end / MOST_STEPS);
	const size = Math.ceil(end / step);
	// The rule of succession: what was not seen before has this probability. A failure may come at any
	// age, and whoever waits wants to know of it too.
	const unseen = (failed + 1) / (seen + failed + 1);
	const mass = new Float64Array(size + 1);
	const spread = (after: number, by: number, weight: number): void => {
		const first = Math.max(1, Math.floor(after / step + 1 + 1e-6));
		const last = Math.min(size, Math.max(first, Math.ceil(by / step - 1e-6)));
		for (let k = first; k <= last; k += 1)
			mass[k] = (mass[k] as number) + weight / (last - first + 1);
	};
	spread(failed > 0 ? 0 : 0.67 * lowest, end, unseen);
	for (const lump of lumps) {
		const width = bandwidth(lump, lumps);
		spread(lump.after - width, lump.by + width, (1 - unseen) * lump.weight);
	}
	const table = cheapest(mass, pauses, step);
	return (ageMs) => {
		const next = ageMs >= 0 ? table[Math.round(ageMs / step)] : undefined;
		return next === undefined ? undefined : next * step;
	};
}

/** Whether there is anything to explore. */
export const isExplorable = (lumps: readonly Lump[], { shortest }: Pauses): boolean =>
	lumps.some(
		({ after, by, weight }) =>
			weight >= EXPLORED_WEIGHT &&
			Number.isFinite(by) &&
			by - Math.max(after, shortest) > NARROW_SHARE * shortest,
	);

/** Narrows a lump to where it is taken to be. An explorer guesses, so that its poll makes it narrower. */
function locate({ after, by, weight }: Lump, shortest: number, place: number): Lump {
	// No poll comes before the shortest pause is over: until then there is nothing to find out.
	const from = Math.min(by, Math.max(after, shortest));
	const width = by - from;
	if (width <= NARROW_SHARE * shortest) {
		// Before the first pause no task was ever seen open. Otherwise near the end, where it was seen
		// finished: polls are put a little late, and at the very end each would be put later than the last.
		const at = after < shortest ? from : Math.max(after + 1, by - STEP_MS / 2);
		return { after: at - 1, by: at, weight };
	}
	if (place === 0 || weight < EXPLORED_WEIGHT) return { after, by, weight };
	const share = (width < shortest ? IN_NARROWER : IN_WIDE)[place - 1] ?? 1;
	const at = from + share * width;
	return { after: at - 1, by: at, weight };
}

/** How far from a lump the nearest ones lie that make up a share of all: small where many lie. */
function bandwidth({ after, by }: Lump, lumps: readonly Lump[]): number {
	const near = lumps
		.map((lump) => ({ ...lump, distance: Math.abs(lump.after + lump.by - after - by) / 2 }))
		.sort((one, other) => one.distance - other.distance);
	let share = 0;
	return near.find(({ weight }) => (share += weight) >= KERNEL_SHARE)?.distance ?? 0;
}

/** The plan at the lowest price that keeps to the usual number of polls: for each step of age the step of the next poll. */
function cheapest(mass: Float64Array, pauses: Pauses, step: number): Uint16Array {
	const size = mass.length - 1;
	const open = new Float64Array(size + 1);
	const moment = new Float64Array(size + 1);
	open[0] = 1;
	for (let k = 1; k <= size; k += 1) {
		open[k] = Math.max(0, (open[k - 1] as number) - (mass[k] as number));
		moment[k] = (moment[k - 1] as number) + (mass[k] as number) * k;
	}
	open[size] = 0;
	const shortest = Math.ceil(pauses.shortest / step - 1e-6);
	const longest = Math.max(shortest, Math.floor(pauses.longest / step));
	/** What a pause would be otherwise. The first one is not jittered. */
	const ordinaryAt = (k: number): number => {
		const pause = k === 0 ? pauses.usual(0, 1) : pauses.usual(9, open[k] as number) * MEAN_JITTER;
		return Math.max(shortest, Math.floor(pause / step));
	};
	let usual = 0;
	for (let [age, polls] = [0, 0]; age < size * step; polls += 1) {
		const here = open[Math.floor(age / step)] as number;
		usual += here;
		age += pauses.usual(polls, here) * MEAN_JITTER;
	}
	const ordinaries = Array.from(open, (_, k) => ordinaryAt(k));
	const next = new Uint16Array(size + 1);
	for (const price of PRICES) {
		const cost = new Float64Array(size + 1);
		const polls = new Float64Array(size + 1);
		for (let k = size - 1; k >= 0; k -= 1) {
			const here = open[k] as number;
			let best = Infinity;
			let at = k + shortest;
			const ordinary = ordinaries[k] as number;
			for (let to = k + shortest; to <= k + longest; to += 1) {
				const late = here - (open[Math.min(size, Math.max(k, to - ordinary))] as number);
				const until = Math.min(to, size);
				const found = here - (open[until] as number);
				const delay = to * found - ((moment[until] as number) - (moment[k] as number));
				const total = delay + (late * LATE_POLLS * price) / step + (cost[until] as number);
				if (total < best - 1e-12) [best, at] = [total, to];
			}
			cost[k] = best + (price / step) * here;
			polls[k] = here + (polls[Math.min(at, size)] as number);
			next[k] = at;
		}
		if ((polls[0] as number) <= usual * SAME_POLLS) break;
	}
	return next;
}
