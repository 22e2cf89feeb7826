import type { Clock } from '../protocol/clock';
import { type Task, taskKey } from '../responses/task';
import { isUnique, kindAt } from './taskQueries';

/** How long the other tasks of a kind wait for the first one's path, in milliseconds. */
const LONGEST_TURN_MS = 10_000;

/** The tasks of a run: their IDs, and the paths at which they were found, by their kind. */
export class TasksOfRun {
	readonly ids = new Set<string>();

	private readonly keys = new Set<string>();

	readonly paths = new Map<Task['taskType'], string>();

	private readonly firstPolls = new Map<Task['taskType'], Promise<unknown>>();

	constructor(private readonly clock: Clock) {}

	/** Adds a task that the run polls. */
	add(task: Task): void {
		this.ids.add(task.taskId);
		this.keys.add(taskKey(task));
	}

	/** Whether another task of the run, of the other kind and with the same ID, is at a path. */
	isOther({ taskId, taskType }: Task, path: string | undefined): boolean {
		const kind = kindAt(path);
		if (kind === undefined || taskType === undefined || kind === taskType) return false;
		return this.keys.has(taskKey({ taskId, taskType: kind }));
	}

	/** Records where a task was found, if that tells where the next one of its kind is. */
	note(task: Task, path: string | undefined): void {
		if (path !== undefined && isUnique(task, path)) this.paths.set(task.taskType, path);
	}

	/**
	 * Polls the first task of a kind alone: it finds the path for all others, which wait for it, but
	 * not for a response that doesn't come.
	 */
	async inTurn<T>({ taskType }: Task, poll: () => Promise<T>): Promise<T> {
		const first = this.firstPolls.get(taskType);
		if (first !== undefined) return await first.then(poll);
		const polling = poll();
		const turn = Promise.race([polling, this.clock.sleep(LONGEST_TURN_MS)]);
		// Without its result, which may contain images.
		const isOver = (): undefined => undefined;
		this.firstPolls.set(taskType, turn.then(isOver, isOver));
		return await polling;
	}
}
