/** Of invariant 4: what a run says of itself is what the books say, whichever try has paid for it. */
import type { Played, Step } from '../../execution/step.mjs';
import { isTool, MAKE } from '../../execution/workflow.mjs';
import type { Books, Charge, Received } from '../../service/books.mjs';
import { isFailed, isRetry, triesOf, type Item, type NodeRun } from '../evidence.mjs';
import { pictureIn } from './held-images.mjs';

interface Summary {
	images?: number;
	tasks?: number;
	failedItems?: number;
	rateLimitedRequests?: number;
	reusedItems?: number;
	estimatedCost?: number;
}

/**
 * What is wrong with the summary of a run, if it has one.
 *
 * @param chargeOf what an item was paid with
 * @param unknownCost what may have been charged besides; undefined: the listing tells no true prices
 */
export function ofSummary(
	played: Played,
	step: Step,
	run: NodeRun,
	chargeOf: (item: Item) => Charge | undefined,
	unknownCost: number | undefined,
): string[] {
	if (step.ended !== 'done' || isTool(step.flow)) return [];
	const told = toldBy(run);
	if (told === undefined) return [];
	const { taskOf } = played.service.books;
	const items = run.outputs.flat();
	const good = items.filter((item) => !isFailed(item));
	// A node that only waits counts what it was given.
	const given = run.input.map(({ json }) => taskOf.call(played.service.books, json)?.charge);
	const all = run.node === MAKE ? good.map(chargeOf) : given;
	const own = [...new Set(all.filter((charge) => charge !== undefined))];
	const isWell =
		good.length === items.length &&
		!all.includes(undefined) &&
		own.every(({ right, heard }) => right && heard);
	const wrong = [
		...ofFailures(step, told, items),
		...ofReused(step, run, told, own, isWell),
		...(isWell ? ofSuccess(played, step, run, told, own) : []),
		...(unknownCost === undefined ? [] : ofCost(played, step, run, told, unknownCost)),
	];
	return wrong.map((text) => `the summary of ${run.node} says ${text}`);
}

/** By an error output the engine also hands on what the item had before. */
function toldBy({ outputs }: NodeRun): Summary | undefined {
	return outputs.flat().flatMap((item): Summary[] => {
		const { details, summary: own } = item.json as Told;
		const told = isFailed(item) ? details?.summary : own;
		return told === undefined ? [] : [told];
	})[0];
}

interface Told {
	details?: { summary?: Summary };
	summary?: Summary;
}

function differs(told: Summary, what: keyof Summary, real: number): string[] {
	const given = told[what] ?? 0;
	return Math.abs(given - real) < 1e-6 ? [] : [`${given} ${what} instead of ${real}`];
}

function ofFailures({ parks }: Step, told: Summary, items: Item[]): string[] {
	const failed = items.filter(isFailed);
	// Links are lost where the execution was suspended.
	if (failed.length > 0 && parks > 0) return [];
	const places = new Set(failed.map(({ pairedItem }) => JSON.stringify(pairedItem)));
	return differs(told, 'failedItems', places.size);
}

/** What was paid for before the last try began, that one reuses. */
function ofReused(
	step: Step,
	run: NodeRun,
	told: Summary,
	own: Charge[],
	isWell: boolean,
): string[] {
	const { count, lastAt } = triesOf(step, run);
	if (run.node !== MAKE) return differs(told, 'reusedItems', 0);
	// Which round of a loop a try belongs to cannot be told after a suspension.
	const isRecounted = step.parks > 0 && step.flow.as === 'loop';
	if (count === 0 || isRecounted) return [];
	const before = own.filter(({ at, step: of }) => of < step.number || at < lastAt).length;
	const isKnown = isWell || (count === 1 && !isRetry(step));
	// What an earlier try has paid for may also have failed.
	const real = isKnown ? before : Math.max(before, told.reusedItems ?? 0);
	return differs(told, 'reusedItems', real);
}

/** Where nothing has failed, everything that is counted has come out. */
function ofSuccess(
	{ service: { books } }: Played,
	step: Step,
	run: NodeRun,
	told: Summary,
	own: Charge[],
): string[] {
	const { flow, parks } = step;
	const isMaker = run.node === MAKE;
	const images = new Set(run.outputs.flat().flatMap((item) => pictureIn(item) ?? [])).size;
	const tasks = own.filter(({ taskId }) => taskId !== undefined).length;
	const isPriced = isMaker && own.every(({ cost }) => cost !== undefined);
	const { lastAt } = triesOf(step, run);
	const requests = books.requests.filter(
		({ at, step: of }) => of === step.number && at >= lastAt && at <= run.endedAt,
	);
	// The node that waits may begin in the millisecond in which the one that submits ends.
	const isOwn = ({ call, path }: Received): boolean =>
		['submit', 'sync'].includes(call) || path.includes('/sources/')
			? isMaker
			: !isMaker || flow.mode !== 'submit';
	const refused = requests.filter(
		({ call, status, goneAt }) => call !== 'listing' && status === 429 && goneAt === undefined,
	);
	// Where a redirect has led to, nobody can tell whose request it was.
	const isDirect = requests.every(({ call }) => call !== 'other');
	// A host of images has no quota, whatever it says.
	const isRepeated = ({ call, fate }: Received): boolean =>
		call === 'download' || !fate.includes('quota');
	const repeated = refused.filter((one) => isOwn(one) && isRepeated(one)).length;
	const isSeen = isDirect && parks === 0 && lastAt < Infinity && flow.as !== 'loop';
	return [
		...differs(told, 'images', images),
		...differs(told, 'tasks', tasks),
		...(isSeen ? differs(told, 'rateLimitedRequests', repeated) : []),
		...(isPriced && told.estimatedCost !== undefined ? ofPrices(told.estimatedCost, own) : []),
		...(!isMaker && told.estimatedCost !== undefined
			? ofPrices(told.estimatedCost, pricedTasks(books, run.input))
			: []),
	];
}

/** What was charged for the tasks whose items say what they cost: of each task once. */
function pricedTasks(books: Books, input: Item[]): Charge[] {
	const priced = input.filter(({ json }) => json.estimatedCost !== undefined);
	const tasks = new Set(priced.flatMap(({ json }) => books.taskOf(json) ?? []));
	return [...tasks].map(({ charge }) => charge);
}

/** Whether what is said of costs is what was charged, and may have been charged besides. */
function ofPrices(told: number, charges: Charge[], unknownCost = 0): string[] {
	const sum = (which: 'least' | 'most'): number =>
		charges.reduce((all, { cost }) => all + (cost?.[which] ?? 0), 0);
	const isRight = told >= sum('least') - 1e-6 && told <= sum('most') + unknownCost + 1e-6;
	return isRight ? [] : [`${told} estimatedCost, and ${sum('least')} was charged`];
}

/** What was sent and not answered may have been charged, and counts as well. */
function ofCost(
	{ service: { books } }: Played,
	step: Step,
	{ node }: NodeRun,
	{ estimatedCost }: Summary,
	unknownCost: number,
): string[] {
	const { flow, number, restarts } = step;
	if (restarts > 0 || isRetry(step) || flow.tries > 1 || flow.as === 'loop') return [];
	if (flow.extra !== undefined || node !== MAKE || estimatedCost === undefined) return [];
	const own = books.charges.filter((charge) => charge.step === number);
	if (!own.every(({ cost }) => cost !== undefined)) return [];
	return ofPrices(estimatedCost, own, unknownCost);
}
