/** Of invariant 3: what comes out of a paid node that was suspended. */
import type { Step } from '../../execution/step.mjs';
import type { Charge } from '../../service/books.mjs';
import { isFailed, type Item, type NodeRun } from '../evidence.mjs';
import { keyOf, wantedBy } from '../wanted.mjs';

/**
 * The engine keeps the links of items by their place alone. What was made from equal prompts cannot
 * be told apart then; everything else has to be there, whole and in order.
 */
export function ofSuspended(
	step: Step,
	{ outputs, input, error }: NodeRun,
	chargeFor: (item: Item) => Charge | string,
	fileOf: (item: Item) => string | undefined,
): string[] {
	const items = outputs.flat();
	if (items.length === 0 && error !== undefined) return [];
	const wanted = input.map(({ json }) => wantedBy(step, json));
	const prompts = input.map(({ json }) => `${String(json.prompt)}${step.edited}`);
	const breaches: string[] = [];
	const places: Array<(place: number) => boolean> = [];
	const found = new Map<Charge, number>();
	let failed = 0;
	let before: Charge | undefined;
	for (const item of items) {
		if (isFailed(item)) {
			failed += 1;
			before = undefined;
			const { prompt } = (item.json.details ?? {}) as { prompt?: unknown };
			if (prompt !== undefined) places.push((place) => prompts[place] === prompt);
			continue;
		}
		const charge = chargeFor(item);
		if (typeof charge === 'string') {
			breaches.push(charge);
			continue;
		}
		const key = keyOf(charge);
		if (!wanted.includes(key)) breaches.push(`it is that of ${key}, which nobody wanted`);
		const file = fileOf(item);
		if (file !== undefined) breaches.push(file);
		if (charge !== before) places.push((place) => wanted[place] === key);
		before = charge;
		found.set(charge, (found.get(charge) ?? 0) + 1);
		breaches.push(...link(item, key, wanted));
	}
	if (step.flow.onError !== 'continueErrorOutput') {
		let place = 0;
		for (const fits of places) {
			while (place < input.length && !fits(place)) place += 1;
			if (place >= input.length && failed === 0) breaches.push('the items are out of order');
			if (place < input.length && failed === 0) place += 1;
		}
		if (found.size + failed < input.length) {
			breaches.push(`${found.size} tasks and ${failed} errors came of ${input.length} items`);
		}
	}
	for (const [charge, count] of failed > 0 ? [] : found) {
		if (count !== charge.images.length) {
			breaches.push(`there are ${count} of ${charge.images.length} images of #${charge.number}`);
		}
	}
	return breaches;
}

/** A link is right, or there is none. */
function link({ pairedItem }: Item, key: string, wanted: string[]): string[] {
	if (typeof pairedItem !== 'object' || Array.isArray(pairedItem)) return [];
	if (pairedItem.sourceOverwrite !== undefined) return [];
	const given = wanted[pairedItem.item];
	return given === undefined || given === key
		? []
		: [`an item of ${key} is linked to item ${pairedItem.item}, ${given}`];
}
