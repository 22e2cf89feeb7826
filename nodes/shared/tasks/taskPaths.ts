import type { Clock } from '../../../gateway/util/clock';
import type { TaskRef } from '../../../gateway/protocol/task';
import { kindAt } from '../../../gateway/protocol/taskQueries';

/** How long the other tasks of a kind wait for the first one's path, in milliseconds. */
const LONGEST_TURN_MS = 10_000;

/** The paths at which tasks of a run were found, by their kind. */
export class TaskPaths {
	private readonly found = new Map<TaskRef['taskType'], string>();

	private readonly firstPoll = new Map<TaskRef['taskType'], Promise<unknown>>();

	constructor(private readonly clock: Clock) {}

	of({ taskType }: TaskRef): string | undefined {
		return this.found.get(taskType);
	}

	/** Records where a task was found. One of unknown kind doesn't tell where the next one is. */
	note({ taskType }: TaskRef, path: string | undefined): void {
		if (path === undefined || (taskType === undefined && kindAt(path) !== undefined)) return;
		this.found.set(taskType, path);
	}

	/**
	 * Polls the first task of a kind alone: it finds the path for all others, which wait for it, but
	 * not for a response that doesn't come.
	 *
	 * @param poll told whether it is the first
	 */
	async inTurn<T>({ taskType }: TaskRef, poll: (isFirst: boolean) => Promise<T>): Promise<T> {
		const first = this.firstPoll.get(taskType);
		if (first !== undefined) {
			await first;
			return await poll(false);
		}
		const polling = poll(true);
		const turn = Promise.race([polling, this.clock.sleep(LONGEST_TURN_MS)]);
		this.firstPoll.set(
			taskType,
			turn.catch(() => undefined),
		);
		return await polling;
	}
}
