/** Of invariants 2 and 4: what is known of a task, of an item and of a run is told. */
import type { Played, Step } from '../../execution/step.mjs';
import { textOf } from '../../execution/text-of.mjs';
import { COLLECT, isTool, MAKE } from '../../execution/workflow.mjs';
import type { Received } from '../../service/books.mjs';
import { REASONS } from '../../service/service-setup.mjs';
import { ERROR_SAID, WORDS_IN_200 } from '../../service/shapes.mjs';
import {
	hasArrived,
	isFailed,
	isSpoilt,
	runsOf,
	shownBy,
	triesOf,
	type Breach,
	type Item,
	type NodeRun,
} from '../evidence.mjs';
import { pathOf, pictureIn } from './held-images.mjs';
import { waits } from '../waiting.mjs';

export function words(played: Played): Breach[] {
	const texts = played.steps.flatMap((step, index) => {
		if (step.ended !== 'done' || isTool(step.flow)) return [];
		const runs = runsOf(step, played.steps[index - 1]);
		return [
			...withoutReason(played, step),
			...unsaid(played, step, runs),
			...runs.flatMap((run) => [
				...withoutSummary(step, run),
				...passedOver(played, step, run),
				...missedInSilence(played, step, run),
				...unsaidForFree(played, step, run),
			]),
		];
	});
	return texts.map((text) => ({ invariant: 4, text }));
}

/** A poll that has told that its task has failed. */
const saysFailed = (one: Received): boolean =>
	one.call === 'poll' && one.meaning === 'failed' && one.status === 200 && hasArrived(one);

/** So much of a reason stands in every text, whatever is made of the rest. */
const KEPT = 7;

/** Whoever says that a task has failed says why. */
function withoutReason({ service: { books }, world }: Played, step: Step): string[] {
	const reason = REASONS[world.service.spelling % REASONS.length]!.slice(0, KEPT);
	const own = books.requests.filter((one) => one.step === step.number && one.call === 'poll');
	const ids = new Set(own.filter(saysFailed).map(({ taskId = '' }) => taskId));
	return [...ids].flatMap((id) => {
		// Of a response that was changed on its way, nobody knows what is left.
		const isSure = own.every((one) => one.taskId !== id || hasArrived(one));
		if (!isSure || books.kindsOf(id).length > 1) return [];
		const told = shownBy(step).split(`task ${id} ended with the status "`).slice(1);
		const bare = told.find((text) => !text.slice(text.indexOf('"') + 1).startsWith(`: ${reason}`));
		return bare === undefined ? [] : [`it does not say why task ${id} has failed`];
	});
}

/** Fewer images than were asked for have come, and a hint says so. */
function missedInSilence({ service }: Played, step: Step, run: NodeRun): string[] {
	// What an earlier try has paid for, that one has told of.
	const { lastAt } = triesOf(step, run);
	if (run.node !== MAKE || step.parks > 0 || isSpoilt(service)) return [];
	const came = new Set(run.outputs.flat().map((item) => pictureIn(item) ?? ''));
	const few = service.books.charges.filter(
		({ step: of, at, right, images, count }) =>
			of === step.number && at >= lastAt && right && images.length > 0 && images.length < count,
	);
	return few.flatMap(({ number, images, count }) => {
		const isThere = images.every((url) => came.has(pathOf(url)));
		const isTold = run.hints.includes(`${images.length} of ${count} images`);
		return !isThere || isTold ? [] : [`no hint says that images of #${number} are missing`];
	});
}

/** Where the gateway has said in a 200 what was wrong, its words are in the error of the item. */
function unsaid({ service: { books } }: Played, step: Step, runs: NodeRun[]): string[] {
	const makers = runs.filter(({ node }) => node === MAKE);
	const said = books.charges.filter(
		({ step: of, heard, told }) => of === step.number && heard && told.includes(WORDS_IN_200),
	);
	const failed = makers.flatMap(({ outputs }) => outputs.flat().filter(isFailed));
	const told = failed.filter(({ json }) => saysWords(json.error));
	// Each is an item of its own, as none is sent again; an error of the whole node is that of one item.
	const isWhole = makers.every(({ error }) => error === undefined) && step.parks === 0;
	if (!isWhole || told.length >= said.length) return [];
	return [`${said.length} responses said what was wrong, and ${told.length} errors say it`];
}

/** The same of the polls of a task, and of the list of models, where each response was one of these. */
function unsaidForFree({ service: { books } }: Played, step: Step, run: NodeRun): string[] {
	if (step.parks > 0 || step.flow.tries > 1) return [];
	const own = books.requests.filter(
		({ step: of, at }) => of === step.number && at >= run.startedAt && at <= run.endedAt,
	);
	const isSaid = (all: Received[]): boolean =>
		all.length > 0 && all.every(({ fate }) => fate.endsWith(ERROR_SAID));
	const silent = run.outputs.flat().filter(({ json }) => {
		const { taskId = '' } = (json.details ?? {}) as Details;
		const polls = own.filter((one) => one.call === 'poll' && one.taskId === taskId);
		return isSaid(polls) && /still open/.test(String(json.error)) && !saysWords(json.error);
	});
	const lists = own.filter(({ call }) => call === 'listing');
	const isHeard = lists.every(({ goneAt, dueAt = Infinity }) => (goneAt ?? dueAt) <= run.endedAt);
	const isListed = !isSaid(lists) || !isHeard || run.error !== undefined;
	return [
		...silent.map(({ json }) => `${run.node}: no word of the polls of ${textOf(json.details)}`),
		...(isListed || saysWords([run.hints, run.outputs]) ? [] : ['no word of the list of models']),
	];
}

const saysWords = (value: unknown): boolean => textOf(value).includes(WORDS_IN_200);

/** Where a user wants a summary, there is one. */
function withoutSummary({ flow, parks }: Step, { node, outputs }: NodeRun): string[] {
	const isMaker = node === MAKE && ['generation', 'edit'].includes(flow.make) && !flow.dryRun;
	const isWaiter = node === COLLECT && flow.collect === 'imageWait';
	if (flow.options.addSummary !== true || !(isMaker || isWaiter)) return [];
	// There the engine merges what failed with what entered, and may lose it.
	if (parks > 0 && flow.onError === 'continueErrorOutput') return [];
	const items = outputs.flat().map(({ json }) => json as { details?: Details; summary?: unknown });
	const isWhole = outputs.flat().some((item) => !isFailed(item));
	if (!isWhole && items.every(({ details }) => details?.taskId === undefined)) return [];
	const isThere = items.some(({ summary, details }) => (summary ?? details?.summary) !== undefined);
	return isThere ? [] : [`${node} has no summary`];
}

interface Details {
	taskId?: unknown;
	summary?: unknown;
}

/** Where one task ends the run of a node that only waits, its error names all that can still be had. */
function passedOver({ service: { books } }: Played, step: Step, run: NodeRun): string[] {
	const context = (run.error as { context?: { details?: Details } } | undefined)?.context;
	const isOfTask = context?.details?.taskId !== undefined && run.outputs.flat().length === 0;
	if (run.node !== COLLECT || !isOfTask || !waits(step.flow, run)) return [];
	const text = shownBy(step);
	return run.input.flatMap(({ json: { taskId } }) => {
		const polls = books.requests.filter((one) => one.call === 'poll' && one.taskId === taskId);
		// What is over has nothing to give; of what a changed response makes of it nobody knows.
		const mayBeHad = polls.every(
			(one) => one.meaning === 'passing' || one.meaning === 'open' || one.meaning === 'success',
		);
		return !mayBeHad || text.includes(String(taskId))
			? []
			: [`${run.node} has failed, and does not name task ${String(taskId)}`];
	});
}

/** What the item of a task says of it stays with its image, and with the task while it is open. */
export function lostFact(item: Item, given: Item['json']): string | undefined {
	const isOpen = pictureIn(item) === undefined && item.json.images === undefined;
	const facts = [
		'model',
		'prompt',
		'estimatedCost',
		'taskType',
		...(isOpen ? ['submittedAt'] : []),
	];
	const lost = facts.find((fact) => given[fact] !== undefined && item.json[fact] === undefined);
	return lost === undefined ? undefined : `its ${lost} is lost`;
}
