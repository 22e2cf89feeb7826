import { isJsonObject } from '../../util/json';
import { isBlankText, isThinking } from './blockKinds';
import type { Turn } from './message';

/**
 * The turns as the endpoint takes them: without blank texts, which some gateways write before a tool
 * call and the endpoint rejects when they come back, and without turns that have nothing but
 * thinking, such as a refusal. All other blocks stay unchanged, thinking with its signature too.
 */
export function withoutBlanks<T extends Turn>(turns: T[]): T[] {
	const sent = turns
		.map((turn) => ({ ...turn, content: withoutBlankTexts(turn.content) }))
		.filter(({ content }) => hasContent(content));
	// The turns around one that was left out have the same role.
	return sent.length === turns.length ? sent : joinTurns(sent);
}

/**
 * A stored conversation and what is added to it, as the endpoint takes them. What is added stays as it was
 * written, unless the turns before it had to be changed.
 */
export function continueTurns<T extends Turn>(history: T[], added: T[]): T[] {
	const earlier = withoutBlanks(history);
	const turns = [...earlier, ...added];
	return earlier.length === history.length ? turns : joinTurns(turns);
}

/** Joins consecutive turns of a role, because not every gateway accepts them. */
export function joinTurns<T extends Turn>(turns: T[]): T[] {
	const groups: T[][] = [];
	for (const turn of turns) {
		const group = groups.at(-1);
		if (group?.[0]?.role === turn.role) group.push(turn);
		else groups.push([turn]);
	}
	return groups.map((group) => {
		const [first] = group as [T];
		if (group.length === 1) return first;
		return { ...first, content: group.flatMap(({ content }) => asBlocks(content)) };
	});
}

/** @param content of a turn, or of a tool's result in it */
export function withoutBlankTexts<T>(content: T): T {
	if (!Array.isArray(content)) return content;
	return content
		.filter((block) => !isBlankText(block))
		.map((block: unknown) => {
			const isNested = isJsonObject(block) && Array.isArray(block.content);
			return isNested ? { ...block, content: withoutBlankTexts(block.content) } : block;
		}) as T;
}

const hasContent = (content: Turn['content']): boolean =>
	typeof content === 'string' ? content.trim() !== '' : !content.every(isThinking);

const asBlocks = (content: Turn['content']): unknown[] =>
	typeof content === 'string' ? [{ type: 'text', text: content }] : content;
