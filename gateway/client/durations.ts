import type { StatusGroup } from '../protocol/status';
import { isExplorable, planPolls, type NextPoll, type Pauses } from './pollPlan';
import { estimateDurations, type Interval, type Lump, type Observation } from './survival';

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

/** A task that is waited for, and that learns from others like it and teaches them. Times as those of a `Clock`. */
export interface TrackedTask {
	/** The pause that follows a moment, in milliseconds; undefined where nothing is known. */
	pauseFrom(from: number): number | undefined;
	/** A poll goes out. */
	pollSent(now: number): void;
	/** It has told the status. Only a success tells a duration: a failure says nothing of the others. */
	statusSeen(group: StatusGroup, now: number): void;
	/** Nobody waits for it any more. */
	end(): void;
}

interface Dated extends Interval {
	seenAt: number;
}

/** What was seen longer ago is forgotten, and of more than these the oldest. */
const MOST_OBSERVATIONS = 60;
const LONGEST_MEMORY_MS = 6 * 3_600_000;
/** So many tasks among the shortest or longest tenth of those before: the model has changed. */
const CHANGE_RUN = 4;
const CHANGE_SHARE = 0.1;
/** One task in so many explores, and no more than so many at a time. */
const TASKS_PER_EXPLORER = 25;
const MOST_EXPLORERS = 4;
/** Of the tasks that wait alone, one in so many explores where a wrong guess costs more than a right one gains at once. */
const BOLD_EVERY = 2;
/** An interval so many times the longest pause is no result of ordinary polls, and tells nothing. */
const WIDEST = 1.5;
/** A plan is made anew once so large a share of the observations is new, and no sooner than this. */
const NEW_SHARE = 0.1;
const REPLAN_MS = 500;
/** Of more kinds of pauses than these, the plans that were not used for longest are forgotten. */
const MOST_PLANS = 8;
/** The ages of open tasks are rounded down to this: a few groups stand for thousands of tasks. */
const OPEN_STEP_MS = 500;
/** A response that comes so soon says how things stood when it was asked for; a later one may have waited anywhere. */
const PROMPT_MS = 1000;

interface OpenTask {
	submittedAt: number;
	/** When it was last seen open. */
	openAt: number;
}

interface Plans {
	madeAt: number;
	/** How much had been seen by then. */
	seen: number;
	lumps: Lump[];
	/** Whether explorers poll elsewhere than others. */
	isExplorable: boolean;
	byPlace: Map<number, NextPoll>;
}

/** What is known of how long one kind of task takes: shared by all that are waited for, and by later ones. */
export class Durations {
	private observations: Dated[] = [];
	/** How many of the last tasks have failed. */
	private failed = 0;
	/** Grows with every observation. */
	private seen = 0;
	private begun = 0;
	private readonly waiting = new Set<OpenTask>();
	private readonly explorers = new Set<number>();
	/**
	 * By what the pauses are chosen from: runs side by side, of different intervals and numbers of tasks,
	 * would otherwise make the plan anew with every poll, for milliseconds each.
	 */
	private readonly plans = new Map<string, Plans>();

	/**
	 * Begins to wait for a task. The first, and then one in so many, explores: where a duration is
	 * only known to lie between two polls, it is polled between them.
	 *
	 * @param submittedAt on the same clock as all other times here
	 * @param pauses what its pauses are chosen from
	 */
	track(submittedAt: number, pauses: Pauses): TrackedTask {
		const most = Math.min(MOST_EXPLORERS, Math.ceil((this.waiting.size + 1) / TASKS_PER_EXPLORER));
		let explorer = 1;
		while (this.explorers.has(explorer)) explorer += 1;
		if (explorer <= most) this.explorers.add(explorer);
		// One after another, not each of them: a wrong guess is what somebody waits for.
		this.begun += 1;
		const isBold = explorer > 1 || this.begun % BOLD_EVERY === 0;
		const place = explorer > most ? 0 : isBold ? explorer + 1 : 1;
		const task: OpenTask = { submittedAt, openAt: submittedAt };
		this.waiting.add(task);
		let sentAt = submittedAt;
		return {
			pauseFrom: (from) => {
				const next = this.plan(pauses, from, place)(from - submittedAt);
				if (next === undefined) return undefined;
				const { shortest, longest } = pauses;
				return Math.min(longest, Math.max(shortest, next + submittedAt - from));
			},
			pollSent: (now) => {
				sentAt = now;
			},
			statusSeen: (group, now) => {
				if (group === 'success') {
					// Until the plan is made anew, the next explorer would guess the same.
					const isExplored = this.plans.get(keyOf(pauses))?.isExplorable === true;
					if (place > 0 && isExplored) this.seen += MOST_OBSERVATIONS;
					const by = now - sentAt <= PROMPT_MS ? sentAt : now;
					this.observe(task.openAt - submittedAt, by - submittedAt, WIDEST * pauses.longest, now);
				} else if (group === 'unsuccessful') this.noteFailure();
				else task.openAt = sentAt;
			},
			end: () => {
				if (this.waiting.delete(task) && place > 0) this.explorers.delete(explorer);
			},
		};
	}

	private noteFailure(): void {
		this.failed = Math.min(MOST_OBSERVATIONS, this.failed + 1);
	}

	private observe(after: number, by: number, widest: number, now: number): void {
		if (!(after >= 0 && by > after && by - after <= widest)) return;
		const { observations } = this;
		observations.push({ after, by, seenAt: now });
		if (observations.length > MOST_OBSERVATIONS) observations.shift();
		const since = changedAt(observations, this.waiting.size - 1);
		if (since !== undefined) {
			this.observations = observations.filter(({ seenAt }) => seenAt > since);
		}
		this.failed *= 1 - 1 / MOST_OBSERVATIONS;
		this.seen += 1;
	}

	private plan(pauses: Pauses, now: number, place: number): NextPoll {
		const key = keyOf(pauses);
		const known = this.plans.get(key);
		const isKept =
			known !== undefined &&
			(this.seen - known.seen < this.observations.length * NEW_SHARE ||
				now < known.madeAt + REPLAN_MS);
		const current = isKept ? known : this.estimate(now, pauses);
		this.plans.delete(key);
		this.plans.set(key, current);
		const [oldest] = this.plans.keys();
		if (this.plans.size > MOST_PLANS && oldest !== undefined) this.plans.delete(oldest);
		const used = current.isExplorable ? place : 0;
		const next =
			current.byPlace.get(used) ??
			planPolls(current.lumps, this.observations.length, pauses, used, this.failed);
		current.byPlace.set(used, next);
		return next;
	}

	private estimate(now: number, pauses: Pauses): Plans {
		this.observations = this.observations.filter(({ seenAt }) => seenAt > now - LONGEST_MEMORY_MS);
		const seen: Observation[] = this.observations.map((each) => ({ ...each, count: 1 }));
		// Tasks that are still open count as well, else a batch would seem to take what its first tasks took.
		const stillOpen = new Map<number, number>();
		for (const { submittedAt, openAt } of this.waiting) {
			const age = Math.floor((openAt - submittedAt) / OPEN_STEP_MS) * OPEN_STEP_MS;
			if (age > 0) stillOpen.set(age, (stillOpen.get(age) ?? 0) + 1);
		}
		for (const [after, count] of stillOpen) seen.push({ after, by: Infinity, count });
		const lumps = estimateDurations(seen);
		return {
			madeAt: now,
			seen: this.seen,
			lumps,
			isExplorable: isExplorable(lumps, pauses),
			byPlace: new Map(),
		};
	}
}

/** The usual pauses change with each task that finishes: not every change is worth a new plan. */
const keyOf = ({ shortest, longest, usual }: Pauses): string =>
	[shortest, longest, 500 * Math.ceil(usual(0, 1) / 500)].join(' ');

const middleOf = ({ after, by }: Interval): number => (after + by) / 2;
const submittedAt = ({ seenAt, by }: Dated): number => seenAt - by;

/**
 * Since when tasks take another time than before: at least half of those submitted since were seen
 * finished sooner, or open later, than all but a tenth of those that had finished by then. That the
 * middle of an interval lies elsewhere is no sign: polls at other times do that too. Those still open count
 * against it: of tasks submitted together the shortest are the first to finish.
 *
 * @returns what was seen until then is out of date; undefined if nothing has changed
 */
function changedAt(observations: readonly Dated[], open: number): number | undefined {
	const starts = observations.map(submittedAt).sort((one, other) => other - one);
	const since = starts[CHANGE_RUN - 1] ?? 0;
	const before = observations.filter(({ seenAt }) => seenAt <= since).map(middleOf);
	if (before.length < CHANGE_RUN) return undefined;
	before.sort((one, other) => one - other);
	const rank = Math.floor(before.length * CHANGE_SHARE);
	const low = before[rank] as number;
	const high = before[before.length - 1 - rank] as number;
	const recent = observations.filter((each) => submittedAt(each) >= since);
	const fewest = Math.max(CHANGE_RUN, (recent.length + open) / 2);
	const isFaster = recent.filter(({ by }) => by < low).length >= fewest;
	const isSlower = recent.filter(({ after }) => after > high).length >= fewest;
	return isFaster || isSlower ? since : undefined;
}
