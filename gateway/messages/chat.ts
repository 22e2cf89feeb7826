import {
	isJsonObject,
	nonEmptyString,
	parseJson,
	withoutUndefined,
	type JsonObject,
} from '../../util/json';
import type { Turn } from './message';
import { GatewayError } from '../protocol/gatewayError';
import { quote } from '../../util/text';
import { isToolCall } from './blockKinds';
import { wireName } from './wireNames';
import { contentBlocks, hasBytes, isContentPart } from './partBlocks';

/** A part of a message in the terms of the AI Node SDK. */
export type ChatPart =
	| { type: 'text'; text: string }
	/** `providerMetadata.url` is the address of a file without data. */
	| {
			type: 'file';
			mediaType?: string;
			data?: string | Uint8Array;
			providerMetadata?: Record<string, unknown>;
	  }
	/** `input` is JSON. */
	| { type: 'tool-call'; toolCallId?: string; toolName: string; input: string }
	| { type: 'tool-result'; toolCallId: string; result: unknown; isError?: boolean }
	/** For display only: the gateway gets its thinking blocks back from `thinkingHistory`. */
	| { type: 'reasoning'; text: string }
	/** A part in the terms of its agent, chain or provider. */
	| { type: 'provider'; value?: unknown }
	| { type: 'invalid-tool-call' | 'citation' };

interface ChatMessage {
	role: string;
	content: ChatPart[];
}

/** A turn whose content is a list of blocks. */
export interface ChatTurn extends Turn {
	content: JsonObject[];
}

/** The part of a message that a chat consists of. */
export type Conversation = { system?: string; messages: ChatTurn[] };

/**
 * Converts a chat for the message endpoint: system messages come first, tool results belong to the
 * user, and consecutive messages of a role become one turn.
 *
 * @throws GatewayError if there is nothing to respond to, or a part that can't be sent
 */
export function toConversation(messages: ChatMessage[]): Conversation {
	const system = messages
		.filter(({ role }) => role === 'system')
		.map(systemText)
		.filter((text) => text.trim() !== '')
		.join('\n\n');
	const turns = messages
		.filter(({ role }) => role !== 'system')
		.map(({ role, content }) => ({
			role: role === 'assistant' ? 'assistant' : 'user',
			content: withoutCopies(content).flatMap((part) => blocksOf(part, role)),
		}))
		.filter(({ content }) => content.length > 0);
	if (turns.length === 0) {
		throw new GatewayError({
			message: 'The conversation is empty',
			description: 'Give the agent or chain a prompt. Nothing was sent.',
		});
	}
	return { system: nonEmptyString(system), messages: turns };
}

function systemText({ content }: ChatMessage): string {
	const blocks = content.flatMap((part) => blocksOf(part, 'system'));
	const other = blocks.find(({ type }) => type !== 'text');
	if (other === undefined) return blocks.map(({ text }) => String(text)).join('');
	throw new GatewayError({
		message: `The system message contains a part of the kind "${quote(String(other.type))}"`,
		description: 'It can only be text. Move files to the user message. Nothing was sent.',
	});
}

/**
 * A message without second copies of its tool calls in its content. n8n's agents put the calls of
 * other providers' models there alone, if these have thought.
 */
function withoutCopies(content: ChatPart[]): ChatPart[] {
	const callIds = new Set(content.filter(isCall).map(({ toolCallId }) => toolCallId));
	return content.filter((part) => {
		const block = unwrapped(part);
		return !(isJsonObject(block) && isToolCall(block) && callIds.has(block.id as string));
	});
}

/**
 * Parts of the assistant's turns that don't go back: its thinking, which `thinkingHistory` restores,
 * what is about its text, and pieces of tool calls.
 */
const NOT_SENT_BACK =
	/^(reasoning|(redacted_)?thinking|citation|tool_use|tool_call(_chunk)?|input_json_delta|invalid.tool.call|function_?call)$/i;

function blocksOf(given: ChatPart, role: string): JsonObject[] {
	const part = unwrapped(given);
	if (isCall(part)) {
		const { id, ...others } = jsonObjectIn(part.input) ?? {};
		// The memory of n8n's agents adds the ID of the call to its input.
		const input = id === undefined || id === part.toolCallId ? others : { id, ...others };
		const name = wireName(part.toolName, 'tool');
		return [{ type: 'tool_use', id: part.toolCallId, name, input }];
	}
	if (role === 'assistant' && isWholeCall(part)) {
		const { type, id, name, input } = part;
		return [{ type, id, name: wireName(String(name), 'tool'), input }];
	}
	if (isResult(part)) {
		return [
			withoutUndefined({
				type: 'tool_result',
				tool_use_id: part.toolCallId,
				content: resultContent(part.result),
				is_error: part.isError === true ? true : undefined,
			}),
		];
	}
	const { type } = isJsonObject(part) ? part : {};
	return role === 'assistant' && NOT_SENT_BACK.test(String(type)) ? [] : contentBlocks(part);
}

/** Whether a part is the call of a tool in the terms of its provider; pieces have a text as input. */
const isWholeCall = (part: unknown): part is JsonObject =>
	isJsonObject(part) && isToolCall(part) && isJsonObject(part.input);

const isCall = (part: unknown): part is Extract<ChatPart, { type: 'tool-call' }> =>
	isJsonObject(part) && part.type === 'tool-call';

const isResult = (part: unknown): part is Extract<ChatPart, { type: 'tool-result' }> =>
	isJsonObject(part) && part.type === 'tool-result';

/** The part of an agent or chain, which n8n's adapter passes on unread as a provider's. */
const unwrapped = (part: unknown): unknown =>
	isJsonObject(part) && part.type === 'provider' ? part.value : part;

/** A tool's result as text, or as blocks if it consists of texts and files. */
function resultContent(result: unknown): string | JsonObject[] {
	if (typeof result === 'string') return filesInText(result) ?? result;
	const parts = Array.isArray(result) ? result.map(unwrapped) : result;
	return isContent(parts) ? parts.flatMap(resultBlocks) : (JSON.stringify(parts) ?? '');
}

/**
 * The blocks of a part of a tool's result. Of one that can't be sent, such as a sound, the model is
 * told: the person can't change it, and the tool has run.
 */
function resultBlocks(part: unknown): JsonObject[] {
	try {
		return contentBlocks(part);
	} catch (error) {
		if (!(error instanceof GatewayError)) throw error as Error;
		return contentBlocks(`[${error.problem.message}]`);
	}
}

/**
 * Where the parts of an MCP tool's result are: n8n's agents write them as text, the newest ones as
 * `response` of an item, or only the structured content, in which servers repeat them.
 */
const PLACES_OF_PARTS = ['response', 'content', 'result'];

/**
 * The blocks of a result in JSON that has files in it. Undefined for any other text, because the JSON
 * of an API must reach the model as it is.
 */
function filesInText(text: string): JsonObject[] | undefined {
	if (!/^[[{]/.test(text)) return undefined;
	const value = parseJson(text);
	const item: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
	const place = isJsonObject(item)
		? PLACES_OF_PARTS.find((name) => isContent(item[name]))
		: undefined;
	const parts = place === undefined ? value : (item as JsonObject)[place];
	if (!isContent(parts) || !parts.some(hasBytes)) return undefined;
	const others = place === undefined ? {} : { ...(item as JsonObject), [place]: undefined };
	// What is beside them may repeat their bytes.
	const bytes = new Set(
		parts.flatMap(({ data, resource }) => {
			const found = isJsonObject(resource) ? resource.blob : data;
			return nonEmptyString(found) ?? [];
		}),
	);
	const beside = JSON.stringify(others, (_, part: unknown) =>
		typeof part === 'string' && bytes.has(part) ? '(see above)' : part,
	);
	return [...parts, ...(beside === '{}' ? [] : [beside])].flatMap(resultBlocks);
}

const isContent = (parts: unknown): parts is JsonObject[] =>
	Array.isArray(parts) && parts.length > 0 && parts.every(isContentPart);

/** The JSON object in a text, or undefined if there is none. */
export function jsonObjectIn(text: string): JsonObject | undefined {
	const value = parseJson(text);
	return isJsonObject(value) ? value : undefined;
}
