import { ERASED } from '../../util/keyEraser';
import { LruMap } from '../../util/lruMap';
import { planGet, taskIdPart, type FreePlan, type RequestPlan } from '../protocol/requestPlan';
import { TASK_PATHS, TASK_TYPES, type TaskType } from '../protocol/taskType';
import type { Task } from '../responses/task';
import { LONGEST_ADDRESS, pathAtGateway } from '../protocol/url';

/**
 * The paths of tasks of any kind at other gateways (docs/protocol.md, "Where a task is polled").
 */
const SHARED_PATHS = ['/v1/images/tasks', '/v1/tasks'];
const ALL_PATHS = [...Object.values(TASK_PATHS), ...SHARED_PATHS];

/**
 * A query for a task, and why there: at an address named for it, where its kind is, or elsewhere.
 */
export interface TaskQuery {
	plan: FreePlan;
	where: 'named' | 'usual' | 'other';
}

/**
 * Plans the queries for a task, in the order in which they are tried: at the task's own address if
 * it is at the gateway, at the path of its kind, then at those of the other kinds and of other
 * gateways. Once the run knows where tasks of its kind are, one that isn't there may not be visible
 * yet, and is looked for elsewhere only before it is given up.
 *
 * @param home the gateway's address
 * @param foundPath the path at which other tasks of its kind were found
 * @param isLast whether the task is given up if it isn't found now
 * @throws GatewayError if the ID would lead to another path
 */
export function planTaskQueries(
	task: Task,
	home: string,
	foundPath?: string,
	isLast = false,
): TaskQuery[] {
	const id = taskIdPart(task.taskId, task.taskType);
	const { taskType, statusUrl } = task;
	const ofKind = taskType === undefined ? Object.values(TASK_PATHS) : [TASK_PATHS[taskType]];
	const isSafe = (path: string) => taskType === undefined || isLast || isUnique(task, path);
	const others = foundPath === undefined || isLast ? ALL_PATHS.filter(isSafe) : [];
	const named = pathAtGateway(statusUrl, home);
	const folders = [foundPath ?? [], ofKind, others].flat();
	const [usual, ...more] = folders.map((path) => `${path}/${id}`);
	const paths = [named ?? usual, usual, ...more].filter((path) => path !== undefined);
	const whereIs = (path: string) => (path === usual ? 'usual' : path === named ? 'named' : 'other');
	return [...new Set(paths)].map((path) => ({ plan: planGet('poll', path), where: whereIs(path) }));
}

/**
 * The address of a task from an item, in which the key that the gateway wrote into it was erased. It is
 * only followed at the gateway.
 */
export function withKeyAgain(address: string | undefined, key: string): string | undefined {
	const [path = '', query] = (address ?? '').split(/(\?.*)/s);
	const inQuery = query?.replaceAll(ERASED, () => encodeURIComponent(key)) ?? '';
	return address && path.replaceAll(ERASED, () => key) + inQuery;
}

/** With fewer letters and digits, an ID may be a number counted for each kind of task. */
const FEWEST_UNIQUE = 12;

/**
 * Whether what is found at a path is the task, and tells where the next one of its kind is: not at
 * the path of another kind, where another task may have the same short ID.
 */
export function isUnique({ taskId, taskType }: Task, path: string): boolean {
	const kind = kindAt(path);
	if (kind === undefined || kind === taskType) return true;
	const letters = taskId.slice(0, LONGEST_ADDRESS).replace(/[^\p{L}\p{N}]/gu, '');
	return taskType !== undefined && letters.length >= FEWEST_UNIQUE;
}

/**
 * The path at which a query found its task, without the ID; undefined for an address of its own.
 */
export function folderOf({ path }: RequestPlan): string | undefined {
	const folder = path.slice(0, path.lastIndexOf('/'));
	return ALL_PATHS.find((one) => one === folder);
}

/** The kind of a task that was found at a path; undefined where the path doesn't tell. */
export const kindAt = (path: string | undefined): TaskType | undefined =>
	TASK_TYPES.find((kind) => TASK_PATHS[kind] === path);

/** More tasks than a run has at a time: a gateway that is kept for long forgets the oldest. */
const MOST_TASKS = 20_000;

/** The tasks of a run: the kinds of each ID, and the paths at which they were found, by their kind. */
export class TasksOfRun {
	readonly kinds = new LruMap<string, Set<Task['taskType']>>(MOST_TASKS);

	readonly paths = new Map<Task['taskType'], string>();

	/** Adds a task that the run polls. */
	add({ taskId, taskType }: Task): void {
		this.kinds.set(taskId, (this.kinds.get(taskId) ?? new Set()).add(taskType));
	}

	/** Whether another task of the run, of another kind and with the same ID, is at a path. */
	isOther({ taskId, taskType }: Task, path: string | undefined): boolean {
		const kind = kindAt(path);
		if (kind === undefined || taskType === undefined || kind === taskType) return false;
		return this.kinds.get(taskId)?.has(kind) === true;
	}

	/** Records where a task was found, if that tells where the next one of its kind is. */
	foundAt(task: Task, path: string | undefined): void {
		if (path !== undefined && isUnique(task, path)) this.paths.set(task.taskType, path);
	}
}
