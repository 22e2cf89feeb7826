/** A duration: more than `after`, at most `by`, in milliseconds since the submit. */
export interface Observation {
	after: number;
	by: number;
}

/** Where some of the probability lies: in an interval, it is not known where. */
export interface Lump extends Observation {
	weight: number;
}

const ROUNDS = 30;

/**
 * Turnbull's estimator of a distribution from interval-censored observations (B. W. Turnbull, "The
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
	let weights = inner.map(() => 1 / inner.length);
	for (let round = 0; round < ROUNDS; round += 1) {
		const next = inner.map(() => 0);
		for (const indices of members) {
			const sum = indices.reduce((total, index) => total + (weights[index] as number), 0);
			for (const index of indices) {
				(next[index] as number) += (weights[index] as number) / sum / observations.length;
			}
		}
		weights = next;
	}
	return inner.map((each, index) => ({ ...each, weight: weights[index] as number }));
}
