/** Of invariant 4: an item says the cost that the gateway's books say. */
import type { Played } from '../execution/step.mjs';
import type { Charge } from '../service/books.mjs';
import { pictureIn } from './items/held-images.mjs';
import { isFailed, isSpoilt, runsOf, type Breach, type Item, type NodeRun } from './evidence.mjs';

/** A listing that was made up may well have other prices. */
export const pricesAreTrue = ({ faults }: Played['world']['service']): boolean =>
	faults.every(({ call }) => call !== 'listing' && call !== 'any');

const isNear = (one: number, other: number): boolean => Math.abs(one - other) < 1e-6;

export function accounting(played: Played): Breach[] {
	const { flow, service } = played.world;
	const isImage = ['generation', 'edit', 'nothing'].includes(flow.make);
	// An image that is not seen leaves the others a larger share.
	if (!isImage || flow.dryRun || !pricesAreTrue(service) || isSpoilt(played.service)) return [];
	return played.steps.flatMap((step, index) =>
		runsOf(step, played.steps[index - 1]).flatMap((run) =>
			costs(played, run).map((text) => ({ invariant: 4, text })),
		),
	);
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
