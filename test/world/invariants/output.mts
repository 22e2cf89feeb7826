/** Invariant 3: what comes out was asked for, belongs to its item, is in order, and nothing is missing. */
import { isDeepStrictEqual } from 'node:util';
import type { Played, Step } from '../execution/step.mjs';
import { COLLECT, MAKE } from '../execution/workflow.mjs';
import type { Charge } from '../service/books.mjs';
import { broughtBy, isFailed, runsOf, type Breach, type Item, type NodeRun } from './evidence.mjs';
import { ofFile, pathOf, pictureIn, urlsIn } from './items/held-images.mjs';
import { ofError, ofFailure } from './items/failures.mjs';
import { ofSuspended } from './items/suspended.mjs';
import { ofCalls } from './items/agent-answers.mjs';
import { keyOf, wantedBy } from './wanted.mjs';

export function output(played: Played): Breach[] {
	const texts = played.steps.flatMap((step, index) => {
		// A Stop ends the node midway, and the engine throws its items away.
		if (step.ended === 'stopped') return [];
		const runs = runsOf(step, played.steps[index - 1]);
		return [
			...runs.flatMap((run) => ofRun(played, run, step)),
			...ofCalls(played, step),
			...doubles(played, runs),
		];
	});
	return texts.map((text) => ({ invariant: 3, text }));
}

/**
 * Which item of the input an item stands for. What a suspended execution gets back, the engine pairs by
 * its place alone: there only the task tells.
 */
function placeOf(
	{ service: { books } }: Played,
	item: Item,
	{ input }: NodeRun,
	suspended: boolean,
	taken: ReadonlySet<number> = new Set(),
): number | undefined {
	if (!suspended) return indexOf(item);
	const { details = {} } = item.json as { details?: Record<string, unknown> };
	const picture = books.pictures.get(pathOf(String(details.url ?? '')))?.charge;
	const { taskId = details.taskId ?? picture?.taskId } = item.json;
	// An input item that has failed has the ID in its details.
	const idOf = ({ json }: Item) => json.taskId ?? (json.details as typeof details)?.taskId;
	const places = [...input.keys()].filter((place) => idOf(input[place]!) === taskId);
	// Items without a task look alike.
	return places.find((place) => taskId !== undefined || !taken.has(place));
}

function indexOf({ pairedItem }: Item): number | undefined {
	if (typeof pairedItem === 'number') return pairedItem;
	const one = Array.isArray(pairedItem) ? pairedItem[0] : pairedItem;
	return typeof one === 'object' ? one.item : one;
}

function ofRun(played: Played, run: NodeRun, step: Step): string[] {
	const { suspensions, flow } = step;
	const { node, input, outputs, error } = run;
	const suspended = suspensions > 0 && (node === COLLECT || flow.mode === 'wait');
	if (suspended && node === MAKE) {
		const chargeFor = (item: Item): Charge | string => chargeOf(played, item, step);
		const fileOf = (item: Item): string | undefined => ofFile(item, flow);
		const wrong = ofSuspended(step, run, chargeFor, fileOf);
		return wrong.map((text) => `${node}, run ${run.run}, suspended: ${text}`);
	}
	// There the engine pairs failed items with what is not there, and may lose all of them.
	if (suspended && flow.onError === 'continueErrorOutput') return [];
	if (error !== undefined && outputs.every((items) => items.length === 0)) {
		return ofError(played, run, step).map((text) => `${node}: ${text}`);
	}
	const where = `${node}, run ${run.run}`;
	const breaches: string[] = [];
	const found = new Set<number>();
	for (const items of outputs) {
		let before = -1;
		let imageBefore = -1;
		for (const item of items) {
			const index = placeOf(played, item, run, suspended, found);
			if (index === undefined || input[index] === undefined) {
				breaches.push(`${where}: an item is paired with ${index}, of ${input.length} items`);
				continue;
			}
			found.add(index);
			if (index < before) breaches.push(`${where}: item ${index} comes after item ${before}`);
			const image = index === before ? imageBefore : -1;
			imageBefore = Number(item.json.index ?? image);
			if (imageBefore < image) {
				breaches.push(`${where}, item ${index}: image ${imageBefore} comes after image ${image}`);
			}
			before = index;
			const wrong = isFailed(item)
				? ofFailure(item, input[index], node, step)
				: (ofItem(played, run, item, input[index], step) ?? []);
			breaches.push(...[wrong].flat().map((text) => `${where}, item ${index}: ${text}`));
		}
	}
	input.forEach((_, index) => {
		if (!found.has(index)) breaches.push(`${where}: nothing came out for item ${index}`);
	});
	breaches.push(...counts(played, run, suspended).map((text) => `${where}: ${text}`));
	return breaches;
}

/** What is wrong with a successful item, if anything. */
function ofItem(
	played: Played,
	run: NodeRun,
	item: Item,
	given: Item,
	step: Step,
): string | undefined {
	const { flow } = step;
	const { json, binary } = item;
	if (run.node !== MAKE) {
		const charge = chargeOf(played, item, step, given.json);
		if (typeof charge === 'string') return charge;
		if (json.prompt !== undefined && json.prompt !== charge.prompt) {
			return `it says that its prompt is ${JSON.stringify(json.prompt)}`;
		}
		return ofFile(item, flow, run.outputs.flat().filter(isFailed));
	}
	const wanted = wantedBy(step, given.json);
	if (flow.make === 'message') return ofReply(played, json, wanted);
	const charge = chargeOf(played, item, step);
	if (typeof charge === 'string') return charge;
	if (keyOf(charge) !== wanted) return `it is that of ${keyOf(charge)}, and not ${wanted}`;
	if (json.prompt !== undefined && json.prompt !== charge.prompt) {
		return `it says that its prompt is ${JSON.stringify(json.prompt)}`;
	}
	if (json.url === undefined && json.taskId === undefined && binary === undefined) {
		return 'it holds neither an image nor a task';
	}
	return ofFile(item, flow);
}

/** The charge that an item's picture or task belongs to, or what is wrong. */
function chargeOf(
	{ service }: Played,
	item: Item,
	{ flow }: Step,
	given?: Item['json'],
): Charge | string {
	const { books } = service;
	const { json } = item;
	const made = flow.make === 'nothing' ? undefined : flow.make;
	const taskType = json.taskType ?? given?.taskType ?? made;
	const wanted = given && books.taskOf(given)?.charge;
	const task =
		json.taskId === undefined ? undefined : books.taskOf({ taskType, taskId: json.taskId });
	if (json.taskId !== undefined && task === undefined) {
		return `there is no ${String(taskType)} task ${String(json.taskId)}`;
	}
	const picture = pictureIn(item);
	const paths = picture === undefined ? urlsIn(json.images).map(pathOf) : [picture];
	const charges = paths.map((path) => books.pictures.get(path)?.charge);
	const all = [...charges, ...(task ? [task.charge] : []), ...(wanted ? [wanted] : [])];
	const [first] = all;
	if (first === undefined) return 'it holds neither an image nor a task';
	if (all.some((charge) => charge !== first)) return 'its image is that of another task';
	// Image Task gives one item for all images of a task.
	if (picture !== undefined && json.images === undefined) {
		const place = books.pictures.get(picture)?.index ?? -1;
		if (json.index !== place) return `its index is ${String(json.index)}`;
	}
	return first;
}

/** All images of an item, each once: as an item, or as an error that leads to it. */
function counts(played: Played, run: NodeRun, suspended: boolean): string[] {
	const good = new Map<number, string[]>();
	const failed = new Map<number, Item[]>();
	const add = <T,>(map: Map<number, T[]>, index: number, value: T): void => {
		map.set(index, [...(map.get(index) ?? []), value]);
	};
	for (const item of run.outputs.flat()) {
		const index = placeOf(played, item, run, suspended) ?? -1;
		const picture = pictureIn(item);
		if (isFailed(item)) add(failed, index, item);
		// Image Task gives one item for all of them.
		else if (picture !== undefined && item.json.images === undefined) add(good, index, picture);
	}
	return [...good].flatMap(([index, paths]) => {
		const charge = played.service.books.pictures.get(paths[0]!)?.charge;
		const errors = failed.get(index) ?? [];
		// Several failed images are one item there.
		if (charge === undefined || (suspended && errors.length > 0)) return [];
		// An image that couldn't be had has come back as an item of its own, or several in one.
		const brought = broughtBy(run.input[index]!);
		if (brought?.index !== undefined) {
			const places = paths.map((path) => played.service.books.pictures.get(path)?.index);
			if (isDeepStrictEqual(places, [brought.index])) return [];
			return [`item ${index} brought image ${String(brought.index)}, and has ${String(places)}`];
		}
		if (brought?.url !== undefined) return [];
		const lost = errors.map(({ json }) => pathOf(String((json.details as Details)?.url ?? '')));
		const all = new Set([...paths, ...lost]);
		const isAll = all.size === charge.images.length;
		if (all.size === paths.length + lost.length && isAll) return [];
		return [
			`item ${index} has ${paths.length} of ${charge.images.length} images, and ${lost.length} errors`,
		];
	});
}

interface Details {
	url?: unknown;
}

/** What was paid for once is handed out once. */
function doubles({ world: { flow }, service }: Played, runs: NodeRun[]): string[] {
	if (flow.make === 'nothing') return [];
	const isTaskAgain = flow.as === 'back' && flow.mode === 'submit';
	const seen = new Map<string, string>();
	return runs
		.filter(({ node }) => node === MAKE)
		.flatMap(({ run, outputs }) =>
			outputs.flat().flatMap((item) => {
				const { taskId, taskType } = item.json;
				if (isFailed(item)) return [];
				const picture = pictureIn(item);
				// One that has come back open is handed on again.
				if (picture === undefined && isTaskAgain) return [];
				const task =
					taskId === undefined
						? `reply ${String(item.json.text)}`
						: `${String(taskType)} task ${String(taskId)}`;
				const mark = picture === undefined ? task : `image ${picture}`;
				const place = `run ${run}, item ${indexOf(item)}`;
				const before = seen.get(mark);
				seen.set(mark, place);
				if (before === undefined || service.books.charges.length === 0) return [];
				return [`${mark} came out for ${before} and for ${place}`];
			}),
		);
}

/** Whether a reply is that of the prompt of its item. */
function ofReply({ service }: Played, { text }: Item['json'], wanted: string): string | undefined {
	const charge = service.books.charges.find(({ reply }) => reply === text);
	if (charge === undefined) return 'its text is no reply of the gateway';
	return keyOf(charge) === wanted
		? undefined
		: `it is the reply to ${keyOf(charge)}, and not ${wanted}`;
}
