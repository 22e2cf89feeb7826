import { jsonObjectIn } from './chat';
import { isJsonObject, nonEmptyString, type JsonObject } from '../util/json';
import type { ServerEvent } from './serverSentEvents';

/** What a streamed response brings piece by piece. Tool calls do not: half of one must not get out. */
export interface Piece {
	type: 'text' | 'thinking';
	text: string;
}

interface Block {
	fields: JsonObject;
	/** What was added to its fields, in the pieces in which it came. */
	added: Map<string, string[]>;
	/** The input of a tool call, as JSON in pieces. */
	input: string[];
	closed: boolean;
}

const ADDITIONS: Record<string, 'text' | 'thinking' | 'signature'> = {
	text_delta: 'text',
	thinking_delta: 'thinking',
	signature_delta: 'signature',
};

/** Puts the events of a streamed response together to the response that would have come in one. */
export class MessageStream {
	private message: JsonObject = {};

	/** In the order in which they began. */
	private readonly blocks: Block[] = [];

	/** The latest block of each number. A gateway may leave the number out. */
	private readonly numbered = new Map<unknown, Block>();

	private begun = false;

	private ended = false;

	/** Whether nothing more will come that matters: the response is whole, or has failed. */
	get done(): boolean {
		return this.ended || this.message.error !== undefined;
	}

	/** Whether the response is whole: some gateways end it without saying so. */
	get whole(): boolean {
		return this.done || nonEmptyString(this.message.stop_reason) !== undefined;
	}

	/** What the gateway calls the response. */
	get id(): string | undefined {
		return nonEmptyString(this.message.id);
	}

	/** Whether the model has begun to call a tool. */
	get callsTool(): boolean {
		return this.blocks.some(({ fields }) => fields.type === 'tool_use');
	}

	/**
	 * The response, in the form in which it comes when it is not streamed. Where the input of a tool
	 * call is not whole, it is the text that there is of it instead of an object.
	 */
	get body(): JsonObject {
		if (this.message.error !== undefined || !this.begun) return this.message;
		const { content } = this.message;
		const whole = this.blocks.length === 0 && Array.isArray(content);
		return { ...this.message, content: whole ? content : this.blocks.map(contentOf) };
	}

	/**
	 * Takes in one event.
	 *
	 * @returns what of it is to be handed on at once
	 */
	add({ event, data }: ServerEvent): Piece[] {
		// What other protocols end their streams with.
		if (data.trim() === '[DONE]') this.ended = true;
		const fields = jsonObjectIn(data) ?? {};
		const type = nonEmptyString(fields.type) ?? event;
		switch (type) {
			case 'message_start':
				// Some repeat it; what came first counts.
				if (!this.begun && isJsonObject(fields.message)) this.message = { ...fields.message };
				this.begun = true;
				return [];
			case 'message':
				return this.takeWhole(fields);
			case 'content_block_start':
				return this.open(fields.index, fields.content_block);
			case 'content_block_delta':
				return isJsonObject(fields.delta) ? this.grow(fields.index, fields.delta) : [];
			case 'content_block_stop': {
				const block = this.blockAt(fields.index);
				if (block !== undefined) block.closed = true;
				return [];
			}
			case 'message_delta':
				this.update(fields);
				return [];
			case 'message_stop':
				this.ended = true;
				return [];
			case 'error':
				return this.fail(fields.error ?? fields.message ?? data);
			default:
				return type === undefined && fields.error !== undefined ? this.fail(fields.error) : [];
		}
	}

	private fail(error: unknown): Piece[] {
		// Behind its stop reason a response is whole, and paid.
		if (this.whole) this.ended = true;
		else this.message = { type: 'error', error };
		return [];
	}

	private update({ delta, usage }: JsonObject): void {
		for (const name of ['stop_reason', 'stop_sequence']) {
			const value = isJsonObject(delta) ? delta[name] : undefined;
			if (value !== undefined && (value !== null || this.message[name] === undefined)) {
				this.message[name] = value;
			}
		}
		this.message.usage = merge(asObject(this.message.usage), usage);
	}

	/** A response that comes in a single event. */
	private takeWhole(message: JsonObject): Piece[] {
		if (this.blocks.length > 0 || !Array.isArray(message.content)) return [];
		this.begun = true;
		this.message = message;
		this.ended = message.content.length > 0;
		return message.content
			.filter(isJsonObject)
			.flatMap(({ type, ...block }) =>
				pieces(type, type === 'thinking' ? block.thinking : block.text),
			);
	}

	private blockAt(index: unknown): Block | undefined {
		return index === undefined || index === null ? this.blocks.at(-1) : this.numbered.get(index);
	}

	private open(index: unknown, given: unknown): Piece[] {
		if (!isJsonObject(given)) return [];
		this.addBlock(index, { ...given });
		// A block may come with its beginning, or whole.
		return pieces(given.type, given.type === 'thinking' ? given.thinking : given.text);
	}

	private addBlock(index: unknown, fields: JsonObject): Block {
		const block: Block = { fields, added: new Map(), input: [], closed: false };
		this.begun = true;
		this.blocks.push(block);
		this.numbered.set(index, block);
		return block;
	}

	private grow(index: unknown, delta: JsonObject): Piece[] {
		const type = typeof delta.type === 'string' ? delta.type : '';
		const field = Object.hasOwn(ADDITIONS, type) ? ADDITIONS[type] : undefined;
		let block = this.blockAt(index);
		if (block === undefined) {
			// Its beginning is missing; what is said in it is paid for all the same.
			if (field === 'text' || field === 'thinking') block = this.addBlock(index, { type: field });
			else if (type === 'input_json_delta') block = this.addBlock(index, { type: 'tool_use' });
			else return [];
		}
		if (field !== undefined) {
			const more = asText(delta[field]);
			const added = block.added.get(field);
			if (added === undefined) block.added.set(field, [more]);
			else added.push(more);
			return pieces(field, more);
		}
		if (type === 'input_json_delta') block.input.push(asText(delta.partial_json));
		if (type === 'citations_delta') {
			const { citations } = block.fields;
			if (Array.isArray(citations)) citations.push(delta.citation);
			else block.fields.citations = [delta.citation];
		}
		return [];
	}
}

function contentOf({ fields, added, input, closed }: Block): JsonObject {
	const block = { ...fields };
	for (const [field, more] of added) block[field] = asText(fields[field]) + more.join('');
	if (block.type !== 'tool_use') return block;
	const json = input.join('');
	if (json !== '') return { ...block, input: jsonObjectIn(json) ?? json };
	// Without a piece, the input is what the block began with; an empty one may just not be there yet.
	const given = asObject(block.input);
	return { ...block, input: closed || Object.keys(given).length > 0 ? given : '' };
}

function pieces(type: unknown, given: unknown): Piece[] {
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
