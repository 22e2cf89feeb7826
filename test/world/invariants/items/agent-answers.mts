/** Of invariant 3: what an agent was told belongs to what it asked for, and to one call only. */
import type { Played, Step } from '../../execution/step.mjs';
import { isTool } from '../../execution/workflow.mjs';
import type { Charge } from '../../service/books.mjs';
import { callsOf } from '../evidence.mjs';

export function ofCalls(played: Played, step: Step): string[] {
	const { flow, edited } = step;
	if (!isTool(flow)) return [];
	/** To which call something that was paid for has gone. */
	const gone = new Map<Charge, number>();
	return callsOf(step).flatMap(({ args, answer, failed }, place) => {
		const own = flow.make === 'nothing' ? String(args.prompt) : `${String(args.prompt)}${edited}`;
		return chargesIn(played, answer, step).flatMap((charge): string[] => {
			const other = `the tool's answer to "${own}" holds what was paid for "${charge.prompt}"`;
			if (charge.prompt !== own) return [other];
			// What failed may come to whoever asks for the same again.
			if (failed) return [];
			const before = gone.get(charge);
			gone.set(charge, place);
			if (before === undefined) return [];
			return [`the tool's answers ${before} and ${place} both hold #${charge.number}`];
		});
	});
}

/** What was paid for, by the images, tasks and replies in an answer. */
function chargesIn({ service: { books } }: Played, answer: string, { flow }: Step): Charge[] {
	const paths = answer.match(/\/pictures\/\d+-\d+\.png/g) ?? [];
	const kind = flow.make === 'edit' ? 'edit' : 'generation';
	const ids = flow.make === 'nothing' ? [] : answer.matchAll(/"taskId":("[^"]*"|\d+)/g);
	const replies = answer.match(/\breply \d+ to: /g) ?? [];
	const found = [
		...paths.map((path) => books.pictures.get(path)?.charge),
		...[...ids].map(([, id = '']) => books.task(kind, String(JSON.parse(id)))?.charge),
		...replies.map((start) => books.charges.find(({ reply }) => reply?.startsWith(start))),
	];
	return [...new Set(found.filter((charge) => charge !== undefined))];
}
