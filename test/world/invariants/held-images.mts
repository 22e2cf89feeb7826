/** Of invariant 3: which image an item holds, and by which output it leaves. */
import type { Played, Step } from '../execution/step.mjs';
import { COLLECT, survives } from '../execution/workflow.mjs';
import type { Flow } from '../plan/world.mjs';
import { pathIn } from '../service/one-pixel-pictures.mjs';
import { isFailed, type Item, type NodeRun } from './evidence.mjs';

/** The same by whichever host and prefix. */
export const pathOf = (url: string): string => url.slice(Math.max(0, url.indexOf('/pictures/')));

/** Which picture an item holds: by its address, or by its bytes where it has none. */
export function pictureIn({ json, binary }: Item): string | undefined {
	if (typeof json.url === 'string') return pathOf(json.url);
	const data = binary?.data?.data;
	return data === undefined ? undefined : pathIn(Buffer.from(data, 'base64'));
}

export function urlsIn(images: unknown): string[] {
	const list = Array.isArray(images) ? (images as Array<{ url?: unknown }>) : [];
	return list.flatMap(({ url }) => (typeof url === 'string' ? url : []));
}

export function ofFile({ json, binary }: Item, { download }: Flow): string | undefined {
	if (typeof json.url !== 'string') return undefined;
	const data = binary?.data?.data;
	if (data === undefined) return download ? 'it has no file' : undefined;
	const path = pathIn(Buffer.from(data, 'base64'));
	return path === pathOf(json.url)
		? undefined
		: `its file is ${path ?? 'no picture'}, not ${json.url}`;
}

/** Of Image Wait's two outputs: what has finished leaves by the first one, what is open by the second. */
export function ofOutputs(
	{ service }: Played,
	{ node, outputs, endedAt }: NodeRun,
	step: Step,
): string[] {
	const { flow, parks } = step;
	const hasTwo = flow.options.onTimeout === 'output' && flow.collect === 'imageWait';
	if (node !== COLLECT || !hasTwo || survives(flow) || parks > 0) return [];
	const [finished = [], open = []] = outputs.map((items) => items.filter((one) => !isFailed(one)));
	const isOver = ({ json }: Item): boolean => {
		const last = service.books.requests.findLast(
			({ call, taskId, kind, at }) =>
				call === 'poll' && taskId === json.taskId && kind === json.taskType && at <= endedAt,
		);
		// A late response may have come after the deadline.
		const isInTime = !/, (late|byte by byte)/.test(last?.fate ?? '');
		return last?.meaning === 'success' && last.status === 200 && isInTime;
	};
	return [
		...(finished.some((item) => pictureIn(item) === undefined)
			? ['an item without an image left by the output of what has finished']
			: []),
		...(open.some((item) => pictureIn(item) !== undefined || isOver(item))
			? ['a task that has finished left by the output of what is open']
			: []),
	];
}
