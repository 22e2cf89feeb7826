import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';
import { GatewayError } from '../../../gateway/util/gatewayError';
import { digestOf } from '../../../gateway/protocol/fingerprint';
import {
	nameOf,
	nextPeriod,
	readLedger,
	spentIn,
	storedLedger,
	withSpendings,
	type BudgetLedger,
	type Spending,
} from '../../../gateway/validation/budgetLedger';
import { rounded } from '../../../gateway/validation/pricing';
import { localTime } from '../run/localTime';
import type { Budget } from './budget';
import { storeOf } from './budgetStore';

/**
 * What runs of this process have spent in this month, by workflow and ledger: an execution may wait
 * for days with the copy of its start, and then be the last one that is stored. An amount of 0 is what
 * a run has set aside and given back: a copy that was made meanwhile still has it.
 */
const recent = new Map<string, Map<string, Spending>>();
/** Runs that have set something aside and have not ended, by workflow and ledger. */
const inFlight = new Map<string, Set<PeriodBudget>>();
/**
 * Ledgers that were not stored when they were made, by workflow and node: how many runs are using
 * them, and when the last of these ended.
 */
const first = new Map<string, { id: string; runs: number; endedAt: number }>();
/** When a budget was last looked at, in milliseconds since 1970. */
let lastSeen = 0;
/** Of more ledgers than these, the one that was not used for longest, and is not in use, is forgotten. */
const MOST_LEDGERS = 200;
/** Of one ledger; where nothing is ever stored, the oldest are forgotten. */
const MOST_RUNS = 500;
let opened = 0;

/**
 * A day and a month are held against what is stored in the static data of the node, which n8n saves
 * when an execution in production ends; each execution works on a copy from its start, and the last
 * one to end writes. So a ledger lists the runs one by one: two copies can be put together without
 * counting a run twice.
 *
 * What runs of this process have spent is also kept in memory, until it is seen in a copy: a run that
 * began before another one ended counts it all the same. Between processes (queue mode) nothing can
 * be done about that: n8n gives a node no way to read its static data again.
 */
export class PeriodBudget implements Budget {
	readonly isSet = true;
	private readonly run: string;
	/** What each item is expected to cost, on the day on which it counts. */
	private readonly charges = new Map<number, { day: string; cost: number; isDecided: boolean }>();
	/** What of this run others were told last. */
	private written: Spending[] = [];
	private ledgerId = '';
	/** Under which runs of this process find each other. */
	private place = '';
	private newLedgerOf?: string;

	constructor(
		private readonly context: IExecuteFunctions,
		private readonly amount: number,
		private readonly period: 'day' | 'month',
	) {
		opened += 1;
		// A clock that was set back does not tell any more who began before whom.
		if (Date.now() < lastSeen) first.forEach(({ runs }, key) => runs > 0 || first.delete(key));
		lastSeen = Date.now();
		const executionId = String(context.getExecutionId() ?? '').slice(0, 40);
		this.run = `${executionId}-${digestOf([Date.now(), opened, Math.random()]).slice(0, 8)}`;
	}

	reserve(costs: Map<number, number | undefined>): void {
		const { date: today, timeZone } = this.now();
		const ledger = this.read(today);
		const known = [...costs].flatMap(([itemIndex, cost]) =>
			cost !== undefined && cost > 0 ? [[itemIndex, cost] as const] : [],
		);
		const needed = rounded(known.reduce((sum, [, cost]) => sum + cost, 0));
		const spent = spentIn(ledger, this.period === 'day' ? today : today.slice(0, 7));
		const left = Math.max(0, rounded(this.amount - spent));
		if (needed > left) {
			this.release();
			const span = this.period === 'day' ? 'today' : 'this month';
			throw new GatewayError({
				message: `The estimated cost of ${needed} exceeds the remaining budget for ${span}: ${left} of ${this.amount}`,
				description: `Spent ${span}: ${spent}. Left: ${left}. Needed for ${costs.size === 1 ? 'this request' : `these ${costs.size} requests`}: ${needed}. Nothing was sent. The budget resets on ${nextPeriod(today, this.period)} at 00:00 (${timeZone}). To continue now, increase 'Budget' in the options.`,
			});
		}
		for (const [itemIndex, cost] of known) {
			this.charges.set(itemIndex, { day: today, cost, isDecided: false });
		}
		if (known.length === 0) return;
		this.write(ledger);
		inFlight.set(this.place, (inFlight.get(this.place) ?? new Set()).add(this));
	}

	decided(itemIndex: number): void {
		const charge = this.charges.get(itemIndex);
		if (charge === undefined || charge.isDecided) return;
		charge.day = this.now().date;
		charge.isDecided = true;
	}

	settle(isPaid: (itemIndex: number) => boolean): void {
		if (this.ledgerId === '') return;
		const others = inFlight.get(this.place);
		others?.delete(this);
		if (others?.size === 0) inFlight.delete(this.place);
		if (this.charges.size === 0) return void this.release();
		for (const itemIndex of [...this.charges.keys()]) {
			if (!isPaid(itemIndex)) this.charges.delete(itemIndex);
			// What a Stop has cut off.
			else this.decided(itemIndex);
		}
		this.write(this.read(this.now().date));
		// n8n does not save it: to count it until the next restart would be a surprise.
		if (this.isManual()) this.forget();
		this.release();
	}

	private isManual(): boolean {
		return this.context.getMode() === 'manual';
	}

	private now(): { date: string; timeZone: string } {
		return localTime(this.context, new Date(Date.now()));
	}

	/** What this run has spent, or has set aside, by day. */
	private own(): Spending[] {
		const sums = new Map<string, number>();
		for (const { day, cost } of this.charges.values()) sums.set(day, (sums.get(day) ?? 0) + cost);
		const { run } = this;
		const isManual = this.isManual();
		return [...sums].map(([day, sum]) => ({ run, day, amount: rounded(sum), isManual }));
	}

	/** Midnight has passed: what has not been spent yet can only be spent on the new day. */
	private moveOn(): void {
		const { date } = this.now();
		for (const charge of this.charges.values()) if (!charge.isDecided) charge.day = date;
		this.remember();
	}

	/** Notes for all runs of this process what this one has spent or set aside, and no longer has. */
	private remember(): Spending[] {
		const own = this.own();
		const mine = recent.get(this.place);
		// What was set aside on a day on which nothing was spent in the end is taken out.
		const changed = [...this.written.map((spending) => ({ ...spending, amount: 0 })), ...own];
		for (const spending of changed) {
			mine?.delete(nameOf(spending));
			mine?.set(nameOf(spending), spending);
		}
		this.written = own;
		return changed;
	}

	/** What is stored, and what runs of this process have added that need not be in this copy. */
	private read(today: string): BudgetLedger {
		const { store, key } = storeOf(this.context);
		const stored = readLedger(store[key], today, '');
		const id = this.ledgerId || stored.id || this.adoptFirst();
		this.ledgerId = id;
		// A copy of a workflow may have been made with all that n8n had stored for it.
		this.place = digestOf([this.context.getWorkflow().id, id]);
		const mine = recent.get(this.place) ?? new Map<string, Spending>();
		recent.delete(this.place);
		recent.set(this.place, mine);
		forgetOldest(recent);
		for (const other of inFlight.get(this.place) ?? []) if (other !== this) other.moveOn();
		for (const [name, { day }] of mine) if (!day.startsWith(today.slice(0, 7))) mine.delete(name);
		return withSpendings({ ...stored, id }, [...mine.values()]);
	}

	private write(ledger: BudgetLedger): void {
		const { store, key } = storeOf(this.context);
		const whole = withSpendings(ledger, this.remember());
		// What n8n does not store of another execution is not stored with this one either.
		const isStored = ({ run, isManual }: Spending): boolean =>
			run === this.run || isManual !== true;
		const spendings = whole.spendings.filter(isStored);
		const { stored, summedUp } = storedLedger({ ...whole, spendings });
		store[key] = stored as IDataObject;
		const mine = recent.get(this.place);
		// Listed as well, it would count twice.
		for (const spending of summedUp) mine?.delete(nameOf(spending));
		for (const name of mine?.keys() ?? []) {
			if (mine === undefined || mine.size <= MOST_RUNS) break;
			mine.delete(name);
		}
	}

	/** It stays in the copy of its own execution: the node may run again in that. */
	private forget(): void {
		const mine = recent.get(this.place);
		for (const spending of this.own()) mine?.delete(nameOf(spending));
	}

	/**
	 * The first runs of a node must find each other too: side by side, or where an execution that began
	 * before the first one ended comes to its node later.
	 */
	private adoptFirst(): string {
		const { id, name } = this.context.getWorkflow();
		const key = digestOf([id, name, this.context.getNode().name]);
		const { establishedAt = Infinity } = this.context.getExecutionContext?.() ?? {};
		const known = first.get(key);
		const isKnown = known !== undefined && (known.runs > 0 || establishedAt < known.endedAt);
		const found = isKnown
			? known
			: { id: digestOf([key, this.run]).slice(0, 32), runs: 0, endedAt: 0 };
		found.runs += 1;
		first.delete(key);
		first.set(key, found);
		forgetOldest(first, ({ runs }) => runs > 0);
		this.newLedgerOf = key;
		return found.id;
	}

	private release(): void {
		lastSeen = Date.now();
		const found = first.get(this.newLedgerOf ?? '');
		this.newLedgerOf = undefined;
		if (found === undefined) return;
		found.runs -= 1;
		found.endedAt = Date.now();
	}
}

function forgetOldest<T>(ledgers: Map<string, T>, isInUse?: (ledger: T) => boolean): void {
	if (ledgers.size <= MOST_LEDGERS) return;
	for (const [key, ledger] of ledgers) {
		if (isInUse?.(ledger) !== true) return void ledgers.delete(key);
	}
}
