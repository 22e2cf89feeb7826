/** Of invariant 3: what a user has set arrives, and a listing has what was asked for. */
import type { Played, Step } from '../execution/step.mjs';
import { isTool, MAKE } from '../execution/workflow.mjs';
import { LISTINGS } from '../plan/odd-settings.mjs';
import type { Flow } from '../plan/world.mjs';
import type { Charge } from '../service/books.mjs';
import { commented, RECORDS } from '../service/published-models.mjs';
import { isFailed, runsOf, type Breach, type Item, type NodeRun } from './evidence.mjs';
import { extraOf } from './wanted.mjs';

export function settings(played: Played): Breach[] {
	const { requests, charges } = played.service.books;
	const isListed = requests.every(({ call, fate }) => call !== 'listing' || fate === 'answered');
	const texts = played.steps.flatMap((step, index) => [
		...charges
			.filter((charge) => charge.step === step.number)
			.flatMap((charge) => inCharge(charge, step.flow)),
		...(step.flow.make === 'models' && isListed && step.ended === 'done'
			? runsOf(step, played.steps[index - 1]).flatMap((run) => inListing(run, step))
			: []),
	]);
	return texts.map((text) => ({ invariant: 3, text }));
}

/** What of the settings is not in the request that was charged. */
function inCharge(charge: Charge, flow: Flow): string[] {
	const { number, asked, call } = charge;
	const differs = (what: string, set: unknown, sent: unknown): string[] =>
		String(set) === String(sent)
			? []
			: [`#${number} was sent with the ${what} ${String(sent)} instead of ${String(set)}`];
	if (charge.kind === 'message') {
		const { thinking } = asked as { thinking?: { type?: unknown } };
		const wanted = flow.thinking === 'default' ? undefined : flow.thinking;
		return [
			...differs('thinking', wanted, thinking?.type),
			...differs('number of tokens', 4096, asked.max_tokens),
		];
	}
	const extra = JSON.stringify(extraOf(flow)?.value ?? '');
	const named = flow.options.parametersByName as { parameter?: Named[] } | undefined;
	return [
		...(named?.parameter ?? []).flatMap(({ name, value }) =>
			extra.includes(name) ? [] : differs(name, value, asked[name]),
		),
		...(extra.includes('async')
			? []
			: differs('mode', flow.mode === 'sync' ? 'sync' : 'submit', call)),
	];
}

interface Named {
	name: string;
	value: string;
}

/** Whether each item has brought the models that it asked for, in order and whole. */
function inListing({ outputs, input, node, error }: NodeRun, { flow }: Step): string[] {
	if (node !== MAKE || isTool(flow)) return [];
	const items = outputs.flat();
	if (items.length === 0 && error !== undefined) return [];
	return input.flatMap(({ json }, index) => {
		const own = items.filter(({ pairedItem }) => (pairedItem as { item: number }).item === index);
		if (own.some(isFailed)) return [];
		const one = json.file === 0 ? 'cinema' : flow.model;
		const isAll = flow.mode === 'sync';
		const names = isAll ? LISTINGS[flow.listing]!.models : [one];
		const text = commented(isAll ? undefined : one);
		const records = names.map((name) => RECORDS.find(({ model }) => model === name));
		const wanted = Number(json.n) > 1 ? [{ format: 'jsonc', text }] : records;
		const got = own.map((item: Item) => item.json);
		const isSame = JSON.stringify(got) === JSON.stringify(wanted);
		return isSame ? [] : [`item ${index} of the listing is ${JSON.stringify(got).slice(0, 100)}`];
	});
}
