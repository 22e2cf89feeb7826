/** Invariant 3: what comes out was asked for, belongs to its item, is in order, and nothing is missing. */
import type { Played, Step } from '../execution/play.mjs';
import { COLLECT, isTool, MAKE } from '../execution/workflow.mjs';
import type { Charge } from '../service/books.mjs';
import { pathIn } from '../service/one-pixel-pictures.mjs';
import { callsOf, isFailed, runsOf, type Breach, type Item, type NodeRun } from './evidence.mjs';

export function output(played: Played): Breach[] {
	const texts = played.steps.flatMap((step, index) => {
		// A Stop ends the node midway, and the engine throws its items away.
		if (step.ended === 'stopped') return [];
		const runs = runsOf(played, step, played.steps[index - 1]);
		return [
			...runs.flatMap((run) => ofRun(played, run, step)),
			...callsOf(step).flatMap((call) => ofCall(played, call.args, call.answer, step.edited)),
			...doubles(played, runs),
		];
	});
	return texts.map((text) => ({ invariant: 3, text }));
}

/**
 * Which item of the input an item stands for. What a parked execution gets back, the engine pairs by
 * its place alone: there only the task tells.
 */
function placeOf(
	{ service: { books } }: Played,
	item: Item,
	{ input }: NodeRun,
	parked: boolean,
	taken: ReadonlySet<number> = new Set(),
): number | undefined {
	if (!parked) return indexOf(item);
	const { details = {} } = item.json as { details?: Record<string, unknown> };
	const picture = books.pictures.get(pathOf(String(details.url ?? '')))?.charge;
	const { taskId = details.taskId ?? picture?.taskId } = item.json;
	const { taskType = details.taskType ?? picture?.kind } = item.json;
	const places = [...input.keys()].filter((place) => {
		const { json } = input[place]!;
		return json.taskId === taskId && (taskType === undefined || json.taskType === taskType);
	});
	// Items without a task look alike.
	return places.find((place) => taskId !== undefined || !taken.has(place));
}

function indexOf({ pairedItem }: Item): number | undefined {
	if (typeof pairedItem === 'number') return pairedItem;
	const one = Array.isArray(pairedItem) ? pairedItem[0] : pairedItem;
	return typeof one === 'object' ? one.item : one;
}

function ofRun(played: Played, run: NodeRun, { edited, parks }: Step): string[] {
	const { node, input, outputs, error } = run;
	const parked = parks > 0 && (node === COLLECT || played.world.flow.mode === 'wait');
	// What was made from equal prompts cannot be told apart where the pairs are lost.
	if (parked && node === MAKE) return [];
	// There the engine pairs failed items with what is not there, and may lose all of them.
	if (parked && played.world.flow.onError === 'continueErrorOutput') return [];
	if (error !== undefined && outputs.every((items) => items.length === 0)) return [];
	const where = `${node}, run ${run.run}`;
	const breaches: string[] = [];
	const found = new Set<number>();
	for (const items of outputs) {
		let before = -1;
		for (const item of items) {
			const index = placeOf(played, item, run, parked, found);
			if (index === undefined || input[index] === undefined) {
				breaches.push(`${where}: an item is paired with ${index}, of ${input.length} items`);
				continue;
			}
			found.add(index);
			if (index < before) breaches.push(`${where}: item ${index} comes after item ${before}`);
			before = index;
			if (!isFailed(item)) {
				const text = ofItem(played, run, item, input[index], edited);
				if (text !== undefined) breaches.push(`${where}, item ${index}: ${text}`);
			}
		}
	}
	input.forEach((_, index) => {
		if (!found.has(index)) breaches.push(`${where}: nothing came out for item ${index}`);
	});
	breaches.push(...counts(played, run, parked).map((text) => `${where}: ${text}`));
	return breaches;
}

/** What is wrong with a successful item, if anything. */
function ofItem(
	played: Played,
	{ node }: NodeRun,
	{ json, binary }: Item,
	given: Item,
	edited: string,
): string | undefined {
	const { flow } = played.world;
	const making = node === MAKE;
	const prompt = making ? `${String(given.json.prompt)}${edited}` : undefined;
	if (making && flow.make === 'message') {
		const charge = played.service.books.charges.find(({ reply }) => reply === json.text);
		if (charge === undefined) return 'its text is no reply of the gateway';
		return charge.prompt === prompt ? undefined : `it is the reply to "${charge.prompt}"`;
	}
	const charge = chargeOf(played, json, making ? undefined : given.json);
	if (typeof charge === 'string') return charge;
	if (making && charge.prompt !== prompt) return `it belongs to "${charge.prompt}"`;
	if (making && charge.kind !== flow.make) return `it is of the ${charge.kind}s`;
	if (json.prompt !== undefined && making && json.prompt !== prompt) {
		return `it says that its prompt is ${JSON.stringify(json.prompt)}`;
	}
	const data = binary?.data?.data;
	if (data !== undefined && typeof json.url === 'string') {
		const path = pathIn(Buffer.from(data, 'base64'));
		if (path !== pathOf(json.url)) return `its file is ${path ?? 'no picture'}, not ${json.url}`;
	}
	if (flow.download && typeof json.url === 'string' && data === undefined) return 'it has no file';
	return undefined;
}

/** The same by whichever host and prefix. */
const pathOf = (url: string): string => url.slice(Math.max(0, url.indexOf('/pictures/')));

/** The charge that an item's picture or task belongs to, or what is wrong. */
function chargeOf(
	{ service, world }: Played,
	json: Item['json'],
	given: Item['json'] | undefined,
): Charge | string {
	const { books } = service;
	const type = String(json.taskType ?? (given ?? {}).taskType ?? world.flow.make);
	const wanted = given && books.task(String(given.taskType), String(given.taskId))?.charge;
	const task = json.taskId === undefined ? undefined : books.task(type, String(json.taskId));
	if (json.taskId !== undefined && task === undefined) {
		return `there is no ${type} task ${String(json.taskId)}`;
	}
	const urls = typeof json.url === 'string' ? [json.url] : urlsIn(json.images);
	const charges = urls.map((url) => books.pictures.get(pathOf(url))?.charge);
	const all = [...charges, ...(task ? [task.charge] : []), ...(wanted ? [wanted] : [])];
	const [first] = all;
	if (first === undefined) return 'it holds neither an image nor a task';
	if (all.some((charge) => charge !== first)) return 'its image is that of another task';
	if (typeof json.url === 'string' && json.index !== books.pictures.get(pathOf(json.url))?.index) {
		return `its index is ${String(json.index)}`;
	}
	return first;
}

function urlsIn(images: unknown): string[] {
	return Array.isArray(images) ? images.map(({ url }: { url: string }) => url) : [];
}

/** All images of an item, each once. */
function counts(played: Played, run: NodeRun, parked: boolean): string[] {
	const good = new Map<number, string[]>();
	const failed = new Set<number>();
	for (const item of run.outputs.flat()) {
		const index = placeOf(played, item, run, parked) ?? -1;
		if (isFailed(item)) failed.add(index);
		else if (typeof item.json.url === 'string') {
			good.set(index, [...(good.get(index) ?? []), item.json.url]);
		}
	}
	return [...good].flatMap(([index, urls]) => {
		const charge = played.service.books.pictures.get(pathOf(urls[0]!))?.charge;
		if (charge === undefined || failed.has(index)) return [];
		const whole = new Set(urls).size === urls.length && urls.length === charge.images.length;
		return whole ? [] : [`item ${index} has ${urls.length} of ${charge.images.length} images`];
	});
}

/** What was paid for once is handed out once. */
function doubles({ world, service }: Played, runs: NodeRun[]): string[] {
	if (world.flow.make === 'nothing') return [];
	const seen = new Map<string, string>();
	return runs
		.filter(({ node }) => node === MAKE)
		.flatMap(({ run, outputs }) =>
			outputs.flat().flatMap((item) => {
				const { taskId, taskType, url, text } = item.json;
				if (isFailed(item)) return [];
				const mark =
					url === undefined
						? taskId === undefined
							? `reply ${String(text)}`
							: `${String(taskType)} task ${String(taskId)}`
						: `image ${String(url)}`;
				const place = `run ${run}, item ${indexOf(item)}`;
				const before = seen.get(mark);
				seen.set(mark, place);
				if (before === undefined || service.books.charges.length === 0) return [];
				return [`${mark} came out for ${before} and for ${place}`];
			}),
		);
}

/** What an agent was told belongs to what it asked for. */
function ofCall(
	{ service, world }: Played,
	args: Record<string, unknown>,
	answer: string,
	edited: string,
): string[] {
	if (!isTool(world.flow)) return [];
	const wanted = `${String(args.prompt)}${edited}`;
	const paths = answer.match(/\/pictures\/\d+-\d+\.png/g) ?? [];
	return [...new Set(paths)].flatMap((path) => {
		const charge = service.books.pictures.get(path)?.charge;
		const own = world.flow.make === 'nothing' ? String(args.prompt) : wanted;
		return charge === undefined || charge.prompt === own
			? []
			: [`the tool's answer to "${own}" holds an image of "${charge.prompt}"`];
	});
}
