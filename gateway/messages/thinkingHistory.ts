import { joinTurns, type ChatTurn } from './chat';
import { digestOf } from '../protocol/fingerprint';
import type { JsonObject } from '../util/json';

/** An assistant's turn as the gateway sent it, and how to find it in what an agent hands back. */
export interface StoredTurn {
	/** Digest of the account and the model: a signature is valid for these only. */
	model: string;
	/** The IDs under which the agent knows its tool calls, in their order. */
	ids: string[];
	/** Digest of its text and of the conversation before it: it finds a turn without tool calls. */
	place: string;
	blocks: JsonObject[];
	/** Its length as JSON. */
	size: number;
}

/** In characters of JSON. The turns are stored with the execution. */
const MOST_STORED = 8_000_000;

/**
 * Stores a turn that has to go back as it came: thinking blocks and their signatures (docs/protocol.md,
 * "Messages"), which agents do not hand on, and tool calls, which they take apart.
 *
 * @param stored the turns so far; it is changed, the oldest are dropped where it grows too large
 * @param turn the response, and in `turns` the conversation that was sent
 */
export function keepTurn(
	stored: StoredTurn[],
	{ model, ids, blocks, turns }: Omit<StoredTurn, 'place' | 'size'> & { turns: ChatTurn[] },
	most = MOST_STORED,
): void {
	if (ids.length === 0 && !blocks.some(isThinking)) return;
	const place = placeOf(historiesOf(turns).at(-1), blocks);
	stored.push({ model, ids, place, blocks, size: JSON.stringify(blocks).length });
	let total = stored.reduce((sum, { size }) => sum + size, 0);
	while (total > most && stored.length > 1) total -= stored.shift()?.size ?? 0;
}

/**
 * A conversation with every stored turn of the assistant put back as it came. An agent may hand back
 * the calls of one turn as several turns with one call each: they become one again. A call without
 * its result, and a result without its call, are left out, because the endpoint refuses them.
 *
 * @param model digest of the account and the model that gets the conversation
 * @returns turns whose roles alternate
 */
export function restoreTurns(stored: StoredTurn[], turns: ChatTurn[], model: string): ChatTurn[] {
	const own = stored.filter((turn) => turn.model === model);
	const joined = inPairs(joinTurns(restoreToolTurns(own, turns)));
	const histories = historiesOf(joined);
	const byPlace = new Map(
		own.filter(({ ids }) => ids.length === 0).map(({ place, blocks }) => [place, blocks] as const),
	);
	return joined.map(({ role, content }, index) => {
		const isText = role === 'assistant' && !content.some(isCall);
		const blocks = isText ? byPlace.get(placeOf(histories[index - 1], content)) : undefined;
		return { role, content: blocks ?? content };
	});
}

function restoreToolTurns(stored: StoredTurn[], turns: ChatTurn[]): ChatTurn[] {
	const byId = new Map(stored.flatMap((turn) => turn.ids.map((id) => [id, turn] as const)));
	const results = new Map(
		turns
			.flatMap(({ content }) => content.filter(isResult))
			.map((block) => [String(block.tool_use_id), block] as const),
	);
	const restored = new Set<StoredTurn>();
	return turns.flatMap(({ role, content }) => {
		const call = content.find((block) => isCall(block) && byId.has(String(block.id)));
		const turn = role === 'assistant' ? byId.get(String(call?.id)) : undefined;
		if (turn === undefined) {
			// The results of a stored turn's calls follow that turn.
			const isOwn = (block: JsonObject): boolean =>
				isResult(block) && byId.has(String(block.tool_use_id));
			return { role, content: content.filter((block) => !isOwn(block)) };
		}
		if (restored.has(turn)) return [];
		restored.add(turn);
		return withResults(turn, results);
	});
}

/** A stored turn and the results of its calls, by the IDs that the gateway knows. */
function withResults({ ids, blocks }: StoredTurn, results: Map<string, JsonObject>): ChatTurn[] {
	const callIds = ids.values();
	const own: JsonObject[] = [];
	const content = blocks.filter((block) => {
		if (!isCall(block)) return true;
		const result = results.get(String(callIds.next().value));
		if (result !== undefined) own.push({ ...result, tool_use_id: block.id });
		return result !== undefined;
	});
	return [
		{ role: 'assistant', content },
		{ role: 'user', content: own },
	];
}

/** Turns in which each call is followed by its result, and each result follows its call. */
function inPairs(turns: ChatTurn[]): ChatTurn[] {
	const idsIn = (turn: ChatTurn | undefined, field: string) =>
		new Set<unknown>(turn?.content.flatMap((block) => block[field] ?? []));
	const paired = turns.map(({ role, content }, index) => {
		const results = idsIn(turns[index + 1], 'tool_use_id');
		const calls = idsIn(turns[index - 1], 'id');
		return {
			role,
			content: content.filter((block) => {
				if (isCall(block)) return results.has(block.id);
				return !isResult(block) || calls.has(block.tool_use_id);
			}),
		};
	});
	// Thinking alone is no turn.
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

/** Digest of the text of a turn, and of the conversation before it. */
const placeOf = (history: string | undefined, blocks: JsonObject[]): string =>
	digestOf([history, textOf(blocks)]);

/** For each turn a digest of the conversation up to and with it, without the thinking. */
function historiesOf(turns: ChatTurn[]): string[] {
	let history = '';
	return turns.map(({ role, content }) => {
		const others = content.filter((block) => block.type !== 'text' && !isThinking(block));
		return (history = digestOf([history, role, textOf(content), others]));
	});
}
