/** Of invariant 3: which image an item holds, and by which output it leaves. */
import type { Played, Step } from '../../execution/step.mjs';
import { textOf } from '../../execution/text-of.mjs';
import { COLLECT, fieldFor, survives } from '../../execution/workflow.mjs';
import type { Flow } from '../../plan/world.mjs';
import type { Received } from '../../service/books.mjs';
import { pathIn } from '../../service/one-pixel-pictures.mjs';
import { isFailed, type Item, type NodeRun } from '../evidence.mjs';

/** The same by whichever host and prefix. */
export const pathOf = (url: string): string => url.slice(Math.max(0, url.indexOf('/pictures/')));

/** Which picture an item holds: by its address, or by its bytes where it has none. */
export function pictureIn({ json, binary }: Item): string | undefined {
	if (typeof json.url === 'string') return pathOf(json.url);
	const data = (binary?.data ?? binary?.picture)?.data;
	return data === undefined ? undefined : pathIn(Buffer.from(data, 'base64'));
}

export function urlsIn(images: unknown): string[] {
	const list = Array.isArray(images) ? (images as Array<{ url?: unknown }>) : [];
	return list.flatMap(({ url }) => (typeof url === 'string' ? url : []));
}

export function ofFile({ json, binary }: Item, flow: Flow): string | undefined {
	const { download } = flow;
	// Without Download nobody is asked for a field, and what came inside a response has the usual one.
	const field = download ? fieldFor(flow, json.prompt) : 'data';
	const other = Object.keys(binary ?? {}).find((name) => name.replace(/_\d+$/, '') !== field);
	if (other !== undefined) return `its file is in the field ${other}, not in ${field}`;
	// Image Task gives one item for all images of a task.
	const urls = typeof json.url === 'string' ? [json.url] : urlsIn(json.images);
	const wrong = urls.flatMap((url, index): string[] => {
		const { data, mimeType, fileName } = binary?.[index === 0 ? field : `${field}_${index}`] ?? {};
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
		(one) => one.call === 'poll' && one.taskId === taskId && one.kind === taskType,
	);
	const said = polls.filter(({ at }) => at >= startedAt && at <= endedAt);
	// Whatever is read out of a spoilt response, it can be right.
	if (said.some(({ fate }) => fate.includes(', but '))) return undefined;
	const told = finished !== true ? 'open' : succeeded === true ? 'success' : 'failed';
	if (said.length === 0 || said.some(({ meaning }) => meaning === told)) return undefined;
	return `it says ${told} of a task that is ${said.at(-1)?.meaning}`;
}

/** What arrived whole is not called lost, and a picture that has moved is fetched where it is now. */
export function notLost({ service }: Played, run: NodeRun, step: Step): string[] {
	const { outputs, startedAt, endedAt } = run;
	const { flow } = step;
	const own = service.books.requests.filter(
		// The next round of a loop may well get it; one that was suspended has others download, before.
		({ step: of, at }) =>
			of === step.number &&
			(step.parks > 0 || at >= startedAt) &&
			(at <= endedAt || (step.parks > 0 && flow.as !== 'loop')),
	);
	return outputs
		.flat()
		.filter(isFailed)
		.flatMap(({ json }): string[] => {
			const { url } = (json.details ?? {}) as { url?: unknown };
			const path = pathOf(String(url ?? ''));
			if (!path.startsWith('/pictures/')) return [];
			if (service.books.isShared({ path })) return [];
			const last = own.findLast(({ call, path: of }) => call === 'download' && of.endsWith(path));
			if (last !== undefined && step.parks === 0 && flow.tries === 1) {
				const wrong = ofReason(String(json.error), own, path);
				if (wrong !== undefined) return [wrong];
			}
			if (last === undefined || !['answered', 'moved'].includes(last.fate)) return [];
			return [`the image ${path} is called lost, and its last request was ${last.fate}`];
		});
}

/** What is said of a task that is over its deadline. */
const OPEN = /was still open after|couldn't be checked within/;

/** Whether the error of a download tells how often it was tried, and what its server has responded. */
function ofReason(error: string, own: Received[], path: string): string | undefined {
	const all = own.filter(({ call, path: of }) => call === 'download' && of === path);
	const [, times = '1'] = /\(tried (\d+) times\)/.exec(error) ?? [];
	if (Number(times) !== all.length) return `${path} was tried ${all.length} times: ${error}`;
	const last = all.at(-1)!;
	const [, status] = /its server responded with (\d+)/.exec(error) ?? [];
	// Where it was redirected, another server has the last word.
	const isSame = status === undefined || Number(status) === last.status;
	return isSame || /moved| to /.test(last.fate) ? undefined : `${path}: ${last.fate}, and ${error}`;
}

/** Of Image Wait's two outputs: what has finished leaves by the first one, what is open by the second. */
export function ofOutputs(
	{ service }: Played,
	{ node, outputs, endedAt, error }: NodeRun,
	step: Step,
): string[] {
	const { flow, parks } = step;
	const hasTwo = flow.options.onTimeout === 'output' && flow.collect === 'imageWait';
	if (node !== COLLECT || !hasTwo) return [];
	// Two outputs and one for errors are not possible then, and 'On Timeout' is left out.
	const isWithout = survives(flow) && flow.onError === 'continueErrorOutput';
	const texts = [
		...outputs
			.flat()
			.filter(isFailed)
			.map(({ json }) => json.error),
		error,
	];
	const late = isWithout ? undefined : texts.find((text) => OPEN.test(textOf(text ?? '')));
	if (late !== undefined)
		return ['a task that was still open has failed instead of leaving by its output'];
	if (survives(flow) || parks > 0) return [];
	const [finished = [], open = []] = outputs.map((items) => items.filter((one) => !isFailed(one)));
	const isOver = ({ json }: Item): boolean => {
		if (service.books.isAmbiguous(json.taskId)) return false;
		const last = service.books.requests.findLast(
			({ call, taskId, kind, at, step: of }) =>
				call === 'poll' &&
				taskId === json.taskId &&
				kind === json.taskType &&
				of === step.number &&
				at <= endedAt,
		);
		if (last === undefined) return false;
		// A late response may have come after the deadline.
		const isInTime = !/, (late|byte by byte)/.test(last.fate);
		return last.meaning === 'success' && last.status === 200 && isInTime;
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

/** Whether a dry run shows its request. */
export function ofDryRun({ dryRun, request }: Item['json'], prompt: string): string | undefined {
	if (dryRun !== true) return 'it is not only shown';
	const { body, form } = (request ?? {}) as {
		body?: { prompt?: unknown };
		form?: { fields?: { prompt?: unknown } };
	};
	const shown = body?.prompt ?? form?.fields?.prompt;
	return shown === prompt ? undefined : `it shows the prompt ${JSON.stringify(shown)}`;
}
