import { joinTurns, type ChatTurn } from './chat';
import { digestOf } from '../protocol/fingerprint';
import type { JsonObject } from '../util/json';

/** An assistant's turn as it came, and what of it survives on the way through an agent. */
export interface KeptTurn {
	/** Who said it: a signature is good for one model of one account. */
	speaker: string;
	/** Of its tool calls, as the agent knows them, in the order of the calls. */
	ids: string[];
	/** Its text, and fingerprints of what it responds to and of all that went before: for turns without tool calls. */
	text: string;
	after: string;
	history: string;
	/** As they go back to the gateway. */
	blocks: JsonObject[];
	/** Its length as JSON. */
	size: number;
}

/** A response that is to be kept. */
export interface Said {
	speaker: string;
	/** What it responds to, as it was sent. */
	turns: ChatTurn[];
	blocks: JsonObject[];
	/** @see KeptTurn.ids */
	ids: string[];
}

/** In characters of JSON. They are stored with the execution. */
const MOST_KEPT = 8_000_000;

/**
 * Keeps a turn that has to go back as it came: thinking blocks and their signatures (specification,
 * 2.7), which agents do not hand on, and tool calls, which they take apart.
 *
 * @param kept the turns so far; it is changed, the oldest give way where it grows too large
 */
export function keepTurn(
	kept: KeptTurn[],
	{ speaker, turns, blocks, ids }: Said,
	most = MOST_KEPT,
): void {
	const thought = blocks.some(isThinking);
	if (ids.length === 0 && !thought) return;
	const histories = historiesOf(turns);
	kept.push({
		speaker,
		ids,
		text: textOf(blocks),
		after: viewOf(turns.at(-1)),
		history: histories.at(-1) ?? '',
		blocks,
		size: JSON.stringify(blocks).length,
	});
	let total = kept.reduce((sum, { size }) => sum + size, 0);
	let gone = 0;
	while (total > most && gone < kept.length - 1) {
		total -= kept[gone]?.size ?? 0;
		gone += 1;
	}
	kept.splice(0, gone);
}

/** All IDs of tool calls that an agent has seen, or hands back. */
export function idsInUse(kept: KeptTurn[], turns: ChatTurn[]): Set<string> {
	const used = new Set(kept.flatMap(({ ids }) => ids));
	for (const { content } of turns) {
		for (const { type, id } of content) if (type === 'tool_use') used.add(String(id));
	}
	return used;
}

/**
 * A conversation with every assistant's turn that was kept put back as it came. An agent may hand
 * back the calls of one turn as several turns with one call each: they become one again. A call
 * without its result, and a result without its call, are left out, because the endpoint refuses them.
 *
 * @returns turns whose roles alternate
 */
export function restoreTurns(kept: KeptTurn[], turns: ChatTurn[], speaker: string): ChatTurn[] {
	const own = kept.filter((turn) => turn.speaker === speaker);
	const joined = inPairs(joinTurns(withToolTurns(own, turns)));
	const histories = historiesOf(joined);
	return joined.map((turn, index) => {
		const blocks = turn.content;
		if (turn.role !== 'assistant' || blocks.some(isCall)) return turn;
		const text = textOf(blocks);
		const after = viewOf(joined[index - 1]);
		const alike = own.filter(
			(one) => one.ids.length === 0 && one.text === text && one.after === after,
		);
		const before = histories[index - 1] ?? '';
		const [only] = alike;
		// An agent's memory may have forgotten the beginning; then it must be clear which one is meant.
		const found =
			alike.findLast(({ history }) => history === before) ??
			(alike.length === 1 ? only : undefined);
		return found === undefined ? turn : { ...turn, content: found.blocks };
	});
}

function withToolTurns(kept: KeptTurn[], turns: ChatTurn[]): ChatTurn[] {
	const byId = new Map(kept.flatMap((turn) => turn.ids.map((id) => [id, turn] as const)));
	const restored: ChatTurn[] = [];
	for (let index = 0; index < turns.length; ) {
		const turn = turns[index] as ChatTurn;
		const call = turn.content.find(isCall);
		const own = call === undefined ? undefined : byId.get(String(call.id));
		if (own === undefined || turn.role !== 'assistant') {
			restored.push(turn);
			index += 1;
			continue;
		}
		const results = new Map<string, JsonObject>();
		while (index < turns.length && belongsTo(own, turns[index] as ChatTurn)) {
			for (const block of (turns[index] as ChatTurn).content) {
				if (isResult(block)) results.set(String(block.tool_use_id), block);
			}
			index += 1;
		}
		restored.push(...asItCame(own, results));
	}
	return restored;
}

/** A kept turn and the results of its calls, by the IDs that the gateway knows. */
function asItCame({ ids, blocks }: KeptTurn, results: Map<string, JsonObject>): ChatTurn[] {
	let calls = 0;
	const renamed: JsonObject[] = [];
	const content = blocks.filter((block) => {
		if (!isCall(block)) return true;
		const result = results.get(ids[calls] ?? '');
		calls += 1;
		if (result === undefined) return false;
		renamed.push({ ...result, tool_use_id: block.id });
		return true;
	});
	const turn: ChatTurn = { role: 'assistant', content };
	if (renamed.length > 0) return [turn, { role: 'user', content: renamed }];
	// Thoughts alone are no turn.
	return content.every(isThinking) ? [] : [turn];
}

/** Whether a turn holds nothing but calls of the kept one, or nothing but their results. */
function belongsTo({ ids }: KeptTurn, { role, content }: ChatTurn): boolean {
	if (role === 'assistant') {
		const calls = content.filter(isCall);
		return calls.length > 0 && calls.every(({ id }) => ids.includes(String(id)));
	}
	return content.every((block) => isResult(block) && ids.includes(String(block.tool_use_id)));
}

/** Turns in which each call is followed by its result, and each result follows its call. */
function inPairs(turns: ChatTurn[]): ChatTurn[] {
	const idsIn = (turn: ChatTurn | undefined, is: (block: JsonObject) => boolean, field: string) =>
		new Set(turn?.content.filter(is).map((block) => block[field]));
	const paired = turns.map(({ role, content }, index) => {
		const isAssistant = role === 'assistant';
		const results = idsIn(isAssistant ? turns[index + 1] : undefined, isResult, 'tool_use_id');
		const calls = idsIn(isAssistant ? undefined : turns[index - 1], isCall, 'id');
		return {
			role,
			content: content.filter((block) => {
				if (isCall(block)) return results.has(block.id);
				return !isResult(block) || calls.has(block.tool_use_id);
			}),
		};
	});
	return joinTurns(paired.filter(({ content }) => !content.every(isThinking)));
}

const isCall = ({ type }: JsonObject): boolean => type === 'tool_use';

const isResult = ({ type }: JsonObject): boolean => type === 'tool_result';

const isThinking = ({ type }: JsonObject): boolean =>
	typeof type === 'string' && type.endsWith('thinking');

/** The text as an agent hands it back: without pieces that are blank. */
function textOf(blocks: JsonObject[]): string {
	const texts = blocks.map(({ type, text }) =>
		type === 'text' && typeof text === 'string' ? text : '',
	);
	return texts.filter((text) => text.trim() !== '').join('');
}

/** A fingerprint of what a turn says, thinking left out: not every agent hands it back. */
function viewOf(turn: ChatTurn | undefined): string {
	const blocks = turn?.content ?? [];
	return digestOf([
		turn?.role,
		textOf(blocks),
		blocks.filter((block) => block.type !== 'text' && !isThinking(block)),
	]);
}

/** For each turn a fingerprint of the conversation up to and with it. */
function historiesOf(turns: ChatTurn[]): string[] {
	let history = '';
	return turns.map((turn) => (history = digestOf([history, viewOf(turn)])));
}
