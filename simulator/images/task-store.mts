import { randomBytes } from 'node:crypto';
import type { GatewayOptions } from '../gateway-options.mjs';
import { promptDirectives } from './prompt-directives.mjs';
import { seeded } from '../seed.mjs';

export type TaskKind = 'generation' | 'edit';

export interface Task {
	id: string;
	kind: TaskKind;
	account: string;
	model: string;
	prompt: string;
	/** Paths of its pictures. */
	images: string[];
	/** Milliseconds since the epoch. */
	createdAt: number;
	/** Milliseconds until it settles. */
	lifetime: number;
	/** The spelling it ends with. */
	final: string;
}

const kept = 200_000;
const defaultStatuses = ['queued', 'processing'];

/**
 * The asynchronous tasks. A task's status follows from its age: no timer, so that ten thousand of
 * them cost nothing.
 */
export class TaskStore {
	private readonly tasks = new Map<string, Task>();
	private readonly random = seeded(7);

	constructor(
		private readonly options: GatewayOptions,
		private readonly now: () => number,
	) {}

	/** Accepts a task; what its prompt asks for in brackets overrides the options. */
	add(fields: Pick<Task, 'kind' | 'account' | 'model' | 'prompt' | 'images'>): Task {
		const directives = promptDirectives(fields.prompt);
		const task: Task = {
			...fields,
			images: directives.empty ? [] : fields.images,
			id: `task_${randomBytes(12).toString('hex')}`,
			createdAt: this.now(),
			lifetime: 1000 * (directives.seconds ?? this.lifetimeSeconds()),
			final: directives.final ?? this.options.finalStatus ?? 'completed',
		};
		this.tasks.set(task.id, task);
		if (this.tasks.size > kept) this.tasks.delete(this.tasks.keys().next().value!);
		return task;
	}

	get(id: string): Task | undefined {
		return this.tasks.get(id);
	}

	/** Whether its time is over: whatever it has become, it stays. */
	settled(task: Task): boolean {
		return this.now() - task.createdAt >= task.lifetime;
	}

	/** The spelling of its status at this moment (docs/protocol.md, "Task states"). */
	status(task: Task, settled = this.settled(task)): string {
		if (settled) return task.final;
		const open = this.options.statuses?.length ? this.options.statuses : defaultStatuses;
		const share = Math.max(0, this.now() - task.createdAt) / task.lifetime;
		return open[Math.floor(share * open.length)] ?? open.at(-1)!;
	}

	reset(): void {
		this.tasks.clear();
	}

	private lifetimeSeconds(): number {
		const seconds = this.options.taskSeconds ?? 3;
		if (typeof seconds === 'number') return seconds;
		return seconds[0] + (seconds[1] - seconds[0]) * this.random();
	}
}

/** How a status is meant, whatever its case and the blanks around it. */
export function outcome(status: string): 'success' | 'failed' | 'cancelled' | 'open' {
	const word = status.trim().toLowerCase();
	if (['completed', 'succeeded', 'success'].includes(word)) return 'success';
	return word === 'failed' || word === 'cancelled' ? word : 'open';
}
