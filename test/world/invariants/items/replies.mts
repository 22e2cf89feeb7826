/** Of invariant 3: whether a reply is the one that was asked for, with its conversation and its calls. */
import { isDeepStrictEqual } from 'node:util';
import type { Played, Step } from '../../execution/step.mjs';
import { LOOKED_UP } from '../../plan/odd-settings.mjs';
import type { Books, Charge } from '../../service/books.mjs';
import { isSpoilt, type Item } from '../evidence.mjs';
import { THOUGHT } from '../../service/messages-of-world.mjs';
import { keyOf, turnsBefore } from '../wanted.mjs';

/** The text of a reply, simplified or as it came. */
export function replyIn({ text, content }: Item['json']): unknown {
	const blocks = Array.isArray(content) ? (content as Array<{ text?: unknown }>) : [];
	return text ?? blocks.find((block) => typeof block?.text === 'string')?.text;
}

interface Block {
	type?: unknown;
	id?: unknown;
}

/** What every reply says of its length: of the prompt, of itself, and of both. */
const USAGE = [5, 7, 12];

/** Whether the model was asked again with what it has said itself, unchanged, and with what its tool has. */
function ofNext({ charges }: Books, { next }: Item['json'], first: Charge): string | undefined {
	if (next === undefined) return undefined;
	const charge = charges.find(({ reply }) => reply === next);
	if (charge === undefined) return 'what came after its tool is no reply of the gateway';
	if (charge.prompt !== `${LOOKED_UP}${first.prompt}`) return `it goes on with ${charge.prompt}`;
	const [question, own] = (charge.before ?? []) as Array<{ content?: unknown } | undefined>;
	if (!JSON.stringify(question).includes(JSON.stringify(first.prompt)))
		return 'its question is lost';
	const { messages = [] } = charge.asked as { messages?: unknown[] };
	const called = (first.content ?? []).find((block) => (block as Block).type === 'tool_use');
	if (!JSON.stringify(messages.at(-1)).includes(JSON.stringify((called as Block)?.id))) {
		return 'what its tool has said belongs to no call';
	}
	return JSON.stringify(own?.content) === JSON.stringify(first.content)
		? undefined
		: `the gateway gets its turn back as ${JSON.stringify(own?.content).slice(0, 150)}`;
}

/** Which field of an item is not what the gateway has said. */
function different(json: Item['json'], said: Record<string, unknown>): string | undefined {
	const names = [...new Set([...Object.keys(json), ...Object.keys(said)])];
	const wrong = names.find((name) => !isDeepStrictEqual(json[name], said[name]));
	if (wrong === undefined) return undefined;
	return `its ${wrong} is ${JSON.stringify(json[wrong])?.slice(0, 150)}`;
}

export function ofReply(
	{ service }: Played,
	json: Item['json'],
	{ flow }: Step,
	wanted: string,
): string | undefined {
	const { calls, usage: counted } = json;
	const text = replyIn(json);
	const charge = service.books.charges.find(({ reply }) => reply === text);
	if (charge === undefined) {
		return isSpoilt(service) ? undefined : 'its text is no reply of the gateway';
	}
	if (keyOf(charge) !== wanted) return `it is the reply to ${keyOf(charge)}, and not ${wanted}`;
	if (flow.make === 'chat') {
		const own = flow.calls ? [{ name: 'look_up', args: { query: charge.reply } }] : [];
		if (isSpoilt(service)) return undefined;
		if (charge.right && !isDeepStrictEqual(counted, USAGE))
			return `its length is ${JSON.stringify(counted)}`;
		return JSON.stringify(calls) === JSON.stringify(own)
			? ofNext(service.books, json, charge)
			: `its tool calls are ${JSON.stringify(calls)}`;
	}
	const before = JSON.stringify(turnsBefore(flow));
	if (JSON.stringify(charge.before) !== before) return 'the conversation before was changed';
	if (!charge.right) return undefined;
	const isSimple = flow.more?.simplify !== false;
	if ((json.content === undefined) !== isSimple) return `it is ${isSimple ? 'not ' : ''}simplified`;
	const { body } = charge;
	const messages = [
		...(turnsBefore(flow) ?? []),
		{ role: 'user', content: charge.prompt },
		{ role: 'assistant', content: charge.content },
	];
	const { model, stop_reason: stopReason, usage } = body!;
	const said = { text: charge.reply, thinking: THOUGHT, model, stopReason, usage, messages };
	return different(json, isSimple ? said : body!);
}
