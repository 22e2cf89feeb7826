/** Of invariant 3: which image an item holds. */
import type { Played } from '../../execution/step.mjs';
import type { Flow } from '../../plan/world.mjs';
import { pathIn } from '../../service/one-pixel-pictures.mjs';
import type { Item, NodeRun } from '../evidence.mjs';

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

export function ofFile({ json, binary }: Item, flow: Flow): string | undefined {
	const { download } = flow;
	// Image Task gives one item for all images of a task.
	const urls = typeof json.url === 'string' ? [json.url] : urlsIn(json.images);
	const wrong = urls.flatMap((url, index): string[] => {
		const { data, mimeType, fileName } = binary?.[index === 0 ? 'data' : `data_${index}`] ?? {};
		if (data === undefined) return download ? [`it has no file ${index}`] : [];
		const path = pathIn(Buffer.from(data, 'base64'));
		if (path !== pathOf(url)) return [`its file is ${path ?? 'no picture'}, not ${url}`];
		return mimeType === 'image/png' && fileName?.endsWith('.png') === true
			? []
			: [`its file ${String(fileName)} says that it is ${String(mimeType)}`];
	});
	return wrong[0];
}

/** What Image Task says of a task is what the gateway has said. */
export function ofTask(
	{ service }: Played,
	{ startedAt, endedAt }: NodeRun,
	{ json }: Item,
): string | undefined {
	const { taskId, taskType, finished, succeeded, error } = json;
	if (finished === true && succeeded !== true && typeof error !== 'string') {
		return 'it does not say why its task has failed';
	}
	const polls = service.books.requests.filter(
		({ call, taskId: id, at }) =>
			call === 'poll' && id === taskId && at >= startedAt && at <= endedAt,
	);
	const said = polls.filter(({ kind }) => kind === taskType);
	// Whatever is read out of a spoilt response, it can be right.
	if (said.some(({ fate }) => fate.includes(', but '))) return undefined;
	const told = finished !== true ? 'open' : succeeded === true ? 'success' : 'failed';
	// Where its own kind has no such task, that of the other kind is the task.
	const counted = said.at(-1)?.meaning === 'missing' ? polls : said;
	if (counted.length === 0 || counted.some(({ meaning }) => meaning === told)) return undefined;
	return `it says ${told} of a task that is ${said.at(-1)?.meaning}`;
}
