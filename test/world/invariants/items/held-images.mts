/** Of invariant 3: which image an item holds. */
import type { Flow } from '../../plan/world.mjs';
import { pathIn } from '../../service/one-pixel-pictures.mjs';
import type { Item } from '../evidence.mjs';

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

/**
 * @param failed the failed items beside it: an image that can't be downloaded is one of them, or has an
 *   error of its own among the images of its item
 */
export function ofFile(
	{ json, binary }: Item,
	flow: Flow,
	failed: Item[] = [],
): string | undefined {
	const { download } = flow;
	// Image Task gives one item for all images of a task.
	const urls = typeof json.url === 'string' ? [json.url] : urlsIn(json.images);
	const wrong = urls.flatMap((url, index): string[] => {
		const { data, mimeType, fileName } = binary?.[index === 0 ? 'data' : `data_${index}`] ?? {};
		const own = Array.isArray(json.images) ? (json.images[index] as { error?: unknown }) : {};
		const isTold =
			typeof own.error === 'string' ||
			failed.some((item) => JSON.stringify(item.json).includes(pathOf(url)));
		if (data === undefined) return download && !isTold ? [`it has no file ${index}`] : [];
		const path = pathIn(Buffer.from(data, 'base64'));
		if (path !== pathOf(url)) return [`its file is ${path ?? 'no picture'}, not ${url}`];
		return mimeType === 'image/png' && fileName?.endsWith('.png') === true
			? []
			: [`its file ${String(fileName)} says that it is ${String(mimeType)}`];
	});
	return wrong[0];
}
