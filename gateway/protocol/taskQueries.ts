import { planGet, TASK_PATHS, taskIdPart, type RequestPlan, type TaskType } from './requestPlan';
import type { TaskRef } from './task';
import { parseUrl, pathBelow } from './url';

/** The paths of tasks of both kinds at other gateways (docs/protocol.md, "Where a task is polled"). */
const OTHER_PATHS = ['/v1/images/tasks', '/v1/tasks'];

/** The most addresses at which a task is looked for. */
const MOST_QUERIES = 4;

/** In characters: a longer address isn't followed. */
const LONGEST_ADDRESS = 2000;

/**
 * Plans the queries for a task, in the order in which they are tried: at the task's own address if
 * it is at the gateway, then at the path of its kind, of the other kind, and of other gateways.
 *
 * @param home the gateway's address
 * @param knownPath the path at which other tasks of its kind were found
 * @throws GatewayError if the ID would lead to another path
 */
export function planTaskQueries(task: TaskRef, home: string, knownPath?: string): RequestPlan[] {
	const { taskId, taskType = 'generation', statusUrl } = task;
	const id = taskIdPart(taskId, task.taskType);
	const folders = [TASK_PATHS[taskType], ...Object.values(TASK_PATHS), ...OTHER_PATHS];
	const known = knownPath === undefined ? folders : [knownPath, ...folders];
	const paths = [pathAtGateway(statusUrl, home) ?? [], known.map((path) => `${path}/${id}`)].flat();
	return [...new Set(paths)].slice(0, MOST_QUERIES).map((path) => planGet('poll', path));
}

/**
 * The path and query of an address below the gateway's; undefined for any other address, which must
 * not get the key.
 *
 * @param address absolute or relative, from a response or an input item
 */
export function pathAtGateway(address: string | undefined, home: string): string | undefined {
	if (address === undefined || address.length > LONGEST_ADDRESS) return undefined;
	// The protocol's paths lie below the gateway's address, which may have a path itself.
	const url = parseUrl(address.startsWith('/v1/') ? home + address : address, `${home}/`);
	const path = url && pathBelow(url.href, home);
	return path === undefined || path === '' ? undefined : path + url?.search;
}

/** With fewer letters and digits, an ID may be a number counted for each kind of task. */
const FEWEST_UNIQUE = 12;

/** Whether a generation and an edit can both have this ID. */
export const mayBeCounted = (taskId: string): boolean =>
	taskId.length < LONGEST_ADDRESS && taskId.replace(/[^\p{L}\p{N}]/gu, '').length < FEWEST_UNIQUE;

/** The path at which a query found its task, without the ID; undefined for an address of its own. */
export function folderOf({ path }: RequestPlan): string | undefined {
	const folder = path.slice(0, path.lastIndexOf('/'));
	return [...Object.values(TASK_PATHS), ...OTHER_PATHS].find((known) => known === folder);
}

/** The kind of a task that was found at a path; undefined where the path doesn't tell. */
export const kindAt = (folder: string | undefined): TaskType | undefined =>
	(Object.keys(TASK_PATHS) as TaskType[]).find((kind) => TASK_PATHS[kind] === folder);
