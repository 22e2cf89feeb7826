/** Of invariant 3: what a user has set arrives, and a listing has what was asked for. */
import { isDeepStrictEqual } from 'node:util';
import type { Played, Step } from '../execution/step.mjs';
import { isTool, MAKE } from '../execution/workflow.mjs';
import { MESSAGE_FIELDS, UNPUBLISHED } from '../plan/more-settings.mjs';
import { LISTINGS } from '../plan/odd-settings.mjs';
import type { Flow } from '../plan/world.mjs';
import type { Charge, Received } from '../service/books.mjs';
import { FILES } from '../service/one-pixel-pictures.mjs';
import { commented, recordsOf } from '../service/published-models.mjs';
import { isFailed, runsOf, type Breach, type Item, type NodeRun } from './evidence.mjs';
import { extraOf } from './wanted.mjs';

export function settings(played: Played): Breach[] {
	const { requests, charges } = played.service.books;
	const home = new URL(played.service.origin).host;
	const isListed = requests.every(({ call, fate }) => call !== 'listing' || fate === 'answered');
	const texts = played.steps.flatMap((step, index) => [
		...charges
			.filter((charge) => charge.step === step.number)
			.flatMap((charge) => [
				...inCharge(charge, step.flow),
				...(isListed ? unpublished(charge, step.flow) : []),
			]),
		...requests
			.filter((request) => request.step === step.number)
			.flatMap((request) => ofCredential(request, step.flow, home)),
		...(step.flow.make === 'models' && isListed && step.ended === 'done'
			? runsOf(step, played.steps[index - 1]).flatMap((run) => [
					...inListing(run, step, recordsOf(played.world.service)),
					...old(played, run),
				])
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
	const { more } = flow;
	if (charge.kind === 'message') {
		const { thinking } = asked as { thinking?: { type?: unknown; budget_tokens?: unknown } };
		const wanted = flow.thinking === 'default' ? undefined : flow.thinking;
		return [
			...differs('thinking', wanted, thinking?.type),
			...differs('budget', wanted === 'enabled' ? 1024 : undefined, thinking?.budget_tokens),
			...differs('number of tokens', 4096, asked.max_tokens),
			...(flow.make === 'chat' && flow.calls ? differs('tool', TOOL, toolIn(asked)) : []),
			...extraLost(charge, flow),
			...Object.entries(MESSAGE_FIELDS).flatMap(([name, sent]) =>
				name === 'system' && flow.make === 'chat'
					? []
					: differs(name, more?.message[name], sent(asked)),
			),
		];
	}
	const extra = JSON.stringify(extraOf(flow)?.value ?? '');
	const added = extraLost(charge, flow);
	const named = flow.options.parametersByName as { parameter?: Named[] } | undefined;
	// The form comes before the list of names.
	const form = more?.size === undefined ? [] : [{ name: 'size', value: more.size }];
	const byName = (named?.parameter ?? []).filter(({ name }) =>
		form.every((one) => one.name !== name),
	);
	return [
		...added,
		...[...byName, ...form].flatMap(({ name, value }) =>
			extra.includes(name) ? [] : differs(name, value, asked[name]),
		),
		// What looks like a number is one, where there are numbers.
		...(charge.kind === 'generation' && asked.seed !== undefined && typeof asked.seed !== 'number'
			? [`#${number} was sent with a seed that is ${typeof asked.seed}`]
			: []),
		...(extra.includes('response_format')
			? []
			: differs('response format', more?.responseFormat, asked.response_format)),
		...(charge.kind === 'edit' && !isTool(flow)
			? differs('files', filesOf(charge, flow), charge.parts?.join(', '))
			: []),
		...(extra.includes('async')
			? []
			: differs('mode', flow.mode === 'sync' ? 'sync' : 'submit', call)),
	];
}

/** The tool of the chain. */
const TOOL = 'look_up: Looks something up (query: string)';

/** A tool as it has arrived. */
function toolIn({ tools }: Record<string, unknown>): string {
	const [tool] = (Array.isArray(tools) ? tools : []) as Array<Record<string, unknown> | undefined>;
	const { properties = {} } = (tool?.input_schema ?? {}) as {
		properties?: Record<string, { type?: unknown }>;
	};
	const inputs = Object.entries(properties).map(([name, { type }]) => `${name}: ${String(type)}`);
	return `${String(tool?.name)}: ${String(tool?.description)} (${inputs.join()})`;
}

/** What the world does not hold against its own settings: they are read elsewhere, or are no fields. */
const ELSEWHERE = ['n', 'model', 'async', '__proto__', 'constructor'];

/** Which extra field has not arrived as it is; a form has texts only. */
function extraLost({ asked, kind, number }: Charge, flow: Flow): string[] {
	const value = extraOf(flow)?.value ?? {};
	const fields = (typeof value === 'string' ? JSON.parse(value || '{}') : value) as object;
	const inForm = (one: unknown): unknown => (typeof one === 'string' ? one : JSON.stringify(one));
	return Object.entries(fields).flatMap(([name, set]) => {
		const right = kind === 'edit' ? inForm(set) : set;
		if (ELSEWHERE.includes(name) || isDeepStrictEqual(asked[name], right)) return [];
		return [`#${number} was sent with the extra field ${name} ${JSON.stringify(asked[name])}`];
	});
}

/** The files of an edit, after the first one: each in the field that is set for it. */
function filesOf({ file = '' }: Charge, { options, editFrom, fileShift, more }: Flow): string {
	const field = String(options.imageFieldName ?? 'image');
	const after = (steps: number): string => FILES[(FILES.indexOf(file) + steps) % FILES.length]!;
	// A file in a field of its own is always that of the item.
	const back = editFrom === 'url' ? FILES.length - (fileShift % FILES.length) : 0;
	return [
		`${file} as ${field}`,
		...(more?.second === true ? [`${after(1)} as ${field}`] : []),
		...(more?.mask === true ? [`${after(1 + back)} as mask`] : []),
	].join(', ');
}

/** What the list forbids for the model that is sent (Extra Fields may name another) is not sent. */
function unpublished({ number, kind, asked }: Charge, { more, options }: Flow): string[] {
	const isChecked = options.checkLimits !== false && asked.model === 'aurora-image-1';
	if (more?.size !== UNPUBLISHED || !isChecked || kind === 'message') return [];
	return [`#${number} was sent with the size ${UNPUBLISHED}, which is not published`];
}

/** Where a request goes, and how it says who sends it. */
function ofCredential({ call, host, headers, number }: Received, { more }: Flow, home: string) {
	const wrong = (what: string): string[] => [`request ${number} (${call}) ${what}`];
	if (call === 'listing') {
		const isRight = (host === home) === !(more?.isListedApart ?? false);
		return isRight ? [] : wrong(`went to ${host}`);
	}
	if (call !== 'message') return [];
	const { version = '2023-06-01', messageAuth = 'authorization' } = more ?? {};
	const name = messageAuth === 'xApiKey' ? 'x-api-key' : 'authorization';
	const names = ['x-api-key', 'authorization'].filter((one) => headers[one] !== undefined);
	if (names.join() !== name) return wrong(`has its key in ${names.join()}, not in ${name}`);
	const sent = headers['anthropic-version'];
	return sent === version ? [] : wrong(`has the version ${sent}, not ${version}`);
}

interface Named {
	name: string;
	value: string;
}

/** For so long a listing may be kept. */
const KEPT_MS = 60_000;

/** A listing that is older than it may be; one that failed is not kept at all. */
function old({ service }: Played, { outputs, startedAt, endedAt }: NodeRun): string[] {
	if (outputs.flat().length === 0 || outputs.flat().some(isFailed)) return [];
	const isFresh = service.books.requests.some(
		({ call, at }) => call === 'listing' && at >= startedAt - KEPT_MS && at <= endedAt,
	);
	return isFresh ? [] : ['a listing is older than a minute'];
}

/** Whether each item has brought the models that it asked for, in order and whole. */
function inListing(
	{ outputs, input, node, error }: NodeRun,
	{ flow }: Step,
	listed: ReturnType<typeof recordsOf>,
): string[] {
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
		const records = names.map((name) => listed.find(({ model }) => model === name));
		const wanted = Number(json.n) > 1 ? [{ format: 'jsonc', text }] : records;
		const got = own.map((item: Item) => item.json);
		const isSame = JSON.stringify(got) === JSON.stringify(wanted);
		return isSame ? [] : [`item ${index} of the listing is ${JSON.stringify(got).slice(0, 100)}`];
	});
}
