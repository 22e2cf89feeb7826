/** One discrete-event clock for the node, the engine and the gateway: time passes from event to event. */

interface Timer {
	id: number;
	at: number;
	callback: () => void;
	/** What a process leaves behind when it is killed: only its own timers go with it. */
	owner: 'process' | 'gateway';
	/** Does not keep the process alive, as `AbortSignal.timeout`. */
	weak: boolean;
}

export interface RunUntil {
	done: () => boolean;
	/** Milliseconds of virtual time; beyond it the run counts as endless. */
	deadline: number;
	/** Waits until nothing can happen any more without time passing. */
	settle: () => Promise<void>;
}

/** How a stretch of time ended. */
export type Ended = 'done' | 'deadlock' | 'deadline';

export class VirtualClock {
	/** Milliseconds since 1970, always whole. */
	now = 0;

	/** In the order in which they fire; those of one moment in that in which they were set. */
	private readonly timers: Timer[] = [];
	private readonly alive = new Map<number, Timer>();
	private nextId = 1;
	private isKilled = false;

	/** @returns an id for `cancel` */
	schedule(
		ms: number,
		callback: () => void,
		owner: Timer['owner'] = 'process',
		weak = false,
	): number {
		// As Node.js: whole milliseconds, at least one, and what does not fit fires at once.
		const after = ms >= 1 && ms <= 2 ** 31 - 1 ? Math.trunc(ms) : 1;
		const id = this.nextId++;
		const timer = { id, at: this.now + after, callback, owner, weak };
		if (owner === 'process' && this.isKilled) return timer.id;
		this.alive.set(timer.id, timer);
		this.push(timer);
		return timer.id;
	}

	cancel(id: number): void {
		this.alive.delete(id);
	}

	/** How many timers of the process would keep it alive. */
	get pending(): number {
		return [...this.alive.values()].filter(({ owner, weak }) => owner === 'process' && !weak)
			.length;
	}

	/** The process is killed, in the middle of what it does: what it still sets never fires either. */
	kill(): void {
		this.forget('process');
		this.isKilled = true;
	}

	/** Another process begins. */
	begin(): void {
		this.isKilled = false;
	}

	/** A world begins: the timers of the one before never fire. */
	forget(owner?: Timer['owner']): void {
		for (const timer of this.alive.values()) {
			if (owner === undefined || timer.owner === owner) this.alive.delete(timer.id);
		}
	}

	/** Lets time pass from event to event. */
	async run({ done, deadline, settle }: RunUntil): Promise<Ended> {
		for (;;) {
			await settle();
			if (done()) return 'done';
			const timer = this.pop();
			if (timer === undefined) return 'deadlock';
			if (timer.at > deadline) {
				this.push(timer);
				return 'deadline';
			}
			this.now = Math.max(this.now, timer.at);
			this.alive.delete(timer.id);
			timer.callback();
		}
	}

	private push(timer: Timer): void {
		const before = this.timers.findLastIndex(({ at }) => at <= timer.at);
		this.timers.splice(before + 1, 0, timer);
	}

	/** The next timer that was not cancelled. */
	private pop(): Timer | undefined {
		for (;;) {
			const first = this.timers.shift();
			if (first === undefined || this.alive.has(first.id)) return first;
		}
	}
}
