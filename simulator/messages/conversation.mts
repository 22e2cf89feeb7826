import { messageRefusal } from '../http/gateway-response.mjs';
import { checkAttachment } from './attachments.mjs';
import { verify } from './signatures.mjs';

export type Block = { type: string; [field: string]: unknown };

export interface Turn {
	role: 'user' | 'assistant';
	content: Block[];
}

/** Marks the ID of a tool call that followed thinking: the thinking has to come back with it. */
export const thoughtful = 'toolu_t';

const userBlocks = ['text', 'image', 'document', 'tool_result'];
const assistantBlocks = ['text', 'thinking', 'redacted_thinking', 'tool_use'];

/** Checks `messages` and gives them with every content as blocks; throws a 400 that names the spot. */
export function readConversation(messages: unknown, thinking: boolean): Turn[] {
	if (!Array.isArray(messages) || messages.length === 0) {
		throw messageRefusal(400, 'messages: at least one message is required');
	}
	const turns = messages.map(readTurn);
	turns.forEach((turn, index) => checkTools(turn, turns[index - 1], index));
	const open = turns.at(-1)?.content.some(({ type }) => type === 'tool_result')
		? turns.at(-2)
		: undefined;
	if (thinking && open !== undefined) checkThoughtful(open, turns.length - 2);
	return turns;
}

/** The text of a turn, its blocks joined by line breaks. */
export function textOf({ content }: Turn): string {
	const texts = content.filter(({ type }) => type === 'text').map(({ text }) => String(text));
	return texts.join('\n');
}

/** The text of a tool's result, whether it came as a string or as blocks. */
export function resultText({ content }: Block): string {
	if (typeof content === 'string') return content;
	if (!Array.isArray(content)) return '';
	return content
		.map((block: Block) => (block.type === 'text' ? String(block.text) : ''))
		.join('\n');
}

function readTurn(message: unknown, index: number): Turn {
	const at = `messages.${index}`;
	if (typeof message !== 'object' || message === null) throw bad(at, 'must be an object');
	const { role, content } = message as Record<string, unknown>;
	if (role !== 'user' && role !== 'assistant') throw bad(`${at}.role`, 'must be user or assistant');
	const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
	if (!Array.isArray(blocks) || blocks.length === 0) {
		throw bad(`${at}.content`, 'must be a text or a list of blocks');
	}
	blocks.forEach((block, position) => checkBlock(block, role, `${at}.content.${position}`));
	return { role, content: blocks as Block[] };
}

function checkBlock(block: unknown, role: string, at: string): void {
	if (typeof block !== 'object' || block === null) throw bad(at, 'must be an object');
	const { type, text, thinking, signature, content } = block as Record<string, unknown>;
	const known = role === 'user' ? userBlocks : assistantBlocks;
	if (typeof type !== 'string' || !known.includes(type)) {
		throw bad(`${at}.type`, `${String(type)} is none of ${known.join(', ')}`);
	}
	if (type === 'text' && (typeof text !== 'string' || text.trim() === '')) {
		throw bad(at, 'text content blocks must be non-empty');
	}
	if (type === 'image' || type === 'document') checkAttachment(block as Block, at);
	if (type === 'tool_result' && Array.isArray(content)) {
		content.forEach((part, index) => checkBlock(part, role, `${at}.content.${index}`));
	}
	if (type !== 'thinking') return;
	if (typeof signature !== 'string')
		throw bad(`${at}.signature`, 'is required in a thinking block');
	if (typeof thinking !== 'string' || !verify(thinking, signature)) {
		throw bad(at, 'invalid signature: this thinking block was modified; send it back unchanged');
	}
}

/** Each tool call is answered in the next turn, and each answer belongs to a call before it. */
function checkTools(turn: Turn, before: Turn | undefined, index: number): void {
	const called = ids(before, 'tool_use', 'id');
	const answered = ids(turn, 'tool_result', 'tool_use_id');
	const stray = answered.find((id) => !called.includes(id));
	if (stray !== undefined) {
		throw bad(
			`messages.${index}`,
			`tool_result ${stray} answers no tool_use of the message before`,
		);
	}
	const silent = called.find((id) => !answered.includes(id));
	if (silent !== undefined) {
		throw bad(`messages.${index}`, `tool_use ${silent} of the message before has no tool_result`);
	}
}

function checkThoughtful({ content }: Turn, index: number): void {
	const thought = content.some(({ id }) => String(id).startsWith(thoughtful));
	if (!thought || /thinking$/.test(content[0]?.type ?? '')) return;
	throw bad(
		`messages.${index}.content.0`,
		'the thinking block before this tool_use is missing; send it back with its signature',
	);
}

function ids(turn: Turn | undefined, type: string, field: string): string[] {
	const blocks = turn?.content.filter((block) => block.type === type) ?? [];
	return blocks.map((block) => String(block[field]));
}

function bad(at: string, what: string) {
	return messageRefusal(400, `${at}: ${what}`);
}
