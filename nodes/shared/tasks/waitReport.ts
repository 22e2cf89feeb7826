import type { PollResult } from '../../../gateway/client/poller';
import type { Run } from '../run/runContext';

/** The interval between two messages. */
const INTERVAL_MS = 10_000;

/** Messages in the browser's console about the wait for the tasks of a run. */
export class WaitReport {
	private isRunning = false;

	/** When a poll last returned the status of a task, by the clock of the run. */
	private lastStatusAt: number;

	/** Why the latest poll returned none. */
	private reason?: string;

	/** @param count the number of tasks that are still open, and of all tasks so far */
	constructor(
		private readonly run: Pick<Run, 'clock' | 'browserConsole'>,
		private readonly count: () => { open: number; all: number },
	) {
		this.lastStatusAt = run.clock.now();
	}

	/** Adds the result of a poll. */
	note(result: PollResult): void {
		this.reason = result.kind === 'transient' ? result.error.message : undefined;
		if (this.reason === undefined) this.lastStatusAt = this.run.clock.now();
	}

	/** Logs a message when something has changed, until no task is open or the run has ended. */
	async begin(): Promise<void> {
		const { clock, browserConsole } = this.run;
		if (this.isRunning || !browserConsole.isOpen) return;
		this.isRunning = true;
		this.lastStatusAt = clock.now();
		let last = '';
		const isOver = async (): Promise<boolean> =>
			await clock.sleep(INTERVAL_MS).then(
				() => this.count().open === 0,
				() => true,
			);
		while (!(await isOver())) {
			const message = this.describe();
			if (message !== last) browserConsole.log(message);
			last = message;
		}
		this.isRunning = false;
	}

	private describe(): string {
		const { open, all } = this.count();
		const tasks = `${open} of ${all} ${all === 1 ? 'task' : 'tasks'} still open`;
		const silentMs = this.run.clock.now() - this.lastStatusAt;
		if (this.reason === undefined || silentMs < INTERVAL_MS) return tasks;
		return `${tasks}; no status from the gateway for ${Math.round(silentMs / 1000)} s: ${this.reason}`;
	}
}
