import type { TaskRef } from '../../../gateway/protocol/task';
import { kindAt } from '../../../gateway/protocol/taskQueries';

/** The paths at which tasks of a run were found, by their kind. */
export class TaskPaths {
	private readonly found = new Map<TaskRef['taskType'], string>();

	private readonly firstSearch = new Map<TaskRef['taskType'], Promise<unknown>>();

	of({ taskType }: TaskRef): string | undefined {
		return this.found.get(taskType);
	}

	/** Records where a task was found. One of unknown kind doesn't tell where the next one is. */
	note({ taskType }: TaskRef, path: string | undefined): void {
		if (path === undefined || (taskType === undefined && kindAt(path) !== undefined)) return;
		this.found.set(taskType, path);
	}

	/** Looks for a task after the first search for one of its kind, which may have found the path. */
	async inTurn<T>({ taskType }: TaskRef, search: () => Promise<T>): Promise<T> {
		const first = this.firstSearch.get(taskType);
		await first;
		const searching = search();
		if (first === undefined) {
			this.firstSearch.set(
				taskType,
				searching.catch(() => undefined),
			);
		}
		return await searching;
	}
}
