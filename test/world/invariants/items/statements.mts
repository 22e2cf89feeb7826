/** Of invariant 4: what is said of a task and of its wait is what the gateway has said, and was set. */
import type { Played, Step } from '../../execution/step.mjs';
import { COLLECT } from '../../execution/workflow.mjs';
import type { Received } from '../../service/books.mjs';
import {
	hasArrived,
	isFailed,
	isRetry,
	runsOf,
	shownBy,
	type Breach,
	type NodeRun,
} from '../evidence.mjs';
import { pictureIn } from './held-images.mjs';

export function statements(played: Played): Breach[] {
	const texts = played.steps.flatMap((step, index) => {
		// A retry may take over what an earlier act has said.
		if (step.ended !== 'done' || isRetry(step)) return [];
		const runs = runsOf(step, played.steps[index - 1]);
		return [
			...runs.flatMap((run) => [...ofStatus(played, step, run), ...ofKind(played, run)]),
			...ofTime(step),
			...ofPaid(step),
		];
	});
	return texts.map((text) => ({ invariant: 4, text }));
}

/** The status of an item is that of the last response about its task. */
function ofStatus({ service: { books } }: Played, step: Step, run: NodeRun): string[] {
	const { outputs, node, startedAt, endedAt } = run;
	const { flow, number, parks, restarts } = step;
	const waits = node === COLLECT ? flow.collect === 'imageWait' : flow.mode === 'wait';
	if (!waits || restarts > 0 || flow.tries > 1 || flow.as === 'loop') return [];
	return outputs.flat().flatMap((item) => {
		const { taskId, taskType, status } = item.json;
		const task = books.task(String(taskType), String(taskId));
		if (task === undefined || isFailed(item) || books.isAmbiguous(task.id)) return [];
		const said = books.requests.filter(
			(one) =>
				isOf(one, task) && one.step === number && (parks > 0 || isWithin(one, startedAt, endedAt)),
		);
		if (said.length === 0 || !said.every((one) => hasArrived(one))) return [];
		const last = said.findLast(({ meaning }) => meaning === 'open' || meaning === 'success');
		const word = last?.fate.replace(/^still /, '');
		// What is open at its deadline has no image, and what has finished has one.
		const isOver = pictureIn(item) !== undefined;
		if (word === undefined || isOver !== (last?.meaning === 'success')) return [];
		if (String(status).trim() === word) return [];
		return [`${node}: an item says that task ${task.id} is ${String(status)}, and it is ${word}`];
	});
}

const isOf = (one: Received, { id, kind }: { id: string; kind: string }): boolean =>
	one.call === 'poll' && one.taskId === id && one.kind === kind;

const isWithin = ({ at }: Received, from: number, to: number): boolean => at >= from && at <= to;

interface Details {
	taskId?: unknown;
	taskType?: unknown;
}

/** An error names a task by its kind. */
function ofKind({ service }: Played, { node, outputs, error }: NodeRun): string[] {
	const { books } = service;
	const context = (error as { context?: { details?: Details } } | undefined)?.context;
	const failed = outputs.flat().filter(isFailed);
	const all = [context?.details, ...failed.map(({ json }) => json.details as Details | undefined)];
	return all.flatMap((details) => {
		const { taskId, taskType } = details ?? {};
		const isKnown = taskType === undefined || books.kindsOf(taskId).length !== 1;
		if (isKnown || books.task(String(taskType), String(taskId)) !== undefined) return [];
		return [`${node}: an error calls ${String(taskId)} a task of the kind ${String(taskType)}`];
	});
}

const PAID = /finished and paid for. You can download it from (\S+)/g;

/** Only an image of the gateway's own is called paid for. */
function ofPaid(step: Step): string[] {
	const all = [...shownBy(step).matchAll(PAID)].map(([, address]) => address!);
	const wrong = all.find((address) => address.includes('/sources/'));
	return wrong === undefined ? [] : [`it says that ${wrong} is paid for`];
}

const WAITED = /(?:was still open after|couldn't be checked within) (\d+) s/g;

/** Whoever gives up a task says how long a user wanted to wait. */
function ofTime(step: Step): string[] {
	const { maxWait } = step.flow;
	const wrong = [...shownBy(step).matchAll(WAITED)].find(([, told]) => Number(told) !== maxWait);
	return wrong === undefined ? [] : [`it says that a task ${wrong[0]}, of ${maxWait} s`];
}
