/** What happened in a world, in about ten lines. */
import type { Breach } from './invariants/all.mjs';
import type { Played, Step } from './execution/step.mjs';
import type { Received } from './service/books.mjs';
import { callsOf } from './invariants/evidence.mjs';

/** @param most lines of what happened */
export function storyOf(played: Played, [first]: Breach[], most = 10): string {
	const { world, steps, service } = played;
	const began = steps[0]?.startedAt ?? 0;
	const lines = steps.flatMap((step) => {
		const own = service.books.requests.filter((request) => request.step === step.number);
		return [
			`${seconds(step.startedAt - began)} ${step.action.kind}${step.edited}`,
			...grouped(own).map((group) => lineFor(group, began)),
			`${seconds(step.endedAt - began)} ${endOf(step)}`,
		];
	});
	return [
		first === undefined ? 'Nothing is broken.' : `Invariant ${first.invariant}: ${first.text}`,
		`  flow: ${JSON.stringify({ ...world.flow, items: undefined })}`,
		`  items: ${JSON.stringify(played.input)}`,
		`  gateway: ${JSON.stringify(world.service)}`,
		...shortened(lines, most).map((line) => `  ${line.slice(0, 300)}`),
	].join('\n');
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`.padStart(9);

/** What is the same several times in a row is told once. */
function grouped(requests: Received[]): Received[][] {
	const groups: Received[][] = [];
	for (const request of requests) {
		const last = groups.at(-1)?.[0];
		const isSame = last?.call === request.call && last.fate === request.fate;
		if (isSame && last.call !== 'submit' && last.call !== 'sync') groups.at(-1)!.push(request);
		else groups.push([request]);
	}
	return groups;
}

function lineFor([first, ...more]: Received[], began: number): string {
	const { at, call, prompt, taskId, fate } = first!;
	const about = [taskId, prompt && `"${prompt}"`].filter((part) => part !== undefined).join(' ');
	const times = more.length === 0 ? '' : ` (${more.length + 1} times)`;
	return `${seconds(at - began)} ${call} ${about}: ${fate}${times}`;
}

function endOf(step: Step): string {
	const { result, ended } = step;
	if (result === undefined) return ended;
	const items = Object.entries(result.runData)
		.filter(([name]) => !['Give', 'Again', 'Agent'].includes(name))
		.map(([name, tasks]) => {
			const counts = tasks.map(({ data }) => data?.main?.map((list) => list?.length ?? 0));
			return `${name} gave ${JSON.stringify(counts)}`;
		});
	const error = result.error === undefined ? '' : `: ${result.error.message}`;
	const calls = callsOf(step).map(({ answer }) => answer.slice(0, 80));
	return [`${ended}, ${result.status}${error}`, ...items, ...calls].join('; ');
}

function shortened(lines: string[], most: number): string[] {
	if (lines.length <= most) return lines;
	const head = lines.slice(0, most / 2);
	const tail = lines.slice(-(most / 2 - 1));
	return [...head, `        … ${lines.length - head.length - tail.length} more lines`, ...tail];
}
