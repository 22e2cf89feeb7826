/** Of invariants 3 and 4: what is said of costs and counts is what the gateway's books say. */
import type { Played, Step } from '../execution/step.mjs';
import { isTool, MAKE } from '../execution/workflow.mjs';
import type { Received } from '../service/books.mjs';
import { PRICE } from '../service/published-models.mjs';
import { extraOf } from './wanted.mjs';
import { pictureIn } from './items/held-images.mjs';
import {
	isFailed,
	isRetry,
	isSpoilt,
	runsOf,
	shownBy,
	type Breach,
	type Item,
	type NodeRun,
} from './evidence.mjs';

/** A listing that was made up may well have other prices. */
export const pricesAreTrue = ({ faults }: Played['world']['service']): boolean =>
	faults.every(({ call }) => call !== 'listing' && call !== 'any');

const isNear = (one: number, other: number): boolean => Math.abs(one - other) < 1e-6;

export function accounting(played: Played): Breach[] {
	const { flow, service } = played.world;
	const isImage = flow.make === 'generation' || flow.make === 'edit';
	if (!isImage || flow.dryRun) return [];
	const isTrue = pricesAreTrue(service);
	const texts = played.steps.flatMap((step, index) => {
		const runs = runsOf(step, played.steps[index - 1]);
		return [
			...(isTrue ? runs.flatMap((run) => costs(played, run)) : []),
			...(isTrue ? claims(played, step) : []),
			...runs.flatMap((run) => summary(played, step, run, isTrue)),
			...codes(played, step, runs),
		];
	});
	return texts.map((text) => ({ invariant: 4, text }));
}

function chargeOf({ service: { books } }: Played, { json }: Item) {
	const url = String(json.url ?? '');
	const picture = books.pictures.get(url.slice(Math.max(0, url.indexOf('/pictures/'))));
	const task = books.task(String(json.taskType), String(json.taskId));
	return picture?.charge ?? task?.charge;
}

/** An image costs its share of what was charged, a task all of it. */
function costs(played: Played, { node, outputs }: NodeRun): string[] {
	return outputs.flat().flatMap((item) => {
		const { estimatedCost } = item.json;
		if (isFailed(item) || typeof estimatedCost !== 'number') return [];
		const charge = chargeOf(played, item);
		const price = charge && PRICE.get(charge.model);
		if (charge === undefined || price === undefined) return [];
		const { url, images } = item.json;
		// Image Task gives one item for all images of a task.
		const isImage = (url !== undefined || item.binary !== undefined) && images === undefined;
		const real = isImage ? price : price * charge.count;
		// An image that is not seen leaves the others a larger share.
		if (isNear(estimatedCost, real) || isSpoilt(played.service)) return [];
		return [`${node}: an item says that it costs ${estimatedCost} instead of ${real}`];
	});
}

/** The counts that a run gives of itself. */
function summary(played: Played, step: Step, run: NodeRun, isTrue: boolean): string[] {
	const { books } = played.service;
	const { flow, parks, number, restarts, ended } = step;
	const { startedAt, endedAt } = run;
	if (ended !== 'done' || restarts > 0 || isRetry(step)) return [];
	if (flow.tries > 1 || isTool(flow) || flow.as === 'loop') return [];
	const items = run.outputs.flat();
	// By an error output the engine also hands on what the item had before.
	const told = items.flatMap((item) => {
		const { details, summary: own } = item.json as { details?: Details; summary?: unknown };
		return (isFailed(item) ? details?.summary : own) ?? [];
	})[0] as Summary | undefined;
	if (told === undefined) return [];
	const failed = items.filter(isFailed);
	const isMaker = run.node === MAKE;
	// A node that only waits counts what it was given.
	const given = run.input.flatMap(({ json }) => books.taskOf(json)?.charge ?? []);
	const own = isMaker ? books.charges.filter((charge) => charge.step === number) : given;
	const images = items.filter((item) => !isFailed(item) && pictureIn(item) !== undefined).length;
	const tasks = own.filter(({ taskId }) => taskId !== undefined).length;
	const isPriced = own.every(({ model }) => PRICE.has(model));
	const cost = own.reduce((sum, { model, count }) => sum + count * (PRICE.get(model) ?? 0), 0);
	// Links are lost where the execution was suspended.
	const failures = new Set(failed.map(({ pairedItem }) => JSON.stringify(pairedItem))).size;
	const requests = books.requests.filter(({ at }) => at >= startedAt && at <= endedAt);
	// The node that waits may begin in the millisecond in which the one that submits ends.
	const isOwn = ({ call, path }: Received): boolean =>
		['submit', 'sync'].includes(call) || path.includes('/sources/')
			? isMaker
			: !isMaker || flow.mode !== 'submit';
	const refused = requests.filter(
		({ call, status, goneAt }) => call !== 'listing' && status === 429 && goneAt === undefined,
	);
	// Where a redirect has led to, nobody can tell whose request it was.
	const isDirect = requests.every(({ call }) => call !== 'other');
	// A host of images has no quota, whatever it says.
	const isRepeated = ({ call, fate }: Received): boolean =>
		call === 'download' || !fate.includes('quota');
	const repeated = refused.filter((one) => isOwn(one) && isRepeated(one)).length;
	const isWell = failed.length === 0 && own.every(({ right, heard }) => right && heard);
	const spent =
		step.flow.extra === undefined && isMaker && isPriced ? told.estimatedCost : undefined;
	const isTooMuch = spent !== undefined && spent > cost + unknownCost(played, step) + 1e-6;
	// What was sent and not answered may have been charged, and counts as well.
	const isSpentWrong = spent !== undefined && (spent < cost - 1e-6 || isTooMuch);
	const differs = (what: keyof Summary, real: number): string[] =>
		Math.abs((told[what] ?? 0) - real) < 1e-6 ? [] : [`${told[what]} ${what} instead of ${real}`];
	const wrong = [
		...(isWell ? [...differs('images', images), ...differs('tasks', tasks)] : []),
		...(isWell && isDirect && parks === 0 ? differs('rateLimitedRequests', repeated) : []),
		...(isWell && isMaker && isPriced && told.estimatedCost !== undefined
			? differs('estimatedCost', cost)
			: []),
		...(isSpentWrong && isTrue ? [`${spent} estimatedCost, and ${cost} was charged`] : []),
		...(failed.length === 0 || parks === 0 ? differs('failedItems', failures) : []),
	];
	return wrong.map((text) => `the summary of ${run.node} says ${text}`);
}

interface Summary {
	images?: number;
	tasks?: number;
	failedItems?: number;
	rateLimitedRequests?: number;
	estimatedCost?: number;
}

const LATE = /, (but|late|byte)/;

/** The requests up to an act that may have been charged: a refusal has cost nothing, if it has arrived. */
export function mayHaveCost({ service: { books } }: Played, { number }: Step): Received[] {
	return books.requests.filter(
		({ step, call, fate, status = 599, goneAt }) =>
			step <= number &&
			['submit', 'sync'].includes(call) &&
			(status < 400 || status >= 500 || status === 408 || goneAt !== undefined || LATE.test(fate)),
	);
}

/** What was not charged, and whoever sent it cannot know. */
export function unknownCost(played: Played, step: Step): number {
	const { input } = played;
	const most = Math.max(...input.map(({ n }) => Math.max(Number(n ?? 1), 2)));
	const unknown = mayHaveCost(played, step).filter(({ fate }) => !fate.startsWith('charged'));
	return unknown.length * most * Math.max(...PRICE.values());
}

/** What a run says that it would cost, and that is left. */
function claims(played: Played, step: Step): string[] {
	const shown = shownBy(step);
	const price = PRICE.get(step.flow.model) ?? 0.04;
	const all = played.input.reduce((sum, { n }) => sum + Math.max(Number(n ?? 1), 2), 0) * price;
	const most = Math.max(...played.input.map(({ n }) => Math.max(Number(n ?? 1), 2))) * price;
	// At the most: what may have been charged, each time as much as the dearest item.
	const sent = mayHaveCost(played, step).length;
	const known = [...shown.matchAll(CLAIM)];
	const open = unpaid(played, step);
	return known.flatMap(([, needed, left, budget]) => {
		const rest = left === undefined ? Number(budget) : Number(left);
		if (Number(needed) > all + 1e-6) return [`it estimates ${needed}, more than all items cost`];
		if (Number(needed) > open + 1e-6) return [`it estimates ${needed}, and ${open} is unpaid`];
		if (Number(needed) <= rest) return [`it refuses ${needed}, of ${rest} that are left`];
		// Calls that are made at once set aside what they need.
		if (left === undefined || isTool(step.flow)) return [];
		if (rest >= Number(budget) - sent * most - 1e-6) return [];
		return [`it says that ${left} is left of ${budget}, after ${sent} requests`];
	});
}

/** What is left to be paid for in an act, by what has come of its earlier tries. */
function unpaid({ input, service: { books } }: Played, { flow, number }: Step): number {
	if (isTool(flow) || flow.as === 'loop') return Infinity;
	const price = PRICE.get(flow.model) ?? 0;
	const counts = input.map(({ n }) => extraOf(flow)?.count ?? Number(n ?? 1));
	const all = price * counts.reduce((sum, count) => sum + count, 0);
	const paid = books.charges.filter(({ step, right, heard }) => step === number && right && heard);
	return paid.reduce((sum, { model, count }) => sum - (PRICE.get(model) ?? 0) * count, all);
}

const CLAIM =
	/estimated cost of ([\d.]+) exceeds the (?:budget of|remaining budget for [a-z ]+: ([\d.]+) of) ([\d.]*\d)/g;

/** An error names no status that the gateway has not sent. */
function codes({ service: { books } }: Played, step: Step, runs: NodeRun[]): string[] {
	const sent = new Set(books.requests.map(({ status }) => status));
	const told = runs.flatMap(({ outputs, error }) => [
		...outputs.flat().map(({ json }) => (json.details as Details | undefined)?.httpCode),
		(error as { context?: { details?: Details } } | undefined)?.context?.details?.httpCode,
	]);
	return told.flatMap((code) =>
		typeof code !== 'number' || sent.has(code)
			? []
			: [`act ${step.number} names the status ${code}, which nobody has sent`],
	);
}

interface Details {
	httpCode?: unknown;
	summary?: unknown;
}
