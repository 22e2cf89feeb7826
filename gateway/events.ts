import { jsonObjectIn } from './chat';
import { isJsonObject, nonEmptyString, type JsonObject } from './json';

/** A server-sent event, or what of it matters here. */
export interface ServerEvent {
	event?: string;
	data: string;
}

/** What a streamed answer brings piece by piece. */
export type Piece =
	| { type: 'text' | 'thinking'; text: string }
	/** The name comes with the first piece, which may be empty; the pieces together are JSON. */
	| { type: 'toolCall'; id: string; name?: string; json: string };

/** In characters. An image in base64 is shorter. */
const LONGEST_EVENT = 32 * 1024 * 1024;

/**
 * Reads server-sent events from the bytes of a body. Events, lines and characters may be cut
 * anywhere. What is not closed by an empty line is no event.
 *
 * @throws RangeError if an event is longer than any answer
 */
export async function* readServerEvents(
	bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<ServerEvent> {
	const decoder = new TextDecoder();
	// The line that is not at its end yet, in the pieces in which it came: what was looked at once
	// is not looked at again.
	let rest: string[] = [];
	let length = 0;
	let endsInReturn = false;
	let event: string | undefined;
	let data: string[] = [];
	for await (const chunk of bytes) {
		const text = decoder.decode(chunk, { stream: true });
		if (text === '') continue;
		length += text.length;
		if (length > LONGEST_EVENT) throw new RangeError('An event of the stream is too large');
		// The second half of a line break whose first half ended the chunk before.
		const lines = text.slice(endsInReturn && text.startsWith('\n') ? 1 : 0).split(/\r\n|\n|\r/);
		endsInReturn = text.endsWith('\r');
		const last = lines.pop() ?? '';
		for (const end of lines) {
			const line = rest.length === 0 ? end : rest.join('') + end;
			rest = [];
			if (line === '') {
				if (data.length > 0) yield { event, data: data.join('\n') };
				event = undefined;
				data = [];
				length = last.length;
				continue;
			}
			const [field, value] = fieldOf(line);
			if (field === 'event') event = value;
			if (field === 'data') data.push(value);
		}
		if (last !== '') rest.push(last);
	}
}

function fieldOf(line: string): [name: string, value: string] {
	const colon = line.indexOf(':');
	if (colon < 0) return [line, ''];
	return [line.slice(0, colon), line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)];
}

/** Puts the events of a streamed answer together to the answer that would have come in one. */
export class MessageAssembly {
	private message: JsonObject = {};

	/** By number, which need not be a small one. */
	private readonly blocks = new Map<number, JsonObject>();

	/** The input of tool calls as it comes, by the block's number. */
	private readonly inputs = new Map<number, string>();

	private ended = false;

	/** Whether nothing more will come that matters: the answer is whole, or has failed. */
	get done(): boolean {
		return this.ended || this.message.error !== undefined;
	}

	/** Whether it is an answer: some gateways end it without saying so. */
	get whole(): boolean {
		return this.done || nonEmptyString(this.message.stop_reason) !== undefined;
	}

	/** The answer, in the form in which it comes when it is not streamed. */
	get body(): JsonObject {
		return this.message.error === undefined
			? { ...this.message, content: this.content() }
			: this.message;
	}

	/**
	 * Takes in one event.
	 *
	 * @returns what of it is to be handed on at once
	 */
	add({ event, data }: ServerEvent): Piece[] {
		const fields = jsonObjectIn(data) ?? {};
		switch (nonEmptyString(fields.type) ?? event) {
			case 'message_start':
				if (isJsonObject(fields.message)) this.message = fields.message;
				return [];
			case 'content_block_start':
				return this.open(Number(fields.index), fields.content_block);
			case 'content_block_delta':
				return this.grow(Number(fields.index), fields.delta);
			case 'content_block_stop':
				return this.close(Number(fields.index));
			case 'message_delta':
				merge(this.message, fields.delta);
				this.message.usage = merge(asObject(this.message.usage), fields.usage);
				return [];
			case 'message_stop':
				this.ended = true;
				return [];
			case 'error':
				this.message = { type: 'error', error: fields.error ?? fields.message ?? data };
				return [];
			default:
				return [];
		}
	}

	private content(): JsonObject[] {
		const numbered = [...this.blocks].sort(([one], [other]) => one - other);
		return numbered.map(([, block]) => block);
	}

	private open(index: number, given: unknown): Piece[] {
		if (!isJsonObject(given)) return [];
		const block = { ...given };
		this.blocks.set(index, block);
		if (block.type === 'tool_use') {
			return [{ type: 'toolCall', id: String(block.id), name: String(block.name), json: '' }];
		}
		// A block may come with its beginning, or whole.
		return textPieces(block.type, block.type === 'thinking' ? block.thinking : block.text);
	}

	private grow(index: number, delta: unknown): Piece[] {
		const block = this.blocks.get(index);
		if (block === undefined || !isJsonObject(delta)) return [];
		const append = (field: string, more: unknown): void => {
			block[field] = `${asText(block[field])}${asText(more)}`;
		};
		switch (delta.type) {
			case 'text_delta':
				append('text', delta.text);
				return textPieces('text', delta.text);
			case 'thinking_delta':
				append('thinking', delta.thinking);
				return textPieces('thinking', delta.thinking);
			case 'signature_delta':
				append('signature', delta.signature);
				return [];
			case 'citations_delta':
				if (!Array.isArray(block.citations)) block.citations = [];
				(block.citations as unknown[]).push(delta.citation);
				return [];
			case 'input_json_delta': {
				const json = asText(delta.partial_json);
				this.inputs.set(index, (this.inputs.get(index) ?? '') + json);
				return json === '' ? [] : [{ type: 'toolCall', id: String(block.id), json }];
			}
			default:
				return [];
		}
	}

	private close(index: number): Piece[] {
		const block = this.blocks.get(index);
		if (block?.type !== 'tool_use') return [];
		const json = this.inputs.get(index) ?? '';
		if (json !== '') {
			block.input = jsonObjectIn(json) ?? {};
			return [];
		}
		// Without a piece, the input is what the block began with.
		const whole = JSON.stringify(asObject(block.input));
		return whole === '{}' ? [] : [{ type: 'toolCall', id: String(block.id), json: whole }];
	}
}

function textPieces(type: unknown, given: unknown): Piece[] {
	const text = asText(given);
	return text !== '' && (type === 'text' || type === 'thinking') ? [{ type, text }] : [];
}

function asText(value: unknown): string {
	return typeof value === 'string' ? value : '';
}

/** Puts the fields of `more`, if it has any, into `target`: a copy for each event would take too long. */
function merge(target: JsonObject, more: unknown): JsonObject {
	for (const [name, value] of Object.entries(asObject(more))) {
		if (name !== '__proto__') target[name] = value;
	}
	return target;
}

function asObject(value: unknown): JsonObject {
	return isJsonObject(value) ? value : {};
}
