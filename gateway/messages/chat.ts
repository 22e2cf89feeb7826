import { readDataUrl } from '../util/dataUrl';
import { detectImageType } from '../protocol/imageType';
import {
	isJsonObject,
	nonEmptyString,
	parseJson,
	withoutUndefined,
	type JsonObject,
} from '../util/json';
import type { Turn } from './message';
import { GatewayError } from '../util/gatewayError';

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
	| { type: 'invalid-tool-call' | 'citation' | 'provider' };

export interface ChatMessage {
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
 * @throws GatewayError if there is nothing to respond to, or a file that no model takes
 */
export function toConversation(messages: ChatMessage[]): Conversation {
	const system = messages
		.filter(({ role }) => role === 'system')
		.map(({ content }) => content.map((part) => (part.type === 'text' ? part.text : '')).join(''))
		.filter((text) => text.trim() !== '')
		.join('\n\n');
	const turns = messages
		.filter(({ role }) => role !== 'system')
		.map(({ role, content }) => ({
			role: role === 'assistant' ? 'assistant' : 'user',
			content: content.flatMap(blockOf),
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

function blockOf(part: ChatPart): JsonObject[] {
	switch (part.type) {
		case 'text':
			// The endpoint rejects blank texts.
			return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text }];
		case 'file':
			return [fileBlock(part)];
		case 'tool-call':
			return [
				{
					type: 'tool_use',
					id: part.toolCallId,
					name: part.toolName,
					input: jsonObjectIn(part.input) ?? {},
				},
			];
		case 'tool-result':
			return [
				withoutUndefined({
					type: 'tool_result',
					tool_use_id: part.toolCallId,
					content: resultContent(part.result),
					is_error: part.isError === true ? true : undefined,
				}),
			];
		default:
			return [];
	}
}

/** A tool's result as text, or as blocks if it consists of texts and files. */
function resultContent(result: unknown): string | JsonObject[] {
	if (typeof result === 'string') return result;
	const isPart = (part: unknown): part is ChatPart =>
		isJsonObject(part) &&
		(part.type === 'text' ? typeof part.text === 'string' : part.type === 'file');
	if (Array.isArray(result) && result.length > 0 && result.every(isPart)) {
		return result.flatMap(blockOf);
	}
	return JSON.stringify(result) ?? '';
}

function fileBlock({
	data,
	mediaType,
	providerMetadata,
}: Extract<ChatPart, { type: 'file' }>): JsonObject {
	const url = nonEmptyString(providerMetadata?.url) ?? '';
	const given = typeof data === 'string' ? data : data && Buffer.from(data).toString('base64');
	const inline = readDataUrl(given ?? url);
	const base64 = inline?.base64 ?? nonEmptyString(given) ?? '';
	if (base64 === '' && /^https?:/i.test(url)) {
		// The name is the only hint at the type of a file at an address; most are images.
		const isPdf = mediaType === 'application/pdf' || /\.pdf([?#]|$)/i.test(url);
		return { type: isPdf ? 'document' : 'image', source: { type: 'url', url } };
	}
	const named = nonEmptyString(inline?.mimeType) ?? nonEmptyString(mediaType) ?? 'unknown';
	const type = detectImageType(Buffer.from(base64.slice(0, 400), 'base64')) ?? named.toLowerCase();
	const source = { type: 'base64', media_type: type, data: base64 };
	if (type === 'application/pdf') return { type: 'document', source };
	if (type.startsWith('image/')) return { type: 'image', source };
	if (type.startsWith('text/')) {
		return { type: 'text', text: Buffer.from(base64, 'base64').toString('utf8') };
	}
	throw new GatewayError({
		message: `Files of the type "${type}" can't be sent to the model`,
		description: 'Use images, PDF documents or text files. Nothing was sent.',
	});
}

/** Whether a block of a message is a call of a tool. */
export const isToolCall = ({ type }: JsonObject): boolean => type === 'tool_use';

/**
 * The tools that the model may call, as the endpoint takes them; undefined if there are none.
 *
 * @param tools `inputSchema` is the JSON schema of a tool's input
 */
export function toolFields(
	tools: Array<{ name: string; description?: string; inputSchema: unknown }>,
): JsonObject[] | undefined {
	// An agent may bind its tools twice, and the endpoint rejects two with the same name.
	const named = new Map(tools.map((tool) => [tool.name, tool]));
	const fields = [...named.values()].map(({ name, description, inputSchema }) =>
		withoutUndefined({
			name,
			description: nonEmptyString(description),
			input_schema: { type: 'object', ...(isJsonObject(inputSchema) ? inputSchema : {}) },
		}),
	);
	return fields.length === 0 ? undefined : fields;
}

/** The JSON object in a text, or undefined if there is none. */
export function jsonObjectIn(text: string): JsonObject | undefined {
	const value = parseJson(text);
	return isJsonObject(value) ? value : undefined;
}
