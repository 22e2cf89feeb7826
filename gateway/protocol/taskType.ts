/** The kinds of image task, with the endpoint below which each has its tasks (docs/protocol.md, "Endpoints"). */
export const TASK_PATHS = {
	generation: '/v1/images/generations',
	edit: '/v1/images/edits',
};

export type TaskType = keyof typeof TASK_PATHS;

export const TASK_TYPES = Object.keys(TASK_PATHS) as TaskType[];
