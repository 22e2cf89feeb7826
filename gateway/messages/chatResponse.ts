import { isToolCall } from './blockKinds';
import { jsonObjectIn, type ChatPart } from './chat';
import { digestOf } from '../../util/digest';
import { finiteNumber, isJsonObject, nonEmptyString, type JsonObject } from '../../util/json';
import { reasonIn } from '../responses/errorBody';
import { readMessage } from './message';
import { responseHint, UNFINISHED } from './responseHint';
import {
	type Advice,
	type GatewayError,
	type Problem,
	unknownOutcome,
} from '../protocol/gatewayError';

type FinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'other';

/** The model's response, in the terms of the AI Node SDK. */
export interface ChatResponse {
	id?: string;
	/** All thinking, all text, and the tool calls. */
	parts: ChatPart[];
	finishReason: FinishReason;
	stopReason?: string;
	usage?: ReturnType<typeof readUsage>;
	/** The assistant's blocks, unchanged, to send back to the gateway. */
	content: JsonObject[];
	/** The agent's IDs of the tool calls among them, in order. */
	callIds: string[];
	/** What the user should know of a response that lacks something. */
	hint?: Advice;
}

/**
 * Reads the response to a message of a chat.
 *
 * @param seed identity of the response: the same seed gives its tool calls the same IDs
 * @throws UnknownOutcomeError if the gateway accepted the message and responded with an error or an
 *   incomplete tool call: then the message must not be sent again automatically
 */
export function readChatResponse(body: JsonObject, seed = ''): ChatResponse {
	const response = readMessage(body);
	if (response === undefined) throw interrupted(body);
	const blocks = response.content.filter(isJsonObject);
	const { stopReason } = response;
	const calls = blocks.filter(isToolCall);
	const problem = toolCallProblem(calls, stopReason);
	if (problem !== undefined) {
		throw unknownOutcome({ ...problem, response: JSON.stringify(blocks).slice(0, 2048) });
	}
	// A gateway may number its calls from 0 in each response, but an agent identifies a call by its
	// ID alone.
	const callIds = calls.map((_, index) => `call_${digestOf([seed, index]).slice(0, 24)}`);
	const [finishReason = 'other'] = STOP_REASONS.get(stopReason) ?? [];
	const taken = new Set<unknown>();
	return {
		id: nonEmptyString(body.id),
		parts: [
			...textPart('reasoning', response.thinking),
			...textPart('text', response.text),
			...calls.map((call, index) => callPart(call, callIds[index])),
		],
		finishReason: calls.length > 0 ? 'tool-calls' : finishReason,
		stopReason,
		usage: response.usage && readUsage(response.usage, response.thinkingTokens),
		// Without an ID, or with one that is used twice, a result would belong to no call or to two.
		content: blocks.map((block) => {
			if (!isToolCall(block)) return block;
			const isOwn = nonEmptyString(block.id) !== undefined && !taken.has(block.id);
			const id = isOwn ? block.id : callIds[calls.indexOf(block)];
			taken.add(id);
			return { ...block, id, input: inputOf(block) };
		}),
		callIds,
		hint: responseHint(body),
	};
}

function interrupted(body: JsonObject): GatewayError {
	const reason = reasonIn(body);
	return unknownOutcome({
		message:
			reason === undefined
				? 'The gateway accepted the message, but its response contains no message'
				: `The gateway interrupted its response: ${reason}`,
		description:
			"You may have been charged for what it had generated, so the message wasn't sent again. Try again later, or check the usage log in the gateway's console.",
	});
}

/**
 * By stop reason, that of the SDK, and whether the response may be one that is incomplete or doesn't
 * intend to call its tools.
 */
const STOP_REASONS = new Map<string | undefined, [reason: FinishReason, isUnfinished: boolean]>([
	['end_turn', ['stop', false]],
	['tool_use', ['tool-calls', false]],
	['stop_sequence', ['stop', true]],
	['max_tokens', ['length', true]],
	['model_context_window_exceeded', ['length', true]],
	['refusal', ['content-filter', true]],
	['content_filter', ['content-filter', true]],
	['pause_turn', ['other', true]],
	[undefined, ['other', true]],
]);

/**
 * The problem of a response whose tools must not be called, because they would generate and charge
 * an image from half a prompt. Only the stop reason says whether a response is complete.
 */
function toolCallProblem(calls: JsonObject[], stopReason: string | undefined): Problem | undefined {
	const isBroken = calls.some(
		(call) => nonEmptyString(call.name) === undefined || inputOf(call) === undefined,
	);
	const [, isUnfinished = false] = STOP_REASONS.get(stopReason) ?? [];
	if (calls.length === 0 || !(isBroken || isUnfinished)) return undefined;
	const { what = 'ended', advice = LATER, settings } = UNFINISHED.get(stopReason) ?? {};
	return {
		settings,
		message: `The response ${what}, in the middle of a tool call`,
		description: `The tool wasn't called. You may have been charged, so the message wasn't sent again. ${advice}`,
	};
}

const LATER =
	"Run the workflow again. If it happens again, use another model, or ask the gateway's operator.";

/**
 * The input of a tool call: some gateways send it as text, and none for a tool without parameters.
 * Undefined if it is incomplete.
 */
function inputOf({ input }: JsonObject): JsonObject | undefined {
	if (input === undefined || input === null) return {};
	return typeof input === 'string' ? jsonObjectIn(input) : isJsonObject(input) ? input : undefined;
}

const textPart = (type: 'reasoning' | 'text', text: string): ChatPart[] =>
	text === '' ? [] : [{ type, text }];

const callPart = (call: JsonObject, toolCallId?: string): ChatPart => ({
	type: 'tool-call',
	toolCallId,
	toolName: String(call.name),
	input: JSON.stringify(inputOf(call)),
});

/** The tokens of a response, cached ones included, in the terms of the SDK. */
function readUsage(given: JsonObject, thinkingTokens: number | undefined) {
	// A copy, because n8n may change it.
	const usage = structuredClone(given);
	const count = (name: string): number => Math.max(0, finiteNumber(usage[name]) ?? 0);
	const cacheRead = finiteNumber(usage.cache_read_input_tokens);
	// Cached tokens aren't among the input tokens.
	const promptTokens =
		count('input_tokens') + (cacheRead ?? 0) + count('cache_creation_input_tokens');
	const completionTokens = count('output_tokens');
	return {
		promptTokens,
		completionTokens,
		totalTokens: promptTokens + completionTokens,
		inputTokenDetails: cacheRead === undefined ? undefined : { cacheRead },
		outputTokenDetails: thinkingTokens === undefined ? undefined : { reasoning: thinkingTokens },
		// In the gateway's own form.
		additionalMetadata: usage,
	};
}
