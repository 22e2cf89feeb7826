/** Of invariant 3: an error is that of its item. */
import type { Played, Step } from '../../execution/step.mjs';
import { COLLECT, MAKE } from '../../execution/workflow.mjs';
import { isRetry, type Item, type NodeRun } from '../evidence.mjs';
import { pathOf } from './held-images.mjs';

interface Details {
	taskId?: unknown;
	taskType?: unknown;
	url?: unknown;
	prompt?: unknown;
}

/** What a failed item says of its prompt. */
export function ofFailure({ json }: Item, given: Item, node: string, step: Step): string[] {
	const { prompt, taskId } = (json.details ?? {}) as Details;
	// A failed item of the node before has it in its details.
	const { prompt: asked = (given.json.details as Details | undefined)?.prompt } = given.json;
	const own = `${String(asked)}${node === MAKE ? step.edited : ''}`;
	// Whoever knows its task knows what it was about, but where it can't be prepared any more.
	const isFirst = node !== MAKE || (step.flow.tries === 1 && !isRetry(step));
	if (prompt === undefined && taskId !== undefined && isFirst)
		return ['its error does not tell its prompt'];
	if (prompt === undefined || prompt === own) return [];
	return [`its error says that its prompt is ${JSON.stringify(prompt)}`];
}

/** Which item an error of the whole node is about. */
export function ofError(
	{ service }: Played,
	{ node, error, input }: NodeRun,
	step: Step,
): string[] {
	const { itemIndex, details = {} } =
		(error as { context?: { itemIndex?: number; details?: Details } } | undefined)?.context ?? {};
	if (itemIndex === undefined || step.suspensions > 0) return [];
	const { taskId, taskType, url } = details;
	const { books } = service;
	const picture = books.pictures.get(pathOf(String(url ?? '')));
	const charge = picture?.charge ?? books.task(String(taskType), String(taskId))?.charge;
	const given = input[itemIndex]?.json;
	if (charge === undefined) return [];
	const isOwn =
		node === COLLECT
			? given?.taskId === charge.taskId
			: `${String(given?.prompt)}${step.edited}` === charge.prompt;
	return isOwn ? [] : [`the error of "${charge.prompt}" is said to be that of item ${itemIndex}`];
}
