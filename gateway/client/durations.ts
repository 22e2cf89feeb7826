/*
 * How long the tasks of a model take, learned from polls, and when to poll next because of it.
 *
 * A poll shows a duration only as an interval: still open at the last poll, finished at this one.
 * The distribution is estimated from such interval-censored observations by Turnbull's estimator
 * (B. W. Turnbull, "The empirical distribution function with arbitrarily grouped, censored and
 * truncated data", J. R. Statist. Soc. B 38, 1976), which is the Kaplan-Meier estimator of the
 * survival function where durations are known exactly. The poll times then minimize the expected
 * delay plus a price per poll, by dynamic programming over that distribution (the optimal
 * inspection policy of R. E. Barlow and F. Proschan, "Mathematical Theory of Reliability", 1965,
 * chapter 4). Nothing is reduced to a mean: tasks of 3 s and of 9 s stay two kinds.
 */

/** A duration: more than `after`, at most `by`, in milliseconds since the submit. */
interface Observation {
	after: number;
	by: number;
	seenAt: number;
}

/** What the pauses are chosen from, in milliseconds. */
export interface Pauses {
	shortest: number;
	longest: number;
	/** The pause after so many polls where nothing is known: the plan polls no more often in all. */
	usual: (polls: number) => number;
}

/** The age at which to poll next, for a task still open at an age; undefined where it knows nothing. */
export type NextPoll = (ageMs: number) => number | undefined;

/** What was seen longer ago is forgotten, and of more than these the oldest. */
const MOST_OBSERVATIONS = 100;
const LONGEST_MEMORY_MS = 6 * 3_600_000;
/** So many in a row among the shortest or longest tenth of those before: the model has changed. */
const CHANGE_RUN = 4;
const CHANGE_SHARE = 0.1;
/** The time axis has steps of at least this, and so many of them at most. */
const STEP_MS = 100;
const MOST_STEPS = 1000;
/** An interval as narrow as this share of the shortest pause is not made narrower. */
const NARROW_SHARE = 0.15;
const EM_ROUNDS = 30;
/** Each estimated duration is spread over the nearest ones that make up this share of all. */
const KERNEL_SHARE = +(process.env.KS ?? 0.2);
/** What a poll is worth in milliseconds of delay: the lowest price at which the plan polls no more than usual. */
const PRICES = [25, 50, 100, 200, 400, 800, 1600, 3200];
/** A plan is made anew once so large a share of the observations is new, and no sooner than this. */
const NEW_SHARE = 0.1;
const REPLAN_MS = 200;

/** The durations of one kind of task, and the polls that follow from them. */
export class Durations {
	private observations: Observation[] = [];
	private fresh = 0;
	private plan?: { next: NextPoll; madeAt: number; pauses: string };

	/**
	 * Learns from a task that has succeeded. What says too little is left out: an interval without
	 * bounds, or so wide that it is no result of ordinary polls.
	 *
	 * @param after the age at which it was last seen open, 0 if it was not
	 * @param by the age at which it was seen finished
	 * @param widest how wide an interval may be, in milliseconds
	 * @param now on the same clock as `nextPoll`
	 */
	observe(after: number, by: number, widest: number, now: number): void {
		if (!(after >= 0 && by > after && by - after <= widest)) return;
		this.observations.push({ after, by, seenAt: now });
		if (this.observations.length > MOST_OBSERVATIONS) this.observations.shift();
		if (hasChanged(this.observations))
			this.observations.splice(0, this.observations.length - CHANGE_RUN);
		this.fresh += 1;
	}

	/** When to poll a task next that is still open; it is not known where nothing was observed. */
	nextPoll(pauses: Pauses, now: number): NextPoll {
		const key = [pauses.shortest, pauses.longest, pauses.usual(0)].map(Math.round).join(' ');
		const { plan, fresh, observations } = this;
		const isFresh =
			plan !== undefined &&
			plan.pauses === key &&
			(fresh < observations.length * NEW_SHARE || now < plan.madeAt + REPLAN_MS) &&
			now < plan.madeAt + LONGEST_MEMORY_MS;
		if (isFresh) return plan.next;
		this.observations = observations.filter(({ seenAt }) => seenAt > now - LONGEST_MEMORY_MS);
		const next = planPolls(this.observations, pauses);
		this.plan = { next, madeAt: now, pauses: key };
		this.fresh = 0;
		return next;
	}
}

const middleOf = ({ after, by }: Observation): number => (after + by) / 2;

/** Whether the last few lie all on one side of nearly all before them. */
function hasChanged(observations: readonly Observation[]): boolean {
	const middles = observations.map(middleOf);
	const last = middles.splice(-CHANGE_RUN);
	if (middles.length < CHANGE_RUN) return false;
	middles.sort((one, other) => one - other);
	const rank = Math.floor(middles.length * CHANGE_SHARE);
	const low = middles[rank] as number;
	const high = middles[middles.length - 1 - rank] as number;
	return last.every((middle) => middle < low) || last.every((middle) => middle > high);
}

interface Atom {
	at: number;
	weight: number;
}

/**
 * Turnbull's estimator: the probability lies in the innermost of the overlapping intervals, with
 * weights by expectation maximization. Where in such an interval is not known. A narrow one counts
 * as its end, at which the task was seen finished. In a wide one the guess is put inside, so that
 * the poll there makes it narrower: in the middle where a wrong guess costs no more than the
 * interval is wide, else further to the end.
 */
function estimate(observations: readonly Observation[], shortest: number): Atom[] {
	const ends = observations
		.flatMap(({ after, by }) => [
			{ at: after, opens: true },
			{ at: by, opens: false },
		])
		.sort((one, other) => one.at - other.at || Number(one.opens) - Number(other.opens));
	const inner = ends.flatMap(({ at, opens }, index) => {
		const next = ends[index + 1];
		return opens && next?.opens === false ? [{ after: at, by: next.at }] : [];
	});
	const members = observations.map(({ after, by }) =>
		inner.flatMap((each, index) => (each.after >= after && each.by <= by ? [index] : [])),
	);
	let weights = inner.map(() => 1 / inner.length);
	for (let round = 0; round < EM_ROUNDS; round += 1) {
		const next = inner.map(() => 0);
		for (const indices of members) {
			const sum = indices.reduce((total, index) => total + (weights[index] as number), 0);
			for (const index of indices) {
				(next[index] as number) += (weights[index] as number) / sum / observations.length;
			}
		}
		weights = next;
	}
	return inner.map(({ after, by }, index) => {
		const width = by - after;
		const share = width <= NARROW_SHARE * shortest ? 1 : width < shortest ? 0.75 : 0.5;
		return { at: after + share * width, weight: weights[index] as number };
	});
}

/** How far from a duration the nearest ones lie that make up a share of all: where many lie, near. */
function bandwidth(at: number, atoms: readonly Atom[]): number {
	const near = atoms
		.map((atom) => ({ distance: Math.abs(atom.at - at), weight: atom.weight }))
		.sort((one, other) => one.distance - other.distance);
	let share = 0;
	return near.find(({ weight }) => (share += weight) >= KERNEL_SHARE)?.distance ?? 0;
}

function planPolls(observations: readonly Observation[], pauses: Pauses): NextPoll {
	if (observations.length === 0) return () => undefined;
	// No poll comes before the shortest pause is over: it is all the same what happens until then.
	const { shortest } = pauses;
	const atoms = estimate(
		observations.map(({ after, by, seenAt }) => ({
			after: Math.max(after, 0.99 * shortest),
			by: Math.max(by, shortest),
			seenAt,
		})),
		shortest,
	);
	const lowest = Math.min(...atoms.map(({ at }) => at));
	const highest = Math.max(...atoms.map(({ at }) => at));
	const end = Math.max(1.5 * highest, highest + pauses.longest);
	const step = Math.max(STEP_MS, pauses.shortest / 20, end / MOST_STEPS);
	const size = Math.ceil(end / step);
	// By the rule of succession: something not seen before, around what was seen.
	const unseen = 1 / (observations.length + 1);
	const from = Math.floor((0.67 * lowest) / step);
	const mass = Array.from({ length: size + 1 }, (_, k) => (k > from ? unseen / (size - from) : 0));
	for (const { at, weight } of atoms) {
		const spread = Math.round(bandwidth(at, atoms) / step);
		const last = Math.ceil(at / step - 1e-6) + spread;
		for (let k = Math.max(1, last - 2 * spread); k <= last; k += 1) {
			(mass[Math.min(k, size)] as number) += ((1 - unseen) * weight) / (Math.min(last, 2 * spread + 1));
		}
	}
	const table = tableFor(mass, pauses, step, lowest);
	return (ageMs) => {
		const next = table[Math.round(ageMs / step)];
		return next === undefined || ageMs < 0 ? undefined : next * step;
	};
}

/** For each step of age the step of the next poll, at the lowest price that keeps to the usual number of polls. */
function tableFor(
	mass: number[],
	pauses: Pauses,
	step: number,
	lowest: number,
): Array<number | undefined> {
	const size = mass.length - 1;
	const finished: number[] = [];
	const moment: number[] = [];
	mass.forEach((share, k) => {
		finished[k] = (finished[k - 1] ?? 0) + share;
		moment[k] = (moment[k - 1] ?? 0) + share * k;
	});
	const openAt = (k: number): number => (k >= size ? 0 : Math.max(0, 1 - (finished[k] as number)));
	let usual = 0;
	for (let [age, polls] = [0, 0]; age < size * step; polls += 1) {
		usual += openAt(Math.floor(age / step));
		age += pauses.usual(polls) * 1.05;
	}
	const shortest = Math.ceil(pauses.shortest / step - 1e-6);
	const longest = Math.max(shortest, Math.floor(pauses.longest / step));
	// Among the durations that were seen the pauses are at most the usual ones.
	const within = Math.max(shortest, Math.floor((pauses.usual(9) * 1.05) / step));
	let next: Array<number | undefined> = [];
	for (const price of PRICES) {
		const cost = new Float64Array(size + 1);
		const polls = new Float64Array(size + 1);
		next = [];
		for (let k = size - 1; k >= 0; k -= 1) {
			const open = openAt(k);
			const most = k * step < lowest ? longest : within;
			let best = Infinity;
			let at = k + shortest;
			for (let to = k + shortest; to <= k + most; to += 1) {
				const until = Math.min(to, size);
				const found = (finished[until] as number) - (finished[k] as number);
				const delay = to * found - ((moment[until] as number) - (moment[k] as number));
				const total = delay + (cost[until] as number);
				if (total < best - 1e-12) [best, at] = [total, to];
			}
			cost[k] = best + (price / step) * open;
			polls[k] = open + (polls[Math.min(at, size)] as number);
			next[k] = at;
		}
		if ((polls[0] as number) <= usual) break;
	}
	return next;
}
