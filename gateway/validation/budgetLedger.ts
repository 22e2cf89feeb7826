import { finiteNumber, isJsonObject, type JsonObject } from '../util/json';
import { rounded } from './pricing';

/** What one run has spent on one day, in the gateway's currency. */
export interface Spending {
	/** Of the run: two with one name are the same. */
	run: string;
	/** `2026-11-22`, where the workflow is. */
	day: string;
	amount: number;
	/** Of a manual execution: it counts for others only as long as it is running. */
	isManual?: boolean;
}

/** What was spent in the current month. */
export interface BudgetLedger {
	/** Made up once; it tells two workflows of one name apart. */
	id: string;
	spendings: Spending[];
	/** Of runs that are not listed any more, by day. */
	earlier: Map<string, number>;
}

/** More runs than these are summed up by day, so that what is stored stays small. */
const MOST_RUNS = 500;
/** Whoever edits what is stored may leave anything there: no more of it is looked at. */
const MOST_READ = 5000;
const LONGEST_NAME = 100;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/**
 * Reads a ledger that was stored. It may have been edited, or be another program's: what is no
 * amount of a day counts as nothing.
 *
 * @param today entries of other months are left out
 * @param newId for a ledger that has none
 */
export function readLedger(stored: unknown, today: string, newId: string): BudgetLedger {
	const given: JsonObject = isJsonObject(stored) ? stored : {};
	const { id, runs, earlier } = given;
	const month = today.slice(0, 7);
	const rows = Array.isArray(runs) ? runs.slice(0, MOST_READ) : [];
	const byName = new Map<string, Spending>();
	for (const row of rows) {
		const spending = readSpending(row, month);
		// Where one stands there twice, the larger counts.
		const known = spending && byName.get(nameOf(spending));
		if (spending === undefined || (known?.amount ?? 0) >= spending.amount) continue;
		byName.set(nameOf(spending), spending);
	}
	const days = isJsonObject(earlier) ? Object.entries(earlier).slice(0, MOST_READ) : [];
	return {
		id: isName(id) ? id : newId,
		spendings: [...byName.values()],
		earlier: new Map(
			days.flatMap(([day, value]) => {
				const amount = readAmount(value);
				return isDayOf(day, month) && amount !== undefined ? [[day, amount] as const] : [];
			}),
		),
	};
}

/**
 * In a form that can be stored, with its oldest entries summed up by day.
 *
 * @returns also what is listed no more
 */
export function storedLedger({ id, spendings, earlier }: BudgetLedger): {
	stored: JsonObject;
	summedUp: Spending[];
} {
	const kept = spendings.slice(-MOST_RUNS);
	const summedUp = spendings.slice(0, -MOST_RUNS);
	const sums = new Map(earlier);
	for (const { day, amount } of summedUp) sums.set(day, rounded((sums.get(day) ?? 0) + amount));
	return {
		stored: {
			id,
			runs: kept.map(({ run, day, amount }) => ({ run, day, amount })),
			earlier: Object.fromEntries(sums),
		},
		summedUp,
	};
}

/** The same ledger with these entries in place of those of the same run and day; 0 takes one out. */
export function withSpendings(ledger: BudgetLedger, spendings: Spending[]): BudgetLedger {
	const merged = new Map(ledger.spendings.map((spending) => [nameOf(spending), spending]));
	for (const spending of spendings) {
		if (spending.amount > 0) merged.set(nameOf(spending), spending);
		else merged.delete(nameOf(spending));
	}
	return { ...ledger, spendings: [...merged.values()] };
}

/** What was spent on a day (`2026-11-22`) or in a month (`2026-11`). */
export function spentIn(ledger: BudgetLedger, period: string): number {
	let sum = 0;
	for (const { day, amount } of ledger.spendings) if (day.startsWith(period)) sum += amount;
	for (const [day, amount] of ledger.earlier) if (day.startsWith(period)) sum += amount;
	return rounded(sum);
}

/** The first day after a day, or after its month. */
export function nextPeriod(today: string, period: 'day' | 'month'): string {
	const [year = 0, month = 1, day = 1] = today.split('-').map(Number);
	const next = period === 'day' ? Date.UTC(year, month - 1, day + 1) : Date.UTC(year, month, 1);
	return new Date(next).toISOString().slice(0, 10);
}

/** What two entries of the same run and day have in common. */
export const nameOf = ({ run, day }: Spending): string => `${day} ${run}`;

const isName = (value: unknown): value is string =>
	typeof value === 'string' && value !== '' && value.length <= LONGEST_NAME;

const isDayOf = (day: unknown, month: string): day is string =>
	typeof day === 'string' && DAY.test(day) && day.startsWith(month);

function readAmount(value: unknown): number | undefined {
	const amount = finiteNumber(value);
	return amount !== undefined && amount > 0
		? rounded(Math.min(amount, Number.MAX_SAFE_INTEGER / 1e6))
		: undefined;
}

function readSpending(row: unknown, month: string): Spending | undefined {
	if (!isJsonObject(row)) return undefined;
	const { run, day } = row;
	const amount = readAmount(row.amount);
	return isName(run) && isDayOf(day, month) && amount !== undefined
		? { run, day, amount }
		: undefined;
}
