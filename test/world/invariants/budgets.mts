/** Of invariant 4: a budget holds, in the period for which it was set, and what is kept for it is true. */
import type { Played, Step } from '../execution/step.mjs';
import { isProduction, isTool } from '../execution/workflow.mjs';
import type { Charge, Received } from '../service/books.mjs';
import { PRICE } from '../service/published-models.mjs';
import { dayOf, ZONES } from '../time/calendar.mjs';
import { countedAmong, mayHaveCost, pricesAreTrue, unknownCost } from './accounting.mjs';
import { shownBy, type Breach } from './evidence.mjs';

export function budgets(played: Played): Breach[] {
	const { flow, service } = played.world;
	const isImage = flow.make === 'generation' || flow.make === 'edit';
	if (!isImage || flow.dryRun || !pricesAreTrue(service)) return [];
	const texts = played.steps.flatMap((step) => {
		const { budget = 0 } = step.flow.options;
		if (Number(budget) === 0) return [];
		return [...tooDear(played, step), ...ledger(played, step), ...refusals(played, step)];
	});
	return texts.map((text) => ({ invariant: 4, text }));
}

type Period = 'run' | 'day' | 'month';

const periodOf = ({ flow }: Step): Period => (flow.options.budgetPeriod ?? 'run') as Period;

/** The day or the month of a moment. */
const nameOf = (period: Period, { begins }: Played['world'], at: number): string =>
	period === 'run' ? '' : dayOf(begins, at).slice(0, period === 'day' ? 10 : 7);

const priceOf = ({ model, count }: Charge): number => count * (PRICE.get(model) ?? 0);
const sumOf = (charges: Charge[]): number =>
	charges.reduce((sum, charge) => sum + priceOf(charge), 0);
const shown = (amount: number): number => Math.round(amount * 100) / 100;

/**
 * From when to when a charge may be dated: whoever pays learns of it with the response, or, if none
 * comes, at the end at the latest.
 */
function spanOf({ steps }: Played, { at, step, heardAt }: Charge): [from: number, to: number] {
	return [at, Math.max(at, heardAt ?? steps[step]?.endedAt ?? at)];
}

/** What a period has cost for sure. */
function costOf(played: Played, charges: Charge[], period: Period, name: string): Charge[] {
	return charges.filter((charge) =>
		spanOf(played, charge).every((at) => nameOf(period, played.world, at) === name),
	);
}

/** Whether the prices were known whenever something was paid for. */
const isListed = (requests: Received[]): boolean =>
	requests.every(({ call, fate }) => call !== 'listing' || fate === 'answered');

/** A person who tries it out in the editor spends nothing of the day's budget. */
const isBooked = ({ steps }: Played, step: number): boolean => isProduction(steps[step]!.flow);

/** No period costs more than its budget, in all tries and rounds. */
function tooDear(played: Played, step: Step): string[] {
	const { books } = played.service;
	const { flow, number } = step;
	const budget = Number(flow.options.budget);
	const period = periodOf(step);
	if (period === 'run' && (flow.as === 'loop' || isTool(flow))) return [];
	if (isTool(flow) && (period === 'run' || !isProduction(flow))) return [];
	const isCounted = (one: { step: number }): boolean =>
		one.step === number || (period !== 'run' && one.step < number && isBooked(played, one.step));
	if (!isListed(books.requests.filter(isCounted))) return [];
	const charges = books.charges.filter((charge) => charge.step >= 0 && isCounted(charge));
	const names = new Set(charges.map(({ at }) => nameOf(period, played.world, at)));
	return [...names].flatMap((name) => {
		const cost = sumOf(costOf(played, charges, period, name));
		if (cost <= budget + 1e-9) return [];
		const when = name === '' ? 'in all' : `in ${name}`;
		return [`${shown(cost)} was charged ${when}, of a budget of ${budget}`];
	});
}

interface Kept {
	runs?: Array<{ day: string; amount: number }>;
}

/** What is kept for a budget of a day or a month is what was charged, on its day. */
function ledger(played: Played, step: Step): string[] {
	const { world, service, steps } = played;
	const { books } = service;
	const { flow, number, result, ended, endedAt } = step;
	const isKept = periodOf(step) !== 'run' && isProduction(flow);
	// What is stored is that of the last act; a Stop ends it too.
	const isEnded = ended === 'done' || ended === 'stopped';
	if (!isKept || step !== steps.at(-1) || result === undefined || !isEnded) return [];
	if (!isListed(books.requests)) return [];
	const nodes = Object.values(result.workflow.staticData ?? {}) as Array<Record<string, Kept>>;
	const rows = nodes.flatMap((node) => Object.values(node).flatMap(({ runs = [] }) => runs));
	const keptOn = (isDay: (day: string) => boolean): number =>
		rows.filter(({ day }) => isDay(day)).reduce((sum, { amount }) => sum + amount, 0);
	const charges = books.charges.filter(
		({ step: of }) => of >= 0 && of <= number && isBooked(played, of),
	);
	const days = new Set(charges.map(({ at }) => dayOf(world.begins, at)));
	const wrong = [...days].flatMap((name) => {
		const cost = sumOf(costOf(played, charges, 'day', name));
		const kept = keptOn((day) => day === name);
		// Those of an earlier month are thrown away.
		if (name.slice(0, 7) !== nameOf('month', world, endedAt) || kept >= cost - 1e-6) return [];
		return [`${shown(cost)} was charged on ${name}, and ${shown(kept)} is kept for the budget`];
	});
	// Estimated is what the form says, and charged what the extra fields say. What a Stop has cut off
	// may not have reached the gateway. Of a tool only what is missing is looked for.
	if (flow.extra !== undefined || ended === 'stopped' || isTool(flow)) return wrong;
	const most = sumOf(charges) + unknownCost(played, step);
	const kept = keptOn(() => true);
	if (kept <= most + 1e-6) return wrong;
	return [...wrong, `${kept} is kept for the budget, at most ${most} was spent`];
}

const REFUSAL = /remaining budget for (?:today|this month): ([\d.]+) of ([\d.]*\d)/g;
const RESET = /resets on (\d{4}-\d\d-\d\d) at 00:00 \(([^)]+)\)/g;

/** Longer takes no response on whose way nothing happens. */
const SLOWEST_MS = 30_000;

/** What a refusal says of a period is true of that one, and names its end. */
function refusals(played: Played, step: Step): string[] {
	const { world, steps } = played;
	const period = periodOf(step);
	if (period === 'run') return [];
	const text = shownBy(step);
	const resets = [...text.matchAll(RESET)];
	const zone = world.begins.zone ?? 'America/New_York';
	// An earlier act may have left its words.
	const ends = endsBetween(played, steps[0]!.startedAt, step.endedAt, period);
	const wrong = resets.flatMap(([, day = '', where = '']) => [
		...(ends.includes(day) ? [] : [`the budget is said to be reset on ${day}, not ${ends.at(-1)}`]),
		...(where in ZONES && where !== zone ? [`it names the time zone ${where}, not ${zone}`] : []),
	]);
	const days = new Set(resets.map(([, day]) => day));
	// Calls of a tool that are made at once set aside what they need.
	if (wrong.length > 0 || days.size !== 1 || isTool(step.flow)) return wrong;
	// Which period that is: the one that ends on that day.
	const [end = ''] = days;
	const isThere = (at: number): boolean => endsBetween(played, at, at, period).includes(end!);
	const dearest = Math.max(...played.input.map(({ n }) => Math.max(Number(n ?? 1), 2)));
	const sent = countedAmong(played, mayHaveCost(played, step), step, step.startedAt).filter(
		(request) => {
			const { at, step: of, fate } = request;
			const isQuick = !/, (but|late|byte)/.test(fate);
			return isThere(at) || isThere(isQuick ? at + SLOWEST_MS : (steps[of]?.endedAt ?? at));
		},
	);
	const most = sent.length * dearest * Math.max(...PRICE.values());
	return [...text.matchAll(REFUSAL)].flatMap(([, left, budget]) =>
		Number(left) >= Number(budget) - most - 1e-6
			? []
			: [`it says that ${left} is left of ${budget}, after ${sent.length} requests until ${end}`],
	);
}

/** The first days of the periods that follow those between two moments. */
function endsBetween(
	{ world: { begins } }: Played,
	from: number,
	to: number,
	period: 'day' | 'month',
): string[] {
	const days = new Set<string>();
	for (let at = from; at <= to; at += 3_600_000) days.add(dayOf(begins, at));
	days.add(dayOf(begins, to));
	return [...days].map((day) => {
		const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
		const next = period === 'day' ? Date.UTC(year, month - 1, date + 1) : Date.UTC(year, month, 1);
		return new Date(next).toISOString().slice(0, 10);
	});
}
