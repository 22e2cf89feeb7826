/** A duration: more than `after`, at most `by`, in milliseconds since the submit. */
export interface Interval {
	after: number;
	/** Infinity for a task that is still open (censored on the right). */
	by: number;
}

export interface Observation extends Interval {
	/** Of how many tasks. */
	count: number;
}

/** Where some of the probability lies: in an interval, it is not known where. */
export interface Lump extends Interval {
	weight: number;
}

const ROUNDS = 30;

/**
 * Turnbull's estimator of a distribution from censored observations (B. W. Turnbull, "The
 * empirical distribution function with arbitrarily grouped, censored and truncated data", J. R.
 * Statist. Soc. B 38, 1976): the probability lies where the intervals overlap most, with weights
 * by expectation maximization. Where durations are known exactly it is the Kaplan-Meier estimator.
 *
 * @returns the innermost intervals in ascending order; the weights add up to 1
 */
export function estimateDurations(observations: readonly Observation[]): Lump[] {
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
	const total = observations.reduce((sum, { count }) => sum + count, 0);
	let weights = inner.map(() => 1 / inner.length);
	for (let round = 0; round < ROUNDS; round += 1) {
		const next = inner.map(() => 0);
		for (const [nth, indices] of members.entries()) {
			const sum = indices.reduce((share, index) => share + (weights[index] as number), 0);
			const count = (observations[nth] as Observation).count / total;
			for (const index of indices) {
				(next[index] as number) += (count * (weights[index] as number)) / sum;
			}
		}
		weights = next;
	}
	return inner.map((each, index) => ({ ...each, weight: weights[index] as number }));
}
