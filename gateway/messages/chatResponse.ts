import { jsonObjectIn, type ChatPart } from './chat';
import { firstText, quote } from '../util/text';
import { finiteNumber, isJsonObject, nonEmptyString, type JsonObject } from '../util/json';
import { readMessage } from './message';
import { UnknownOutcomeError, type Problem } from '../util/gatewayError';
import { assignIds, createIdGiver, type IdGiver } from './toolIds';

export type FinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'other';

/** The model's response, in the terms of the AI Node SDK. */
export interface ChatResponse {
	id?: string;
	parts: ChatPart[];
	finishReason: FinishReason;
	stopReason?: string;
	usage?: ChatUsage;
	/** The assistant's blocks as they came, as the gateway wants them back. */
	content: JsonObject[];
	/** The IDs by which the agent knows the tool calls among them, in their order. */
	callIds: string[];
}

export interface ChatUsage {
	promptTokens: number;
	completionTokens: number;
	totalTokens: number;
	cacheRead?: number;
	thinkingTokens?: number;
	/** As the gateway sent it. */
	sent: JsonObject;
}

/**
 * Reads the response to a message of a chat.
 *
 * @param newId gives a tool call an ID that no other has
 * @throws UnknownOutcomeError if the gateway took the message on and responded with an error, or if a
 *   tool call is only half there: it is not to be sent again by itself
 */
export function readChatResponse(
	body: JsonObject,
	newId: IdGiver = createIdGiver(new Set(), ''),
): ChatResponse {
	const response = readMessage(body);
	if (response === undefined) throw brokenOff(body);
	const came = response.content.filter(isJsonObject);
	const { stopReason } = response;
	const half = halfToolCall(came, stopReason);
	if (half !== undefined) {
		throw new UnknownOutcomeError({ ...half, response: JSON.stringify(came).slice(0, 2048) });
	}
	const { content, callIds } = assignIds(came.map(withInput), newId);
	const ids = callIds.values();
	return {
		id: nonEmptyString(body.id),
		parts: content.flatMap((block) => partsOf(block, ids)),
		finishReason: finishReasonOf(stopReason, callIds.length > 0),
		stopReason,
		usage: response.usage && readUsage(response.usage, response.thinkingTokens),
		content,
		callIds,
	};
}

function brokenOff(body: JsonObject): UnknownOutcomeError {
	const { error } = body;
	const said = firstText([isJsonObject(error) ? error.message : error, body.message]);
	return new UnknownOutcomeError({
		message:
			said === undefined
				? 'The gateway accepted the message, but its response contains no message'
				: `The gateway interrupted its response: ${said}`,
		description:
			"You may have been charged for what it had generated, so the message wasn't sent again. Try again later, or check the usage log in the gateway's console.",
	});
}

const NOT_CALLED =
	"The tool wasn't called. You may have been charged, so the message wasn't sent again.";
const TRY_AGAIN =
	"Run the workflow again. If it happens again, use another model, or ask the gateway's operator.";

/** The model had not finished when these came: its last block may be only half there. */
const CUT = ['max_tokens', 'model_context_window_exceeded', 'stop_sequence'];
/** What came before these is not to be acted on. */
const NOT_MEANT = ['pause_turn', 'refusal'];

/**
 * Why a tool must not be called: half a prompt would be painted, and charged. Only a stop reason says
 * that a response has come to its end; without one it was cut somewhere on its way.
 */
function halfToolCall(content: JsonObject[], stopReason: string | undefined): Problem | undefined {
	const calls = content.filter(({ type }) => type === 'tool_use');
	if (calls.length === 0) return undefined;
	const last = content.findLast(
		({ type, text }) => type !== 'text' || nonEmptyString(text) !== undefined,
	);
	const endsInCall = last?.type === 'tool_use';
	if (stopReason === 'max_tokens' && endsInCall) {
		return {
			message: "The response reached 'Max Tokens' in the middle of a tool call",
			description: `${NOT_CALLED} Increase 'Max Tokens' in the chat model.`,
		};
	}
	const description = `${NOT_CALLED} ${TRY_AGAIN}`;
	if (stopReason === undefined) {
		return { message: 'The response ended in the middle of a tool call', description };
	}
	if (NOT_MEANT.includes(stopReason) || (CUT.includes(stopReason) && endsInCall)) {
		return {
			message: `The response stopped in the middle of a tool call ("${stopReason}")`,
			description,
		};
	}
	const nameless = calls.some(({ name }) => nonEmptyString(name) === undefined);
	if (nameless) return { message: 'The response calls a tool without naming it', description };
	const broken = calls.find((call) => inputOf(call) === undefined);
	if (broken === undefined) return undefined;
	const name = quote(String(broken.name));
	return { message: `The arguments for the tool '${name}' are incomplete`, description };
}

/** The input of a tool call; undefined if it is not whole. Some gateways send it as text. */
function inputOf({ input }: JsonObject): JsonObject | undefined {
	return typeof input === 'string' ? jsonObjectIn(input) : isJsonObject(input) ? input : undefined;
}

function withInput(block: JsonObject): JsonObject {
	const isText = block.type === 'tool_use' && typeof block.input === 'string';
	return isText ? { ...block, input: inputOf(block) } : block;
}

const FINISH_REASONS = new Map<string | undefined, FinishReason>([
	['end_turn', 'stop'],
	['stop_sequence', 'stop'],
	['max_tokens', 'length'],
	['model_context_window_exceeded', 'length'],
	['tool_use', 'tool-calls'],
	['refusal', 'content-filter'],
]);

function finishReasonOf(stopReason: string | undefined, callsTool: boolean): FinishReason {
	const known = FINISH_REASONS.get(stopReason) ?? 'other';
	return callsTool && (known === 'stop' || known === 'other') ? 'tool-calls' : known;
}

/** @param ids of the tool calls that are still to come; each takes the next */
function partsOf({ type, ...block }: JsonObject, ids: Iterator<string>): ChatPart[] {
	if (type === 'text') {
		const text = typeof block.text === 'string' ? block.text : '';
		return text === '' ? [] : [{ type, text }];
	}
	if (type === 'thinking') {
		const text = nonEmptyString(block.thinking);
		return text === undefined ? [] : [{ type: 'reasoning', text }];
	}
	if (type !== 'tool_use') return [];
	return [
		{
			type: 'tool-call',
			toolCallId: String(ids.next().value),
			toolName: String(block.name),
			input: JSON.stringify(block.input),
		},
	];
}

function readUsage(given: JsonObject, thinkingTokens: number | undefined): ChatUsage {
	// It is handed on, and what is handed on may be changed.
	const sent = JSON.parse(JSON.stringify(given)) as JsonObject;
	const count = (name: string): number => Math.max(0, finiteNumber(sent[name]) ?? 0);
	const cacheRead = finiteNumber(sent.cache_read_input_tokens);
	// What comes from the cache or goes into it is not among the input tokens.
	const promptTokens =
		count('input_tokens') + (cacheRead ?? 0) + count('cache_creation_input_tokens');
	const completionTokens = count('output_tokens');
	return {
		promptTokens,
		completionTokens,
		totalTokens: promptTokens + completionTokens,
		cacheRead,
		thinkingTokens,
		sent,
	};
}
