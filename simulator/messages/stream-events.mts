import type { Reply } from './reply.mjs';
import type { Block } from './conversation.mjs';

const pieceLength = 16;

/** A finished reply as the server-sent events of a stream, one text for each event. */
export function* events(reply: Reply): Generator<string> {
	const { content, stop_reason, stop_sequence, usage } = reply;
	const opening = { input_tokens: usage.input_tokens, output_tokens: 1 };
	const message = { ...reply, content: [], stop_reason: null, stop_sequence: null, usage: opening };
	yield event('message_start', { message });
	yield event('ping', {});
	for (const [index, block] of content.entries()) {
		yield event('content_block_start', { index, content_block: hollow(block) });
		for (const delta of deltas(block)) yield event('content_block_delta', { index, delta });
		yield event('content_block_stop', { index });
	}
	yield event('message_delta', { delta: { stop_reason, stop_sequence }, usage });
	yield event('message_stop', {});
}

function event(type: string, data: Record<string, unknown>): string {
	return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}

/** A block before its deltas have filled it. */
function hollow(block: Block): Block {
	if (block.type === 'tool_use') return { ...block, input: {} };
	if (block.type === 'thinking') return { ...block, thinking: '', signature: '' };
	return { ...block, text: '' };
}

function* deltas(block: Block): Generator<Record<string, unknown>> {
	if (block.type === 'tool_use') {
		const json = JSON.stringify(block.input);
		for (const piece of pieces(json)) yield { type: 'input_json_delta', partial_json: piece };
	} else if (block.type === 'thinking') {
		const thinking = String(block.thinking);
		for (const piece of pieces(thinking)) yield { type: 'thinking_delta', thinking: piece };
		yield { type: 'signature_delta', signature: block.signature };
	} else {
		for (const piece of pieces(String(block.text))) yield { type: 'text_delta', text: piece };
	}
}

function pieces(text: string): string[] {
	// By code points: half a character is no text.
	const characters = [...text];
	const count = Math.ceil(characters.length / pieceLength);
	return Array.from({ length: count }, (_, index) => {
		return characters.slice(index * pieceLength, (index + 1) * pieceLength).join('');
	});
}
