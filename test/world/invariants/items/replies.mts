/** Of invariant 3: whether a reply is the one that was asked for, with its conversation and its calls. */
import type { Played, Step } from '../../execution/step.mjs';
import { isSpoilt, type Item } from '../evidence.mjs';
import { keyOf, turnsBefore } from '../wanted.mjs';

export function ofReply(
	{ service }: Played,
	{ text, messages, calls }: Item['json'],
	{ flow }: Step,
	wanted: string,
): string | undefined {
	const charge = service.books.charges.find(({ reply }) => reply === text);
	if (charge === undefined) {
		return isSpoilt(service) ? undefined : 'its text is no reply of the gateway';
	}
	if (keyOf(charge) !== wanted) return `it is the reply to ${keyOf(charge)}, and not ${wanted}`;
	if (flow.make === 'chat') {
		const own = flow.calls ? [{ name: 'look_up', args: { query: charge.reply } }] : [];
		if (JSON.stringify(calls) === JSON.stringify(own) || isSpoilt(service)) return undefined;
		return `its tool calls are ${JSON.stringify(calls)}`;
	}
	const before = JSON.stringify(turnsBefore(flow));
	if (JSON.stringify(charge.before) !== before) return 'the conversation before was changed';
	if (!charge.right) return undefined;
	const all = [
		...(turnsBefore(flow) ?? []),
		{ role: 'user', content: charge.prompt },
		{ role: 'assistant', content: charge.content },
	];
	return JSON.stringify(messages) === JSON.stringify(all)
		? undefined
		: 'its messages are not the conversation';
}
