import { isFinished, type StatusGroup } from '../protocol/status';

/** A task that is waited for: polled by how long earlier ones took, and remembered itself. Times in milliseconds, by one clock. */
export interface TrackedTask {
	/** The pause after a moment (the submit, a response); undefined where no earlier task took so long. */
	pauseFrom(from: number): number | undefined;
	/** A poll is sent. */
	pollSent(now: number): void;
	/** Its response told the status. */
	statusSeen(group: StatusGroup): void;
	/** Nobody waits for the task anymore. */
	end(): void;
}

/** The age at which a task was last seen open, and the one at which it was seen finished. */
interface Observation {
	openAt: number;
	finishedAt: number;
}

/** So many tasks are remembered. Of those that wait at a time no more are, or only the longest of a large batch would be. */
const REMEMBERED = 40;
/** A poll comes where this share of the tasks that took longer than the present age was finished. */
const SHARE = 0.1;
/** After the first tasks, one waiting task in so many narrows a duration down; of those that wait alone, every second one. */
const TASKS_PER_PROBE = 10;
/** Durations that differ by less, in milliseconds, count as the same. */
const EXACT_MS = 300;
/** A poll to see whether tasks became faster comes so many shortest pauses before the one that matters. */
const LEAD = 1.1;
/** After a pause of more shortest pauses, the poll came too late to tell the duration. */
const WIDEST = 2.5;

/** How long the last tasks of one model took, and when to poll the next ones because of it. */
export class Durations {
	private observations: Observation[] = [];
	/** How long each remembered task took at most, as far as all of them tell; ascending. */
	private durations: number[] = [];
	private begun = 0;
	private waiting = 0;
	private observed = 0;
	private probing = 0;

	/** Begins to wait for a task. @param pace its shortest pause, in milliseconds: longer the more tasks wait */
	track(submittedAt: number, pace: { readonly shortest: number }): TrackedTask {
		this.begun += 1;
		this.waiting += 1;
		const isTurn = this.begun % 2 === 0 && this.probing < this.waiting / TASKS_PER_PROBE;
		const isProbe = isTurn || this.begun <= 2 * REMEMBERED;
		const isObserved = this.observed < REMEMBERED;
		this.probing += Number(isProbe);
		this.observed += Number(isObserved);
		let [openAt, polledAt] = [0, 0];
		return {
			pauseFrom: (from) => this.pauseAt(from - submittedAt, pace.shortest, isProbe),
			pollSent: (now) => void (polledAt = now - submittedAt),
			statusSeen: (group) => {
				if (!isFinished(group)) openAt = polledAt;
				else if (isObserved) this.observe({ openAt, finishedAt: polledAt }, pace.shortest);
			},
			end: () => {
				this.waiting -= 1;
				this.probing -= Number(isProbe);
				this.observed -= Number(isObserved);
			},
		};
	}

	private observe(task: Observation, shortest: number): void {
		const ends = this.observations.map(({ finishedAt }) => finishedAt);
		const isWide = task.finishedAt - task.openAt > WIDEST * shortest;
		if (isWide && task.finishedAt > Math.max(0, ...ends)) return;
		// Two in a row that were faster than all before: the model has changed.
		const fastest = Math.min(...ends.slice(0, -1)) - EXACT_MS;
		const isFaster = Math.max(task.finishedAt, ends.at(-1) ?? 0) < fastest;
		const known = isFaster ? this.observations.slice(-1) : this.observations;
		this.observations = [...known, task].slice(-REMEMBERED);
		// A task that was polled sooner narrows down all that may have taken as long.
		const all = this.observations.map(({ finishedAt }) => finishedAt);
		this.durations = this.observations
			.map(({ openAt }) => Math.min(...all.filter((end) => end > openAt)))
			.sort((a, b) => a - b);
	}

	private pauseAt(age: number, shortest: number, isProbe: boolean): number | undefined {
		const longer = this.durations.filter((duration) => duration > age);
		const first = longer[Math.floor(SHARE * longer.length)];
		const last = longer[Math.ceil((1 - SHARE) * longer.length) - 1];
		if (first === undefined || last === undefined) return undefined;
		// What lies closer together than two polls is found soonest by one poll after it.
		const target = last - first < shortest ? last : first;
		const opens = this.observations.map(({ openAt }) => openAt).filter((at) => at < target);
		const open = Math.max(age, shortest, ...opens);
		const lead = target - LEAD * shortest;
		let next = lead < age + shortest ? target : lead;
		if (isProbe && target - open > EXACT_MS) next = (open + target) / 2;
		// Few tasks may have been exceptions.
		return Math.max(shortest, Math.min(next - age, (1 + longer.length) * shortest));
	}
}
