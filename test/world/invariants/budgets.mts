/** Of invariant 4: a budget holds over an execution, and nothing is kept with the workflow. */
import type { Played, Step } from '../execution/step.mjs';
import type { Breach } from './evidence.mjs';
import { chargesAgain } from './money.mjs';

/** A listing that was made up may well have other prices. */
export const pricesAreTrue = ({ faults }: Played['world']['service']): boolean =>
	faults.every(({ call }) => call !== 'listing' && call !== 'any');

export function budgets(played: Played): Breach[] {
	const { flow, service } = played.world;
	const isImage = flow.make === 'generation' || flow.make === 'edit';
	const isHeld = isImage && pricesAreTrue(service) && !chargesAgain(played);
	const texts = played.steps.flatMap((step) => [
		...(isHeld ? tooDear(played, step) : []),
		...staticData(step),
	]);
	return texts.map((text) => ({ invariant: 4, text }));
}

/** No execution costs more than its budget, in all tries, rounds and calls; nor what has no price. */
function tooDear({ service: { books } }: Played, { flow, number }: Step): string[] {
	const budget = Number(flow.options.budget ?? Infinity);
	if (budget === Infinity) return [];
	const charges = books.charges.filter(({ step }) => step === number);
	const unpriced = charges.find((charge) => charge.cost === undefined);
	if (unpriced !== undefined) return [`${unpriced.model} was paid for within a budget`];
	const cost = charges.reduce((sum, charge) => sum + (charge.cost ?? 0), 0);
	if (cost <= budget + 1e-9) return [];
	return [`${Math.round(cost * 100) / 100} was charged, of a budget of ${budget}`];
}

/** n8n loses static data where an execution waits, and with it that of other nodes. */
function staticData({ result, number }: Step): string[] {
	const kept = Object.keys(result?.workflow.staticData ?? {});
	return kept.length === 0 ? [] : [`action ${number} has stored static data: ${kept.join(', ')}`];
}
