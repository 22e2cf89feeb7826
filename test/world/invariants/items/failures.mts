/** Of invariant 3: an error is that of its item, and a task that has failed is not waited for again. */
import type { Played, Step } from '../../execution/step.mjs';
import { COLLECT, isTool, MAKE, nodesOf } from '../../execution/workflow.mjs';
import {
	hasArrived,
	isFailed,
	isRetry,
	isSpoilt,
	runsOf,
	type Item,
	type NodeRun,
} from '../evidence.mjs';
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
	const own = `${String(given.json.prompt)}${node === MAKE ? step.edited : ''}`;
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
	if (itemIndex === undefined || step.parks > 0 || isSpoilt(service)) return [];
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

/** Where one item has no prompt, nothing is sent for the others either, if one failure ends the node. */
export function sentInVain({ input, service }: Played, step: Step): string[] {
	const { flow, number, edited } = step;
	const isWhole = flow.onError === 'stopWorkflow' && !isTool(flow) && flow.make !== 'chat';
	const isBlank = input.some(({ prompt }) => `${String(prompt)}${edited}` === '');
	if (!isWhole || !isBlank || flow.make === 'models' || flow.make === 'nothing') return [];
	const sent = service.books.charges.find((charge) => charge.step === number);
	return sent === undefined ? [] : [`#${sent.number} was charged, though an item had no prompt`];
}

/** A person who retries gets a new task instead of one that has failed. */
export function failedBefore(played: Played, step: Step): string[] {
	const { number, flow } = step;
	const earlier = played.steps[number - 1];
	if (!isRetry(step) || earlier === undefined || isTool(flow) || nodesOf(flow).length > 1) {
		return [];
	}
	if (!['generation', 'edit'].includes(flow.make) || earlier.parks > 0) return [];
	const { requests } = played.service.books;
	return runsOf(earlier).flatMap(({ outputs, error }) => {
		const { details } = (error as { context?: { details?: Details } } | undefined)?.context ?? {};
		const all = [
			details,
			...outputs
				.flat()
				.filter(isFailed)
				.map(({ json }) => json.details),
		];
		return all.flatMap((one) => {
			const { taskId, taskType } = (one ?? {}) as Details;
			const polls = requests.filter(
				(request) =>
					request.call === 'poll' && request.taskId === taskId && request.kind === taskType,
			);
			const had = polls.findLast(({ step: of }) => of < number);
			const hasFailed = had?.meaning === 'failed' && hasArrived(had);
			// The new one may have the same ID, as the other kind of task or of another account; so may one
			// that is still waited for, and is looked for as this kind after a 404.
			const isAnother = requests.some(
				({ step: of, call, taskId: id, kind }) =>
					of === number &&
					id === taskId &&
					(call === 'submit' || (call === 'poll' && kind !== taskType)),
			);
			if (!hasFailed || isAnother || polls.every(({ step: of }) => of !== number)) return [];
			return [`act ${number} waits again for task ${String(taskId)}, which had failed`];
		});
	});
}
