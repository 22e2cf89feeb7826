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

/**
 * Reads server-sent events from the bytes of a body. Events, lines and characters may be cut
 * anywhere. What is not closed by an empty line is no event.
 */
export async function* readServerEvents(
	bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<ServerEvent> {
	const decoder = new TextDecoder();
	let rest = '';
	let event: string | undefined;
	let data: string[] = [];
	for await (const chunk of bytes) {
		rest += decoder.decode(chunk, { stream: true });
		// A carriage return at the end may be half a line break.
		const lines = rest.split(/\r\n|\n|\r(?!$)/);
		rest = lines.pop() ?? '';
		for (const line of lines) {
			if (line === '') {
				if (data.length > 0) yield { event, data: data.join('\n') };
				event = undefined;
				data = [];
				continue;
			}
			const [, field, value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
			if (field === 'event') event = value;
			if (field === 'data') data.push(value);
		}
	}
}

/** Puts the events of a streamed answer together to the answer that would have come in one. */
export class MessageAssembly {
	private message: JsonObject = {};

	private readonly blocks: JsonObject[] = [];

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
			? { ...this.message, content: this.blocks.filter(isJsonObject) }
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
				this.message = {
					...this.message,
					...(isJsonObject(fields.delta) ? fields.delta : {}),
					usage: { ...asObject(this.message.usage), ...asObject(fields.usage) },
				};
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

	private open(index: number, given: unknown): Piece[] {
		if (!isJsonObject(given)) return [];
		const block = { ...given };
		this.blocks[index] = block;
		if (block.type === 'tool_use') {
			return [{ type: 'toolCall', id: String(block.id), name: String(block.name), json: '' }];
		}
		// A block may come with its beginning, or whole.
		return textPieces(block.type, block.type === 'thinking' ? block.thinking : block.text);
	}

	private grow(index: number, delta: unknown): Piece[] {
		const block = this.blocks[index];
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
				block.citations = [
					...(Array.isArray(block.citations) ? (block.citations as unknown[]) : []),
					delta.citation,
				];
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
		const block = this.blocks[index];
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

function asObject(value: unknown): JsonObject {
	return isJsonObject(value) ? value : {};
}
