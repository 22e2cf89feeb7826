/** Of invariant 2: what failed items say of their charge is what the gateway's books say. */
import type { Played, Step } from '../execution/step.mjs';
import { isTool, MAKE } from '../execution/workflow.mjs';
import type { Charge } from '../service/books.mjs';
import { historyOf, isFailed, runsOf, type Breach, type Item, type NodeRun } from './evidence.mjs';
import { costs, keyOf, wantedBy } from './wanted.mjs';

export function toldCharges(played: Played): Breach[] {
	const texts = played.steps.flatMap((step, index) => {
		// A Stop ends the node midway; of suspended items, the engine pairs by place alone.
		const isClear = step.ended !== 'stopped' && step.suspensions === 0 && !isTool(step.flow);
		if (!isClear) return [];
		const runs = runsOf(step, played.steps[index - 1]);
		return runs.flatMap((run) =>
			run.node === MAKE ? ofMaker(played, step, run) : ofCollector(played, run),
		);
	});
	return texts.map((text) => ({ invariant: 2, text }));
}

interface Told {
	charged?: string;
	prompt?: unknown;
}

const toldBy = ({ json }: Item): Told => (json.details ?? json.message ?? {}) as Told;

function placeOf({ pairedItem }: Item): number {
	return typeof pairedItem === 'object' && !Array.isArray(pairedItem) ? pairedItem.item : -1;
}

/** Of a node that pays: "no" and "yes" hold over all actions of the execution. */
function ofMaker(played: Played, step: Step, { node, input, outputs, to }: NodeRun): string[] {
	const { flow } = step;
	if (!costs(flow) || flow.as === 'loop') return [];
	const history = historyOf(played, step);
	const actions = history.map(({ number }) => number);
	// What the crash before it has taken along is still paid for, where the gateway knows it by its key.
	const isAfterCrash = history[0]?.action.kind === 'retryCrashed';
	const first = actions[0]! - (isAfterCrash ? 1 : 0);
	// A failed task that has come back is submitted anew.
	const isOver = ({ toldFailed }: Charge): boolean => flow.as === 'back' && toldFailed === true;
	const earlier = played.service.books.charges.filter((one) => one.at < to);
	const charges = earlier.filter((one) => actions.includes(one.step));
	const items = outputs.flat();
	return input.flatMap(({ json }, place): string[] => {
		const failed = items.find((item) => isFailed(item) && placeOf(item) === place);
		if (failed === undefined) return [];
		const { charged } = toldBy(failed);
		const key = wantedBy(step, json);
		const same = step.input.filter((other) => wantedBy(step, other) === key).length;
		const own = charges.filter((charge) => keyOf(charge) === key && !isOver(charge));
		const ofPrompt = earlier.filter(
			(one) => one.step >= first && one.prompt.startsWith(String(json.prompt)),
		);
		if (charged === undefined)
			return [`${node}, item ${place}: its error says nothing of a charge`];
		// Of several equal items, another one may have been charged.
		if (charged === 'no' && same === 1 && own.length > 0) {
			return [`${node}, item ${place}: it says that it wasn't charged, but #${own[0]!.number} was`];
		}
		return charged === 'yes' && ofPrompt.length === 0
			? [`${node}, item ${place}: it says that it was charged, but nothing was`]
			: [];
	});
}

/** Of a node that gets tasks: a task of an item was charged, whatever becomes of it. */
function ofCollector({ service: { books } }: Played, { node, input, outputs }: NodeRun): string[] {
	return outputs.flat().flatMap((item): string[] => {
		const place = placeOf(item);
		const { taskId } = input[place]?.json ?? {};
		if (!isFailed(item) || taskId === undefined) return [];
		const isThere = ['generation', 'edit'].some((kind) => books.task(kind, String(taskId)));
		const { charged } = toldBy(item);
		const isRight = charged === 'maybe' || (charged === 'yes' && isThere);
		return isRight ? [] : [`${node}, item ${place}: it says "${charged}" of a task`];
	});
}
