import type { PollResult } from '../../../gateway/client/poller';
import type { Run } from '../run/runContext';

/** How often whoever watches is told how the wait gets on, in milliseconds. */
const SAY_EVERY_MS = 10_000;

/** Tells whoever watches how the wait for the tasks of a run gets on. */
export class WaitReport {
	private isOn = false;

	/** When a poll last told the status of a task, by the clock of the run. */
	private heardAt: number;

	/** Why the latest poll told none. */
	private reason?: string;

	/** @param count how many tasks are still open, of all that have been waited for */
	constructor(
		private readonly run: Pick<Run, 'clock' | 'watcher'>,
		private readonly count: () => { open: number; all: number },
	) {
		this.heardAt = run.clock.now();
	}

	/** Takes note of what a poll brought. */
	note(result: PollResult): void {
		this.reason = result.kind === 'passing' ? result.error.message : undefined;
		if (this.reason === undefined) this.heardAt = this.run.clock.now();
	}

	/** Reports what is new until no task is open any more, or the run has ended. */
	async begin(): Promise<void> {
		const { clock, watcher } = this.run;
		if (this.isOn || !watcher.isWatching) return;
		this.isOn = true;
		this.heardAt = clock.now();
		let said = '';
		const isOver = async (): Promise<boolean> =>
			await clock.sleep(SAY_EVERY_MS).then(
				() => this.count().open === 0,
				() => true,
			);
		while (!(await isOver())) {
			const message = this.describe();
			if (message !== said) watcher.say(message);
			said = message;
		}
		this.isOn = false;
	}

	private describe(): string {
		const { open, all } = this.count();
		const tasks = `${open} of ${all} ${all === 1 ? 'task' : 'tasks'} still open`;
		const silentMs = this.run.clock.now() - this.heardAt;
		if (this.reason === undefined || silentMs < SAY_EVERY_MS) return tasks;
		return `${tasks}; no status from the gateway for ${Math.round(silentMs / 1000)} s: ${this.reason}`;
	}
}
