import type { TaskRef } from '../../../gateway/protocol/task';
import { kindAt } from '../../../gateway/protocol/taskQueries';

/** The paths at which tasks of a run were found, by their kind. */
export class TaskPaths {
	private readonly found = new Map<TaskRef['taskType'], string>();

	private readonly firstPoll = new Map<TaskRef['taskType'], Promise<unknown>>();

	of({ taskType }: TaskRef): string | undefined {
		return this.found.get(taskType);
	}

	/** Records where a task was found. One of unknown kind doesn't tell where the next one is. */
	note({ taskType }: TaskRef, path: string | undefined): void {
		if (path === undefined || (taskType === undefined && kindAt(path) !== undefined)) return;
		this.found.set(taskType, path);
	}

	/**
	 * Polls the first task of a kind alone: it finds the path for all others.
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
		this.firstPoll.set(
			taskType,
			polling.catch(() => undefined),
		);
		return await polling;
	}
}
