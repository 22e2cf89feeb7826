import { isToolCall } from './blockKinds';
import { jsonObjectIn } from './chat';
import { isJsonObject, nonEmptyString, numberOf, type JsonObject } from '../../util/json';
import type { ServerEvent } from '../../util/serverSentEvents';

interface Block {
	fields: JsonObject;
	/** The JSON of a tool call's input received so far. */
	inputJson: string;
}

const DELTA_FIELDS = new Map<unknown, 'text' | 'thinking' | 'signature'>([
	['text_delta', 'text'],
	['thinking_delta', 'thinking'],
	['signature_delta', 'signature'],
]);

/** Whether a usage counts tokens of a cache, read or written. */
const hasCached = (usage: JsonObject): boolean =>
	['cache_read_input_tokens', 'cache_creation_input_tokens'].some(
		(name) => numberOf(usage[name]) > 0,
	);

/** Builds the complete response from the events of a streamed one. */
export class MessageStream {
	private message: JsonObject = {};

	/** The blocks in the order of their beginnings. */
	private readonly blocks: Block[] = [];

	/** By number, the latest block. */
	private readonly numbered = new Map<unknown, Block>();

	/** The latest thinking. */
	private thinking?: Block;

	private started = false;

	private ended = false;

	/** Whether the response is complete or has failed, so that further events don't matter. */
	get done(): boolean {
		return this.ended || this.message.error !== undefined;
	}

	/** Whether the response is complete: some gateways send no event at its end. */
	get whole(): boolean {
		return this.done || nonEmptyString(this.message.stop_reason) !== undefined;
	}

	/** The gateway's ID of the response. */
	get id(): string | undefined {
		return nonEmptyString(this.message.id);
	}

	/** Whether the model has begun to call a tool. */
	get callsTool(): boolean {
		return this.blocks.some(({ fields }) => isToolCall(fields));
	}

	/**
	 * The response in the form of one that isn't streamed. The input of an incomplete tool call is
	 * the text of its JSON.
	 */
	get body(): JsonObject {
		const isEmpty = !this.started && this.blocks.length === 0;
		if (this.message.error !== undefined || isEmpty) return this.message;
		return { ...this.message, content: this.content };
	}

	private get content(): JsonObject[] {
		return this.blocks.map(({ fields, inputJson }) =>
			inputJson === '' ? fields : { ...fields, input: jsonObjectIn(inputJson) ?? inputJson },
		);
	}

	/**
	 * Adds an event.
	 *
	 * @returns the text of the response in it. Tool calls have none, so that half a call is never
	 *   shown; nor has thinking, which n8n doesn't show while it arrives
	 */
	add({ event, data }: ServerEvent): string {
		// The end of a stream in other protocols.
		if (data.trim() === '[DONE]') this.ended = true;
		const fields = jsonObjectIn(data) ?? {};
		const { index, content_block: block, delta } = fields;
		switch (nonEmptyString(fields.type) ?? event) {
			case 'message_start':
				// Some gateways repeat this event.
				if (!this.started && isJsonObject(fields.message)) this.message = fields.message;
				this.started = true;
				break;
			case 'content_block_start':
				if (isJsonObject(block)) this.addBlock(index, block);
				// A block may begin empty or complete.
				return isJsonObject(block) && block.type === 'text' ? asText(block.text) : '';
			case 'content_block_delta':
				return isJsonObject(delta) ? this.grow(index, delta) : '';
			case 'message_delta':
				this.update(fields);
				break;
			case 'message_stop':
				this.ended = true;
				break;
			case 'error':
				this.fail(fields.error ?? fields.message ?? data);
				break;
			case undefined:
				if (fields.error !== undefined) this.fail(fields.error);
		}
		return '';
	}

	private fail(error: unknown): void {
		// An error after the stop reason doesn't matter: the response is complete and charged.
		if (this.whole) this.ended = true;
		else {
			// An error after a part of the response, which may have been charged.
			const partial = this.blocks.length === 0 ? {} : { partial: this.content };
			this.message = { type: 'error', error, ...partial };
		}
	}

	private update({ delta, usage }: JsonObject): void {
		for (const name of ['stop_reason', 'stop_sequence', 'stop_details']) {
			const value = isJsonObject(delta) ? delta[name] : undefined;
			if (value !== undefined) this.message[name] = value ?? this.message[name] ?? null;
		}
		const total = isJsonObject(this.message.usage) ? this.message.usage : {};
		this.message.usage = total;
		const counts = isJsonObject(usage) ? usage : {};
		// Then the beginning has counted the cached tokens as input.
		const isCachedSince = hasCached(counts) && !hasCached(total);
		// Changed in place, because many events may follow one with many fields.
		for (const [name, value] of Object.entries(counts)) {
			// Some gateways repeat a count of the beginning as null or 0.
			const isCount = name === 'input_tokens' && isCachedSince;
			const isMissing =
				value === null || (value === 0 && typeof total[name] === 'number' && !isCount);
			if (name !== '__proto__' && !(isMissing && Object.hasOwn(total, name))) total[name] = value;
		}
	}

	private addBlock(index: unknown, fields: JsonObject): Block {
		const block = { fields, inputJson: '' };
		this.blocks.push(block);
		this.numbered.set(index, block);
		if (fields.type === 'thinking') this.thinking = block;
		return block;
	}

	private grow(index: unknown, delta: JsonObject): string {
		const name = DELTA_FIELDS.get(delta.type);
		// A gateway may omit the number.
		let block = this.numbered.get(index) ?? this.blocks.at(-1);
		// A block without beginning is charged like any other, and never part of one of another kind.
		if ((name === 'text' || name === 'thinking') && block?.fields.type !== name) {
			block = this.addBlock(index, { type: name });
		}
		if (name === 'signature' && block?.fields.type !== 'thinking') {
			block = this.thinking;
		}
		if (block === undefined) return '';
		const { fields } = block;
		if (delta.type === 'input_json_delta') block.inputJson += asText(delta.partial_json);
		if (delta.type === 'citations_delta') {
			if (Array.isArray(fields.citations)) fields.citations.push(delta.citation);
			else fields.citations = [delta.citation];
		}
		if (name === undefined) return '';
		fields[name] = asText(fields[name]) + asText(delta[name]);
		return name === 'text' ? asText(delta.text) : '';
	}
}

function asText(value: unknown): string {
	return typeof value === 'string' ? value : '';
}
