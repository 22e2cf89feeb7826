import { joinTurns, type ChatTurn } from './chat';
import type { JsonObject } from './json';

/** An assistant's turn as it came, and what of it survives on the way through an agent. */
export interface KeptTurn {
	/** Of its tool calls. */
	ids: string[];
	/** Its text, and a fingerprint of what it answers: for turns without tool calls. */
	text: string;
	after: string;
	blocks: JsonObject[];
	/** Its length as JSON. */
	size: number;
}

/** In characters of JSON. They are stored with the execution. */
const MOST_KEPT = 8_000_000;

/**
 * Keeps a turn that has to go back as it came: thinking blocks and their signatures (specification,
 * 2.7), which agents do not hand on, and tool calls, which they take apart.
 *
 * @param kept the turns so far; it is changed, the oldest give way where it grows too large
 * @param turns what was answered
 * @param blocks the answer
 */
export function keepTurn(
	kept: KeptTurn[],
	turns: ChatTurn[],
	blocks: JsonObject[],
	most = MOST_KEPT,
): void {
	const ids = toolIds(blocks, 'tool_use', 'id');
	const thought = blocks.some(({ type }) => typeof type === 'string' && type.endsWith('thinking'));
	if (ids.length === 0 && !thought) return;
	kept.push({
		ids,
		text: textOf(blocks),
		after: fingerprint(turns.at(-1)),
		blocks,
		size: JSON.stringify(blocks).length,
	});
	let total = kept.reduce((sum, { size }) => sum + size, 0);
	while (total > most && kept.length > 1) total -= kept.shift()?.size ?? 0;
}

/**
 * A conversation with every assistant's turn that was kept put back as it came. An agent may hand
 * back the calls of one turn as several turns with one call each: they become one again. A call
 * whose result is not there is left out, because the endpoint refuses it.
 *
 * @returns turns whose roles alternate
 */
export function restoreTurns(kept: KeptTurn[], turns: ChatTurn[]): ChatTurn[] {
	return joinTurns(withToolTurns(kept, turns)).map((turn, index, all) => {
		const blocks = turn.content;
		if (turn.role !== 'assistant' || toolIds(blocks, 'tool_use', 'id').length > 0) return turn;
		const text = textOf(blocks);
		const after = fingerprint(all[index - 1]);
		const own = kept.findLast(
			(one) => one.ids.length === 0 && one.text === text && one.after === after,
		);
		return own === undefined ? turn : { ...turn, content: own.blocks };
	});
}

function withToolTurns(kept: KeptTurn[], turns: ChatTurn[]): ChatTurn[] {
	const restored: ChatTurn[] = [];
	for (let index = 0; index < turns.length; ) {
		const turn = turns[index] as ChatTurn;
		const [id] = toolIds(turn.content, 'tool_use', 'id');
		const own = id === undefined ? undefined : kept.findLast(({ ids }) => ids.includes(id));
		if (own === undefined || turn.role !== 'assistant') {
			restored.push(turn);
			index += 1;
			continue;
		}
		const results: JsonObject[] = [];
		while (index < turns.length && belongsTo(own, turns[index] as ChatTurn)) {
			const blocks = (turns[index] as ChatTurn).content;
			for (const block of blocks) if (block.type === 'tool_result') results.push(block);
			index += 1;
		}
		const answered = new Set(toolIds(results, 'tool_result', 'tool_use_id'));
		restored.push({
			role: 'assistant',
			content: own.blocks.filter(
				({ type, id: call }) => type !== 'tool_use' || answered.has(String(call)),
			),
		});
		if (results.length > 0) restored.push({ role: 'user', content: results });
	}
	return restored;
}

/** Whether a turn holds nothing but calls of the kept one, or nothing but their results. */
function belongsTo({ ids }: KeptTurn, turn: ChatTurn): boolean {
	const blocks = turn.content;
	if (turn.role === 'assistant') {
		const calls = toolIds(blocks, 'tool_use', 'id');
		return calls.length > 0 && calls.every((id) => ids.includes(id));
	}
	return blocks.every(
		({ type, tool_use_id: id }) => type === 'tool_result' && ids.includes(String(id)),
	);
}

function toolIds(blocks: JsonObject[], type: string, field: string): string[] {
	return blocks.filter((block) => block.type === type).map((block) => String(block[field]));
}

function textOf(blocks: JsonObject[]): string {
	return blocks.map(({ type, text }) => (type === 'text' ? String(text) : '')).join('');
}

/** A short name for what a turn says. Two that have the same are hardly ever different. */
function fingerprint(turn: ChatTurn | undefined): string {
	const text = JSON.stringify(turn?.content ?? '');
	let high = 0x811c9dc5;
	let low = 0x01000193;
	for (let index = 0; index < text.length; index += 1) {
		const code = text.charCodeAt(index);
		high = Math.imul(high ^ code, 0x01000193);
		low = Math.imul(low ^ code, 0x85ebca6b);
	}
	return `${text.length}-${(high >>> 0).toString(36)}-${(low >>> 0).toString(36)}`;
}
