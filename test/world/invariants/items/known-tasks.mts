/** Of invariants 2 and 7: what was once known of a task is neither found out again nor denied. */
import type { Played, Step } from '../../execution/step.mjs';
import { textOf } from '../../execution/text-of.mjs';
import { COLLECT } from '../../execution/workflow.mjs';
import type { Received } from '../../service/books.mjs';
import { hasArrived, runsOf, shownBy, type Breach } from '../evidence.mjs';
import { stretchesOf } from '../repeats.mjs';

/** Older than that, a task that the gateway does not know is none. */
const OLD_MS = 35_000;

export function knownTasks(played: Played): Breach[] {
	const { books } = played.service;
	return played.steps.flatMap((step, index) => {
		const earlier = played.steps[index - 1];
		const own = books.requests.filter((request) => request.step === step.number);
		const stretches = step.restarts > 0 ? [] : stretchesOf(step, earlier, own);
		return [
			...stretches.flatMap((requests) => {
				const polls = requests.filter(
					({ call, taskId }) =>
						call === 'poll' && books.kindsOf(taskId).length === 1 && !books.isAmbiguous(taskId),
				);
				return [
					...byAnotherKind(polls),
					...hopedFor(played, step, polls),
					...givenUpAtOnce(played, step, polls),
				];
			}),
			...denied(played, step, earlier),
		];
	});
}

/** A task whose kind is known is looked for as the other kind only after a 404. */
function byAnotherKind(polls: Received[]): Breach[] {
	const known = new Map<string, Received>();
	const last = new Map<string, Received>();
	return polls.flatMap((poll): Breach[] => {
		const { taskId = '', kind, meaning, status } = poll;
		const before = last.get(taskId);
		const found = known.get(taskId);
		last.set(taskId, poll);
		if (meaning === 'open' && status === 200 && hasArrived(poll)) known.set(taskId, poll);
		const isLost = before?.kind === found?.kind && (before?.status ?? 404) !== 200;
		if (found === undefined || found.kind === kind || isLost) return [];
		const text = `the ${found.kind} task ${taskId}, whose kind was known, was polled as ${kind}`;
		return [{ invariant: 7, text }];
	});
}

/** A task that was submitted long ago does not become visible any more: its first 404 is the last. */
function hopedFor(
	{ service: { books }, input }: Played,
	{ flow }: Step,
	polls: Received[],
): Breach[] {
	const seen = new Set<string>();
	const gone = new Map<string, Received>();
	const lookedFrom = new Map<string, number>();
	const unsure = new Set<string>();
	return polls.flatMap((poll): Breach[] => {
		const { taskId = '', kind, meaning, at } = poll;
		// A look that is repeated counts from its first request, and that may be one as the other kind.
		const from = lookedFrom.get(taskId) ?? at;
		lookedFrom.set(taskId, from);
		const task = books.task(String(kind), taskId);
		if (task === undefined) {
			// Looked for as the other kind: where nothing certain came of it, a 404 as its own says little.
			if (meaning === 'missing' && hasArrived(poll)) unsure.delete(taskId);
			else unsure.add(taskId);
			if (unsure.has(taskId)) gone.delete(taskId);
			return [];
		}
		const item = input.find((one) => one.taskId === taskId);
		if (flow.make === 'nothing' && item?.submittedAt === undefined) return [];
		const before = gone.get(taskId);
		const bornAt = Math.max(task.createdAt, task.charge.heardAt ?? 0);
		const isOld = from - bornAt > OLD_MS;
		const isFirst = !seen.has(taskId);
		seen.add(taskId);
		const isSure = hasArrived(poll) && !unsure.has(taskId);
		if (isFirst && isOld && meaning === 'missing' && isSure) gone.set(taskId, poll);
		if (before === undefined) return [];
		const seconds = Math.round((before.at - bornAt) / 1000);
		const text = `the ${kind} task ${taskId} was polled again, though it was unknown ${seconds} s after its submit`;
		return [{ invariant: 7, text }];
	});
}

/** From one round of checks to the next, and then some. */
const ROUND_MS = 70_000;

/** What was there a moment ago is not gone because of one 404, in an execution that is suspended either. */
function givenUpAtOnce({ input }: Played, step: Step, polls: Received[]): Breach[] {
	const { flow, parks, ended } = step;
	const isAlone = flow.onError !== 'stopWorkflow' || input.length === 1;
	if (parks === 0 || ended !== 'done' || !isAlone) return [];
	const names = new Set(polls.map(({ kind, taskId }) => `${kind} task ${taskId}`));
	return [...names].flatMap((name): Breach[] => {
		const own = polls.filter(({ kind, taskId }) => `${kind} task ${taskId}` === name);
		const [before, last] = own.slice(-2);
		if (last === undefined) return [];
		const isOver = last.at - own[0]!.at > flow.maxWait * 1000 - ROUND_MS;
		if (before?.meaning !== 'open' || last.meaning !== 'missing' || isOver) return [];
		// An answer that nobody has heard tells nothing, and a look as the other kind may be refused for good.
		const looks = polls.filter(({ taskId, at }) => taskId === last.taskId && at >= last.at);
		if (!hasArrived(before) || looks.some(({ meaning }) => meaning === 'final')) return [];
		return [{ invariant: 4, text: `the ${name} was given up after a single 404` }];
	});
}

/** The lines under this heading name what can still be had. */
const TO_BE_HAD = /have finished or are still running[^\n]*\n((?:item \d+: [^\n]*(?:\n|$))+)/g;
const LINE = /item \d+: (generation|edit|image) task (.+)/g;

/** What the execution that checks is told in its last round ends with it. */
const CHECKED_IN_VAIN = /that checked the image tasks was stopped|while checking the image tasks/;

/** An error does not promise a task of which was said that it has failed, or that it is not there. */
function denied(played: Played, step: Step, earlier: Step | undefined): Breach[] {
	const { books } = played.service;
	return runsOf(step, earlier).flatMap(({ node, error }) => {
		// What was told in an earlier act, a node that only waits does not remember.
		const known = played.steps.filter(({ number }) =>
			node === COLLECT ? number === step.number : number <= step.number,
		);
		const { description = '' } = (error ?? {}) as { description?: string };
		const lines = [...String(description).matchAll(TO_BE_HAD)].map(([, list = '']) => list);
		const promised = [...lines.join('\n').matchAll(LINE)];
		// Nor what was told in an earlier try, or in an earlier round of a loop.
		const isAnew = node === COLLECT && (step.flow.tries > 1 || step.flow.as === 'loop');
		if (promised.length === 0 || isAnew) return [];
		if (CHECKED_IN_VAIN.test(textOf([error]))) return [];
		// At its deadline a task is given up, whatever was said of it last.
		const text = textOf([error]).replaceAll(/status check failed: The gateway has no/g, '');
		return promised.flatMap(([, kind = '', id = '']): Breach[] => {
			if (books.kindsOf(id).length !== 1 || books.isAmbiguous(id)) return [];
			// What arrives when another item has just failed, nobody reads.
			const hasFailed = known.some((one) => shownBy(one).includes(`task ${id} ended with`));
			const names = [`${kind} task ${id}`, `task ${id}`];
			const isUnknown = names.some((name) => text.includes(`has no ${name} (404)`));
			if (!hasFailed && !isUnknown) return [];
			const what = hasFailed ? 'has failed' : 'is not known to the gateway';
			return [
				{ invariant: 2, text: `${node} says that task ${id} can still be had, which ${what}` },
			];
		});
	});
}
