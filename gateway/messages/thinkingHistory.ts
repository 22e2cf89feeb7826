import type { ChatTurn } from './chat';
import { digestOf } from '../../util/digest';
import type { JsonObject } from '../../util/json';
import { isThinking, isToolCall, isToolResult, textsIn } from './blockKinds';
import { joinTurns, withoutBlanks, withoutBlankTexts } from './sentTurns';

/**
 * An assistant's turn as the gateway sent it, with its identity in the conversation of an agent.
 */
export interface StoredTurn {
	/** The digest of account and model: a signature is valid only for these. */
	model: string;
	/** The agent's IDs of its tool calls, in order. */
	ids: string[];
	/**
	 * The digest of its text and the conversation before it, which identifies a turn without tool
	 * calls.
	 */
	place: string;
	blocks: JsonObject[];
}

/** In characters of JSON, because the turns are stored with the execution. */
const MOST_STORED = 8_000_000;

/**
 * Stores a turn that must go back unchanged: thinking blocks with signatures (docs/protocol.md,
 * "Messages"), which agents drop, and tool calls, which they split.
 *
 * @param stored the turns so far, to which the new one is added; the oldest are dropped if they
 *   grow too large
 * @param turn the response; `turns` is the conversation that was sent
 */
export function keepTurn(
	stored: StoredTurn[],
	{ model, ids, blocks, turns }: Omit<StoredTurn, 'place'> & { turns: ChatTurn[] },
	most = MOST_STORED,
): void {
	if (ids.length === 0 && !blocks.some(isThinking)) return;
	const place = placeOf(historiesOf(turns).at(-1), blocks);
	stored.push({ model, ids, place, blocks });
	let size = JSON.stringify(stored).length;
	while (stored.length > 1 && size > most) size -= JSON.stringify(stored.shift()).length;
}

/**
 * Restores the stored turns of the assistant in a conversation. An agent may return the calls of
 * one turn as several turns, which become one again. A call without result, or a result without
 * call, is left out, because the endpoint rejects it.
 *
 * @param model digest of account and model
 * @returns turns with alternating roles, the first one the user's
 */
export function restoreTurns(stored: StoredTurn[], turns: ChatTurn[], model: string): ChatTurn[] {
	const own = stored.filter((turn) => turn.model === model);
	const kept = new Set<unknown>(own.flatMap(({ blocks }) => blocks));
	const restored = withOwnIds(restoreToolTurns(own, turns), kept);
	const joined = begunByUser(inPairs(joinTurns(withoutBlanks(restored)))).map(resultsFirst);
	const histories = historiesOf(joined);
	const byPlace = new Map(
		own.filter(({ ids }) => ids.length === 0).map(({ place, blocks }) => [place, blocks] as const),
	);
	return joined.map(({ role, content }, index) => {
		const isText = role === 'assistant' && !content.some(isToolCall);
		const blocks = isText ? byPlace.get(placeOf(histories[index - 1], content)) : undefined;
		return { role, content: withoutBlankTexts(blocks ?? content) };
	});
}

function restoreToolTurns(stored: StoredTurn[], turns: ChatTurn[]): ChatTurn[] {
	const byId = new Map(stored.flatMap((turn) => turn.ids.map((id) => [id, turn] as const)));
	const results = new Map(
		turns
			.flatMap(({ content }) => content.filter(isToolResult))
			.map((block) => [String(block.tool_use_id), block] as const),
	);
	const restored = new Set<StoredTurn>();
	return turns.flatMap(({ role, content }) => {
		const call = content.find((block) => isToolCall(block) && byId.has(String(block.id)));
		const turn = role === 'assistant' ? byId.get(String(call?.id)) : undefined;
		if (turn === undefined) {
			// The results of a stored turn's calls come after that turn.
			const isOwn = (block: JsonObject): boolean =>
				isToolResult(block) && byId.has(String(block.tool_use_id));
			return { role, content: content.filter((block) => !isOwn(block)) };
		}
		if (restored.has(turn)) return [];
		restored.add(turn);
		return withResults(turn, results);
	});
}

/** A stored turn and the results of its calls, with the gateway's IDs. */
function withResults({ ids, blocks }: StoredTurn, results: Map<string, JsonObject>): ChatTurn[] {
	const callIds = ids.values();
	const own: JsonObject[] = [];
	const content = blocks.filter((block) => {
		if (!isToolCall(block)) return true;
		const result = results.get(String(callIds.next().value));
		if (result !== undefined) own.push({ ...result, tool_use_id: block.id });
		return result !== undefined;
	});
	return [
		{ role: 'assistant', content },
		{ role: 'user', content: own },
	];
}

/**
 * Gives the calls of other models IDs of their own: the endpoint rejects malformed ones, and two that
 * are the same.
 *
 * @param kept blocks that stay unchanged
 */
function withOwnIds(turns: ChatTurn[], kept: Set<unknown>): ChatTurn[] {
	/** By an agent's ID, those of its calls that have no result yet. */
	const open = new Map<unknown, unknown[]>();
	return turns.map(({ role, content }, turn) => {
		if (role === 'assistant' && turns[turn - 1]?.role !== 'assistant') open.clear();
		const renamed = content.map((block, index) => {
			if (isToolResult(block)) {
				const tool_use_id = open.get(block.tool_use_id)?.shift() ?? block.tool_use_id;
				return { ...block, tool_use_id };
			}
			if (!isToolCall(block) || kept.has(block)) return block;
			const id = `call_${digestOf([turn, index, block.id]).slice(0, 24)}`;
			open.set(block.id, [...(open.get(block.id) ?? []), id]);
			return { ...block, id };
		});
		return { role, content: renamed };
	});
}

/** The endpoint rejects a turn with anything before the results of its tools. */
const resultsFirst = ({ role, content }: ChatTurn): ChatTurn => {
	const others = content.filter((block) => !isToolResult(block));
	return { role, content: [...content.filter(isToolResult), ...others] };
};

/** Removes calls that aren't followed by their result, and results that don't follow their call. */
function inPairs(turns: ChatTurn[]): ChatTurn[] {
	const idsIn = (turn: ChatTurn | undefined, field: string) =>
		new Set<unknown>(turn?.content.flatMap((block) => block[field] ?? []));
	const paired = turns.map(({ role, content }, index) => {
		const results = idsIn(turns[index + 1], 'tool_use_id');
		const calls = idsIn(turns[index - 1], 'id');
		return {
			role,
			content: content.filter((block) => {
				if (isToolCall(block)) return results.has(block.id);
				return !isToolResult(block) || calls.has(block.tool_use_id);
			}),
		};
	});
	// A turn with nothing but thinking is left out.
	return joinTurns(paired.filter(({ content }) => !content.every(isThinking)));
}

/**
 * A conversation with a turn of the user in front where there is none. Not every model accepts one
 * that begins with the assistant: after a greeting, or cut there by a memory of a few turns.
 */
function begunByUser(turns: ChatTurn[]): ChatTurn[] {
	if (turns[0]?.role !== 'assistant') return turns;
	return [{ role: 'user', content: [{ type: 'text', text: '…' }] }, ...turns];
}

/** The text in the agent's form, without blank pieces. */
const textOf = (blocks: JsonObject[]): string =>
	textsIn(blocks, 'text')
		.filter((text) => text.trim() !== '')
		.join('');

/** The digest of a turn's text and the conversation before it. */
const placeOf = (history: string | undefined, blocks: JsonObject[]): string =>
	digestOf([history, textOf(blocks)]);

/** By turn, the digest of the conversation up to and including it, without thinking. */
function historiesOf(turns: ChatTurn[]): string[] {
	let history = '';
	return turns.map(({ role, content }) => {
		const others = content.filter((block) => block.type !== 'text' && !isThinking(block));
		return (history = digestOf([history, role, textOf(content), others]));
	});
}
