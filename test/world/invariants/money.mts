/** Invariants 1 and 2: nothing is paid for twice, and everything that was charged can be had. */
import type { Played, Step } from '../execution/play.mjs';
import { isTool, MAKE, nodesOf } from '../execution/workflow.mjs';
import type { Charge } from '../service/books.mjs';
import { isFailed, runsOf, shownBy, textOf, type Breach } from './evidence.mjs';

export function money(played: Played): Breach[] {
	return played.steps.flatMap((step) => [...twice(played, step), ...lost(played, step)]);
}

const keyOf = ({ prompt }: { prompt: string }): string => prompt;

function counted(keys: string[]): Map<string, number> {
	const counts = new Map<string, number>();
	for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
	return counts;
}

/** How often each prompt was deliberately asked for in an act. */
function asks(played: Played, step: Step): Map<string, number> {
	const { flow } = played.world;
	const prompts = played.input.map(({ prompt }) => `${String(prompt)}${step.edited}`);
	if (flow.make === 'nothing') return new Map();
	const earlier = played.steps[step.number - 1];
	if (isTool(flow) || step.act.kind === 'run') {
		const rounds = flow.as === 'loop' ? flow.rounds : 1;
		return counted(Array.from({ length: rounds }, () => prompts).flat());
	}
	// A retry goes on where it failed.
	if (earlier?.result?.data.resultData.lastNodeExecuted !== MAKE && nodesOf(flow).length > 1) {
		const rounds = flow.as === 'loop' ? flow.rounds - 1 : 0;
		return counted(Array.from({ length: rounds }, () => prompts).flat());
	}
	const made = earlier?.result?.runData[MAKE]?.filter(({ error }) => !error).length ?? 0;
	const rounds = flow.as === 'loop' ? flow.rounds - made : 1;
	return counted(Array.from({ length: Math.max(0, rounds) }, () => prompts).flat());
}

function twice(played: Played, step: Step): Breach[] {
	const charges = played.service.books.charges.filter((charge) => charge.step === step.number);
	const wanted = asks(played, step);
	const there = counted(toBeTaken(played, step).map(keyOf));
	const breaches: Breach[] = [];
	for (const [key, count] of counted(charges.map(keyOf))) {
		const most = Math.max(0, (wanted.get(key) ?? 0) - (there.get(key) ?? 0));
		if (count <= most) continue;
		const taken = there.get(key) ?? 0;
		const text = `"${key}" was charged ${count} times in act ${step.number}: asked for ${wanted.get(key) ?? 0} times, ${taken} of them already there`;
		breaches.push({ invariant: 1, text });
	}
	return breaches;
}

/** What earlier acts have brought and not handed out: a retry must take it instead of paying anew. */
function toBeTaken(played: Played, step: Step): Charge[] {
	if (step.number === 0 || isTool(played.world.flow)) return [];
	const { charges } = played.service.books;
	const given = played.steps
		.slice(0, step.number)
		.flatMap((one) => runsOf(played, one).flatMap(({ outputs }) => outputs.flat()))
		.filter((item) => !isFailed(item))
		.map(({ json }) => JSON.stringify(json))
		.join('\n');
	return charges.filter(
		(charge) =>
			charge.step < step.number &&
			charge.right &&
			charge.heard &&
			!charge.fails &&
			!given.includes(markOf(charge)),
	);
}

/** By what a charge is recognised where it has come out. */
const markOf = ({ taskId, images, reply }: Charge): string =>
	JSON.stringify(taskId ?? reply ?? images[0] ?? '').slice(1, -1);

const UNKNOWN =
	/may have been charged|outcome is unknown|outcome of the request is unknown|was in progress/i;

function lost(played: Played, step: Step): Breach[] {
	if (step.ended === 'crashed' || saysNothing(played, step)) return [];
	const { charges } = played.service.books;
	const shown = shownBy(played, step) + storedReplies(played, step);
	const own = charges.filter((charge) => charge.step === step.number && !charge.toldFailed);
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

/** A reply is kept with a failed execution, where a retry finds it. */
function storedReplies({ world }: Played, { result }: Step): string {
	if (world.flow.make !== 'message' || result?.status !== 'error') return '';
	return textOf(result.data.executionData?.contextData);
}

/** After a Stop the engine keeps a node's words only where it does not go on, and none of a tool's. */
function saysNothing({ world }: Played, { ended }: Step): boolean {
	const { flow } = world;
	// What survives restarts is waited for by an execution of its own, which keeps its data.
	const survives = flow.mode === 'wait' && flow.parkAfter !== undefined;
	const quiet =
		isTool(flow) || survives || flow.make === 'message' || flow.onError !== 'stopWorkflow';
	return ended === 'stopped' && quiet;
}

function isHad({ taskId, images, reply }: Charge, shown: string): boolean {
	if (reply !== undefined) return shown.includes(reply);
	if (taskId !== undefined && shown.includes(taskId)) return true;
	return images.every((url) => shown.includes(url.slice(url.indexOf('/pictures/'))));
}

/** Whether the caller could have read the ID in what had arrived. */
function toldId({ taskId, told }: Charge): boolean {
	if (taskId === undefined) return false;
	const at = told.indexOf(taskId);
	// Quoted to its end: half of an ID leads nowhere.
	return at >= 0 && at < 1900 && /["\s,}]/.test(told[at + taskId.length] ?? '');
}
