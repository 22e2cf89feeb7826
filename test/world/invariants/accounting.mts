/** Of invariants 3 and 4: what is said of costs and counts is what the gateway's books say. */
import type { Played, Step } from '../execution/step.mjs';
import { textOf } from '../execution/text-of.mjs';
import { isTool, MAKE } from '../execution/workflow.mjs';
import type { Charge, Received } from '../service/books.mjs';
import { costOf, PRICE } from '../service/published-models.mjs';
import { extraOf } from './wanted.mjs';
import { pictureIn } from './items/held-images.mjs';
import { ofSummary } from './items/summaries.mjs';
import {
	isFailed,
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
	const isImage = ['generation', 'edit', 'nothing'].includes(flow.make);
	if (!isImage || flow.dryRun) return [];
	const isTrue = pricesAreTrue(service);
	const texts = played.steps.flatMap((step, index) => {
		const runs = runsOf(step, played.steps[index - 1]);
		return [
			...(isTrue ? runs.flatMap((run) => costs(played, run)) : []),
			...(isTrue ? claims(played, step, runs) : []),
			...runs.flatMap((run) => {
				const most = isTrue ? unknownCost(played, step) : undefined;
				return ofSummary(played, step, run, (item) => chargeOf(played, item), most);
			}),
			...codes(played, step, runs),
		];
	});
	return texts.map((text) => ({ invariant: 4, text }));
}

function chargeOf({ service: { books } }: Played, item: Item) {
	const { json } = item;
	const picture = books.pictures.get(pictureIn(item) ?? '');
	const task = books.task(String(json.taskType), String(json.taskId));
	return picture?.charge ?? task?.charge;
}

/** An image costs its share of what was charged, a task all of it; the shares add up. */
function costs(played: Played, { node, outputs }: NodeRun): string[] {
	const { books } = played.service;
	// An image that is not seen leaves the others a larger share.
	if (isSpoilt(played.service)) return [];
	const shares = new Map<Charge, number[]>();
	const texts = outputs.flat().flatMap((item) => {
		const { estimatedCost, images } = item.json;
		const charge = chargeOf(played, item);
		if (isFailed(item) || typeof estimatedCost !== 'number' || !charge?.cost) return [];
		// Image Task gives one item for all images of a task.
		const isImage = books.pictures.has(pictureIn(item) ?? '') && images === undefined;
		if (isImage) shares.set(charge, [...(shares.get(charge) ?? []), estimatedCost]);
		const parts = isImage ? charge.images.length : 1;
		const { least, most } = charge.cost;
		if (isNear(estimatedCost, least / parts) || isNear(estimatedCost, most / parts)) return [];
		return [`${node}: an item says that it costs ${estimatedCost} instead of ${least / parts}`];
	});
	const sums = [...shares].flatMap(([{ images, cost, number }, own]) => {
		const sum = own.reduce((all, share) => all + share, 0);
		const isRight = Math.min(Math.abs(sum - cost!.least), Math.abs(sum - cost!.most)) < DUST;
		if (own.length !== images.length || isRight) return [];
		return [`${node}: the images of #${number} cost ${sum} in all, instead of ${cost!.least}`];
	});
	return [...texts, ...sums];
}

/** Of binary fractions. */
const DUST = 1e-9;

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

/** What is said that it would cost, and that is left. */
function claims(played: Played, step: Step, runs: NodeRun[]): string[] {
	// A tool has no runs that are stored.
	if (isTool(step.flow)) return claimsIn(played, step, shownBy(step));
	return runs.flatMap((run) => {
		const text = run.node === MAKE ? textOf([run.error, run.outputs]) : '';
		return claimsIn(played, step, text);
	});
}

function claimsIn(played: Played, step: Step, text: string): string[] {
	const { flow } = step;
	const price = PRICE.get(flow.model) ?? 0.04;
	const all = played.input.reduce((sum, { n }) => sum + Math.max(Number(n ?? 1), 2), 0) * price;
	const least = extraOf(flow)?.count ?? 1;
	const { surplus = [] } = played.world.service;
	const dearest = Math.max(...played.input.map(({ n }) => Math.max(Number(n ?? 1), least)));
	const most = (dearest + Math.max(0, ...surplus)) * price;
	// At the most: what may have been charged, each time as much as the dearest item.
	const sent = mayHaveCost(played, step).filter((request) => request.step === step.number).length;
	const known = [...text.matchAll(CLAIM)];
	const open = unpaid(played, step);
	return known.flatMap(([, needed, left, budget]) => {
		const rest = left === undefined ? Number(budget) : Number(left);
		if (Number(needed) > all + 1e-6) return [`it estimates ${needed}, more than all items cost`];
		if (Number(needed) > open + 1e-6) return [`it estimates ${needed}, and ${open} is unpaid`];
		if (Number(needed) <= rest) return [`it refuses ${needed}, of ${rest} that are left`];
		// Calls that are made at once set aside what they need.
		if (left === undefined || (isTool(flow) && flow.together)) return [];
		if (rest >= Number(budget) - sent * most - 1e-6) return [];
		return [`it says that ${left} is left of ${budget}, after ${sent} requests`];
	});
}

/** What is left to be paid for in an act, by what has come of its earlier tries. */
function unpaid({ input, world, service: { books } }: Played, { flow, number }: Step): number {
	if (isTool(flow) || flow.as === 'loop') return Infinity;
	const counts = input.map(({ n }) => extraOf(flow)?.count ?? Number(n ?? 1));
	const all = counts.reduce((sum, n) => sum + (costOf(flow.model, n, world.service) ?? 0), 0);
	const paid = books.charges.filter(({ step, right, heard }) => step === number && right && heard);
	return paid.reduce((sum, { cost }) => sum - (cost?.least ?? 0), all);
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
}
