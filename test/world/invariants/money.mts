/** Invariants 1 and 2: nothing is paid for twice, and everything that was charged can be had. */
import type { Played, Step } from '../execution/step.mjs';
import { isTool, MAKE, nodesOf, survives } from '../execution/workflow.mjs';
import type { Charge } from '../service/books.mjs';
import { KEY_HEADER } from '../service/keys-of-world.mjs';
import { base64Of } from '../service/one-pixel-pictures.mjs';
import { historyOf, isFailed, isRetry, runsOf, shownBy, type Breach } from './evidence.mjs';
import { textOf } from '../execution/text-of.mjs';
import { costs, keyOf, wantedBy } from './wanted.mjs';

/** So much of what was submitted a crash may take along. */
const LAST_MOMENTS_MS = 2500;

export function money(played: Played): Breach[] {
	return played.steps.flatMap((step) => [
		...twice(played, step),
		...sentAgain(played, step),
		...givenUp(played, step),
		...lost(played, step),
	]);
}

export function counted(keys: string[]): Map<string, number> {
	const counts = new Map<string, number>();
	for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
	return counts;
}

/** How often each thing was deliberately asked for in an action. */
export function asks(
	played: Played,
	step: Step,
	nameOf: typeof wantedBy = wantedBy,
): Map<string, number> {
	const { flow } = step;
	if (!costs(flow)) return new Map();
	const once = step.input.map((item) => nameOf(step, item));
	const times = (rounds: number): Map<string, number> =>
		counted(Array.from({ length: Math.max(0, rounds) }, () => once).flat());
	const earlier = played.steps[step.number - 1];
	const all = flow.as === 'loop' ? flow.rounds : 1;
	if (isTool(flow) || !isRetry(step)) return times(all);
	// A retry goes on where it failed.
	if (earlier?.result?.data.resultData.lastNodeExecuted !== MAKE && nodesOf(flow).length > 1) {
		return times(all - 1);
	}
	const made = earlier?.result?.runData[MAKE]?.filter(({ error }) => !error).length ?? 0;
	return times(flow.as === 'loop' ? all - made : 1);
}

/** Retry On Fail sends a message of unknown outcome again: a person has said so. */
export const resendsUnknown = ({ flow: { make, tries } }: Step): boolean =>
	make === 'message' && tries > 1;

/** Whether a gateway is told the key of a payment, and charges it anew all the same. */
export const chargesAgain = ({ world }: Played): boolean =>
	['forgotten', 'ignored'].includes(world.service.keys);

function twice(played: Played, step: Step): Breach[] {
	if (chargesAgain(played)) return [];
	const isOnce = played.world.service.keys === 'honored';
	const charges = played.service.books.charges
		.filter((charge) => charge.step === step.number && !mayBeAnew(step, charge))
		// A whole response without a message would come again under the same key: the next one has another.
		.filter(({ heard, right }) => (heard ? right : isOnce) || !resendsUnknown(step));
	const wanted = asks(played, step);
	const there = counted(toBeTaken(played, step).map(keyOf));
	const breaches: Breach[] = [];
	for (const [key, count] of counted(charges.map(keyOf))) {
		const most = Math.max(0, (wanted.get(key) ?? 0) - (there.get(key) ?? 0));
		if (count <= most) continue;
		const taken = there.get(key) ?? 0;
		const text = `${key} was charged ${count} times in action ${step.number}: asked for ${wanted.get(key) ?? 0} times, ${taken} of them already there`;
		breaches.push({ invariant: 1, text });
	}
	return breaches;
}

/** A failed task that comes back is submitted anew. */
const mayBeAnew = ({ flow }: Step, { toldFailed }: Charge): boolean =>
	flow.as === 'back' && toldFailed === true;

/** What may have been accepted is not sent again, whether it was charged or not. */
function sentAgain(played: Played, step: Step): Breach[] {
	if (resendsUnknown(step) || played.world.service.keys !== 'none') return [];
	const wanted = asks(played, step, (of, item) => `${String(item.prompt)}${of.edited}`);
	const { requests, charges } = played.service.books;
	const sent = requests.filter(
		({ step: of, call, fate, status, prompt, taskId }) =>
			of === step.number &&
			!charges.some((charge) => charge.taskId === taskId && mayBeAnew(step, charge)) &&
			prompt !== undefined &&
			['submit', 'sync', 'message'].includes(call) &&
			!['connection refused', 'host not found'].includes(fate) &&
			(fate.startsWith('charged') || status === undefined || status >= 500),
	);
	const counts = counted(sent.map(({ prompt }) => String(prompt)));
	return [...counts].flatMap(([prompt, count]): Breach[] => {
		const most = wanted.get(prompt) ?? 0;
		if (count <= most) return [];
		const text = `"${prompt}" was sent ${count} times with an unknown outcome or a charge in action ${step.number}, instead of ${most}`;
		return [{ invariant: 1, text }];
	});
}

/** What is lost on its way. */
const PASSING_LOSS = /reset|cut after|nothing was answered|answered with \d+$/;

/** What a gateway knows by its key is asked for again, where nothing ends the run. */
function givenUp({ service, world }: Played, step: Step): Breach[] {
	const isFree = step.ended === 'done' && step.flow.onError !== 'stopWorkflow';
	if (world.service.keys === 'none' || !isFree) return [];
	const own = service.books.requests.filter(
		(request) => request.step === step.number && request.headers[KEY_HEADER] !== undefined,
	);
	const last = new Map(own.map((request) => [request.headers[KEY_HEADER], request]));
	const counts = counted(own.map(({ headers }) => headers[KEY_HEADER]!));
	return [...last.values()].flatMap(({ headers, prompt, fate }): Breach[] => {
		if (!PASSING_LOSS.test(fate) || counts.get(headers[KEY_HEADER]!)! > 1) return [];
		return [{ invariant: 1, text: `"${prompt}" was lost (${fate}), and not asked for again` }];
	});
}

/** What earlier actions have brought and not handed out: a retry must take it instead of paying anew. */
function toBeTaken(played: Played, step: Step): Charge[] {
	if (!isRetry(step) || isTool(step.flow)) return [];
	const { charges } = played.service.books;
	const before = historyOf(played, step).slice(0, -1);
	const given = before
		.flatMap((one) => runsOf(one).flatMap(({ outputs }) => outputs.flat()))
		.filter((item) => !isFailed(item))
		.map(({ json, binary }) => JSON.stringify([json, binary]))
		.join('\n');
	return charges.filter(
		(charge) =>
			before.some(({ number }) => number === charge.step) &&
			charge.right &&
			charge.heard &&
			!charge.fails &&
			!marksOf(charge).some((mark) => given.includes(mark)),
	);
}

/** By what a charge is recognized where it has come out. */
function marksOf({ taskId, images, reply }: Charge): string[] {
	const [image] = images;
	const marks = [taskId ?? reply ?? image ?? '', ...(image === undefined ? [] : [base64Of(image)])];
	return marks.map((mark) => JSON.stringify(mark).slice(1, -1));
}

const UNKNOWN =
	/may have (been )?charged|\bthe outcome is unknown|outcome of the request is unknown/i;

function lost(played: Played, step: Step): Breach[] {
	if (step.ended === 'crashed') return taken(played, step);
	// A hint says so, which n8n has for no tool, no run that has failed or was stored, and no earlier try.
	const { result, flow } = step;
	const isHinted =
		result?.status !== 'error' && !isTool(flow) && !flow.isStored && flow.tries === 1;
	if (saysNothing(step) || (chargesAgain(played) && !isHinted)) return [];
	const { charges } = played.service.books;
	const shown = shownBy(step) + storedResults(step);
	const own = charges.filter(
		(charge) =>
			charge.step === step.number &&
			!charge.toldFailed &&
			// An earlier try has told of it, in an error that n8n throws away: there is nothing to be had.
			!(charge.toldEmpty && step.flow.tries > 1) &&
			// There n8n drops the files of a tool, and after a Stop all data; such an image has no address.
			!(
				charge.inline &&
				charge.taskId === undefined &&
				(step.flow.as === 'subNodeTool' || step.ended === 'stopped')
			),
	);
	const missing = own.filter((charge) => !isHad(charge, shown));
	return missing.flatMap((charge): Breach[] => {
		const what = `#${charge.number} "${charge.prompt}"`;
		if (charge.right && charge.heard) {
			return [{ invariant: 2, text: `${what} was charged and answered, and cannot be had` }];
		}
		if (!UNKNOWN.test(shown)) {
			return [
				{ invariant: 2, text: `${what} was charged, and nothing says that it may have been` },
			];
		}
		if (toldId(charge)) {
			return [
				{ invariant: 2, text: `${what}: its ID ${charge.taskId} had arrived and is not named` },
			];
		}
		return [];
	});
}

/** What a crash takes: not what the package has n8n store, but for the last moments. */
function taken(played: Played, step: Step): Breach[] {
	const { flow, crashedAt = 0 } = step;
	// Without the option, it is the same as with n8n's own nodes.
	if (!survives(flow) || flow.make === 'nothing') return [];
	const saved = step.saved.join('\n');
	const own = played.service.books.charges.filter(
		(charge) =>
			charge.step === step.number &&
			charge.taskId !== undefined &&
			charge.right &&
			(charge.heardAt ?? Infinity) < crashedAt - LAST_MOMENTS_MS,
	);
	return own.flatMap((charge): Breach[] => {
		if (saved.includes(charge.taskId!)) return [];
		const what = `#${charge.number} "${charge.prompt}"`;
		return [{ invariant: 2, text: `${what} was known for long, and the crash has taken it` }];
	});
}

/** What is kept with a failed execution, where a retry finds it: replies, and images without an address. */
function storedResults({ result, flow }: Step): string {
	if (result?.status !== 'error') return '';
	const isMessage = flow.make === 'message';
	const context = result.data.executionData?.contextData;
	const texts = textOf(context);
	// What has an address has to be named where a person reads it.
	return isMessage ? texts : texts.split('\n').filter(isLong).join('\n');
}

const isLong = (text: string): boolean => text.length > 100;

/** After a Stop the engine keeps a node's words only where it does not go on, and none of a tool's. */
function saysNothing({ ended, flow }: Step): boolean {
	const isMessage = flow.make === 'message';
	// What survives restarts is waited for by an execution of its own, which keeps its data.
	const quiet = isTool(flow) || survives(flow) || isMessage || flow.onError !== 'stopWorkflow';
	return ended === 'stopped' && quiet;
}

function isHad({ taskId, images, reply }: Charge, shown: string): boolean {
	if (reply !== undefined) return shown.includes(reply);
	if (taskId !== undefined && shown.includes(taskId)) return true;
	return images.every(
		(url) => shown.includes(url.slice(url.indexOf('/pictures/'))) || shown.includes(base64Of(url)),
	);
}

/** Whether the caller could have read the ID in what had arrived. */
function toldId({ taskId, told }: Charge): boolean {
	if (taskId === undefined) return false;
	const at = told.indexOf(taskId);
	// Quoted to its end: half of an ID leads nowhere.
	return at >= 0 && at < 1900 && /["\s,}]/.test(told[at + taskId.length] ?? '');
}
