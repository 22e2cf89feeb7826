/** Of invariants 3 and 4: what is said of costs and counts is what the gateway's books say. */
import type { Played, Step } from '../execution/step.mjs';
import { isTool, MAKE, survives } from '../execution/workflow.mjs';
import { PRICE } from '../service/published-models.mjs';
import {
	isFailed,
	isSpoilt,
	runsOf,
	shownBy,
	type Breach,
	type Item,
	type NodeRun,
} from './evidence.mjs';

const isNear = (one: number, other: number): boolean => Math.abs(one - other) < 1e-6;

export function accounting(played: Played): Breach[] {
	const { flow, service } = played.world;
	const isImage = flow.make === 'generation' || flow.make === 'edit';
	if (!isImage || flow.dryRun) return [];
	// A listing that was made up may well have other prices.
	const isTrue = service.faults.every(({ call }) => call !== 'listing' && call !== 'any');
	const texts = played.steps.flatMap((step, index) => {
		const runs = runsOf(step, played.steps[index - 1]);
		return [
			...(isTrue ? runs.flatMap((run) => costs(played, run)) : []),
			...(isTrue ? claims(played, step) : []),
			...(isTrue ? tooDear(played, step) : []),
			...runs.flatMap((run) => summary(played, step, run)),
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
		const isImage = item.json.url !== undefined || item.binary !== undefined;
		const real = isImage ? price : price * charge.count;
		// An image that is not seen leaves the others a larger share.
		if (isNear(estimatedCost, real) || isSpoilt(played.service)) return [];
		return [`${node}: an item says that it costs ${estimatedCost} instead of ${real}`];
	});
}

/** The counts that a run gives of itself. */
function summary({ service: { books } }: Played, step: Step, run: NodeRun): string[] {
	const { flow, parks, number } = step;
	if (run.node !== MAKE || flow.tries > 1 || parks > 0 || number > 0) return [];
	const items = run.outputs.flat();
	const told = items.flatMap(({ json }) => (json.summary ?? []) as Summary)[0];
	if (told === undefined || isTool(flow) || flow.as === 'loop') return [];
	const failed = items.filter(isFailed);
	const good = items.filter((item) => !isFailed(item));
	const images = flow.mode === 'submit' ? undefined : good.length;
	const own = books.charges.filter((charge) => charge.step === number);
	const tasks = own.filter(({ taskId }) => taskId !== undefined).length;
	const wrong = [
		...(failed.length === 0 && images !== undefined && told.images !== images
			? [`${told.images} images instead of ${images}`]
			: []),
		...(failed.length === 0 && told.failedItems !== 0 ? [`${told.failedItems} failed items`] : []),
		...(failed.length > 0 && !(Number(told.failedItems) > 0) ? ['no failed item'] : []),
		...(failed.length === 0 && own.every(({ right }) => right) && told.tasks !== tasks
			? [`${told.tasks} tasks instead of ${tasks}`]
			: []),
	];
	return wrong.map((text) => `the summary says ${text}`);
}

interface Summary {
	images?: number;
	tasks?: number;
	failedItems?: number;
}

/** What a run says that it would cost, and that is left. */
function claims(played: Played, step: Step): string[] {
	const shown = shownBy(step);
	const price = PRICE.get(step.flow.model) ?? 0.04;
	const all = played.input.reduce((sum, { n }) => sum + Math.max(Number(n ?? 1), 2), 0) * price;
	const most = Math.max(...played.input.map(({ n }) => Math.max(Number(n ?? 1), 2))) * price;
	// At the most: what may have been charged, each time as much as the dearest item.
	const sent = played.service.books.requests.filter(
		({ step: of, call, fate, status = 599 }) =>
			of <= step.number &&
			['submit', 'sync'].includes(call) &&
			// What was refused has cost nothing, if the refusal has arrived in time.
			(status < 400 || status >= 500 || status === 408 || /, (but|late|byte by byte)/.test(fate)),
	).length;
	const known = [...shown.matchAll(CLAIM)];
	return known.flatMap(([, needed, left, budget]) => {
		const rest = left === undefined ? Number(budget) : Number(left);
		if (Number(needed) > all + 1e-6) return [`it estimates ${needed}, more than all items cost`];
		if (Number(needed) <= rest) return [`it refuses ${needed}, of ${rest} that are left`];
		if (left === undefined || rest >= Number(budget) - sent * most - 1e-6) return [];
		return [`it says that ${left} is left of ${budget}, after ${sent} requests`];
	});
}

const CLAIM =
	/estimated cost of ([\d.]+) exceeds the (?:budget of|remaining budget for [a-z ]+: ([\d.]+) of) ([\d.]*\d)/g;

/** An act costs no more than its budget, in all its tries and rounds. */
function tooDear({ service: { books } }: Played, { flow, number }: Step): string[] {
	const budget = Number(flow.options.budget ?? 0);
	const isOfAll = ['day', 'month'].includes(String(flow.options.budgetPeriod));
	if (budget === 0 || isTool(flow) || (flow.as === 'loop' && !isOfAll)) return [];
	const isKnown = books.requests.every(
		({ call, fate, step }) => step !== number || call !== 'listing' || fate === 'answered',
	);
	if (!isKnown) return [];
	// A person who tries it out in the editor spends nothing of the day's budget.
	const isBooked = isOfAll && survives(flow);
	const charged = books.charges.filter(
		({ step, model, kind }) =>
			kind !== 'message' && (isBooked ? step <= number : step === number) && PRICE.has(model),
	);
	const cost = charged.reduce((sum, { model, count }) => sum + PRICE.get(model)! * count, 0);
	if (cost <= budget + 1e-9) return [];
	return [`${Math.round(cost * 100) / 100} was charged in all, of a budget of ${budget}`];
}

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
}
