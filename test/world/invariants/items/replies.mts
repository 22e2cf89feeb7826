/** Of invariant 3: whether a reply is the one that was asked for, with its conversation and its calls. */
import type { Played, Step } from '../../execution/step.mjs';
import { isSpoilt, type Item } from '../evidence.mjs';
import { keyOf, turnsBefore } from '../wanted.mjs';

/** The text of a reply, simplified or as it came. */
export function replyIn({ text, content }: Item['json']): unknown {
	const blocks = Array.isArray(content) ? (content as Array<{ text?: unknown }>) : [];
	return text ?? blocks.find((block) => typeof block?.text === 'string')?.text;
}

export function ofReply(
	{ service }: Played,
	json: Item['json'],
	{ flow }: Step,
	wanted: string,
): string | undefined {
	const { messages, calls } = json;
	const text = replyIn(json);
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
	if (!charge.right || flow.more?.simplify === false) return undefined;
	const all = [
		...(turnsBefore(flow) ?? []),
		{ role: 'user', content: charge.prompt },
		{ role: 'assistant', content: charge.content },
	];
	return JSON.stringify(messages) === JSON.stringify(all)
		? undefined
		: 'its messages are not the conversation';
}
