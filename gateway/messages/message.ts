import {
	finiteNumber,
	isJsonObject,
	nonEmptyString,
	withoutUndefined,
	type JsonObject,
} from '../../util/json';
import { type FormFile, type PaidPlan } from '../protocol/requestPlan';
import { GatewayError, type Advice } from '../protocol/gatewayError';
import { messageHints, SAMPLING } from '../errors/messageAdvice';
import { isBlankText, isThinking, isToolCall, isToolResult, textsIn } from './blockKinds';

/** One turn of a conversation. The content of an assistant's turn is kept unchanged. */
export interface Turn {
	role: string;
	content: string | unknown[];
}

/**
 * The settings that all messages of a node share, by their names in the request (docs/protocol.md,
 * "Messages"). Undefined ones aren't sent.
 */
export interface MessageSettings extends JsonObject {
	model: string;
	max_tokens: number;
	/** Fields that override all others. */
	extraFields?: JsonObject;
}

/** The request of a message, by the names in it. */
export interface MessageRequest extends MessageSettings {
	messages: Turn[];
}

/**
 * Plans `POST /v1/messages` (docs/protocol.md, "Messages").
 *
 * @throws GatewayError if the thinking may take as many tokens as the whole response
 */
export function planMessage(request: MessageRequest, files?: FormFile[]): PaidPlan {
	const { body } = fieldsOf(request);
	refuseLargeBudget(body);
	return {
		call: 'message',
		method: 'POST',
		path: '/v1/messages',
		query: {},
		headers: { Accept: 'application/json', 'Content-Type': 'application/json' },
		body,
		inside: files?.length === 0 ? undefined : files,
		paid: true,
	};
}

/** Hints about a message that is sent anyway. */
export function hintsOf(request: MessageRequest): Advice[] {
	const { body, leftOut } = fieldsOf(request);
	const description = `Thinking is on, so these weren't sent: ${leftOut.join(', ')}. Models reject them beside thinking.`;
	const hint = { description, settings: leftOut };
	return [...messageHints(body), ...(leftOut.length === 0 ? [] : [hint])];
}

/**
 * The fields of a message, and the settings that are left out of them because the endpoint rejects
 * them beside others. Extra fields override settings; of two objects of one kind, field by field.
 */
function fieldsOf({ extraFields = {}, ...settings }: MessageRequest) {
	const merged = Object.entries(extraFields).map(([name, extra]) => {
		const own = settings[name];
		const areObjects = isJsonObject(own) && isJsonObject(extra);
		const isOneKind = areObjects && (extra.type === undefined || extra.type === own.type);
		return [name, isOneKind ? { ...own, ...extra } : extra] as const;
	});
	const body = withoutUndefined({ ...settings, ...Object.fromEntries(merged) });
	const { type } = isJsonObject(body.thinking) ? body.thinking : {};
	// With a budget, the model must have thought before it called a tool: another one may not have.
	if (type === 'enabled' && answersCallWithoutThinking(body.messages)) delete body.thinking;
	const thinks = body.thinking !== undefined && (type === 'enabled' || type === 'adaptive');
	const isLeftOut = (name: string): boolean =>
		thinks && body[name] !== undefined && extraFields[name] === undefined;
	const leftOut = SAMPLING.filter(isLeftOut);
	for (const name of leftOut) delete body[name];
	return { body, leftOut };
}

/** Whether the settings of a model rule out that it thinks: its default may be to think. */
export function isThinkingOff({ model, thinking, extraFields = {} }: MessageSettings): boolean {
	const { thinking: set = thinking } = extraFields;
	return isJsonObject(set) ? set.type === 'disabled' : /-nothinking$/i.test(model.trim());
}

/** Whether a conversation ends with the results of calls before which the model hasn't thought. */
function answersCallWithoutThinking(messages: unknown): boolean {
	const [turn, last] = Array.isArray(messages) ? messages.slice(-2).map(blocksIn) : [];
	const hasResult = last?.some(isToolResult) === true;
	return hasResult && turn?.some(isToolCall) === true && !turn.some(isThinking);
}

const blocksIn = (turn: unknown): unknown[] =>
	isJsonObject(turn) && Array.isArray(turn.content) ? turn.content : [];

/**
 * Rejects a thinking budget that leaves no token for the response: `max_tokens` includes thinking
 * (docs/protocol.md, "Messages"), and some gateways only say 400. Checks the final body, because
 * extra fields can change it.
 */
function refuseLargeBudget({ max_tokens: most, thinking }: JsonObject): void {
	if (!isJsonObject(thinking) || thinking.type !== 'enabled') return;
	const budget = thinking.budget_tokens;
	if (typeof budget !== 'number' || typeof most !== 'number' || budget < most) return;
	throw new GatewayError({
		message: `"budget_tokens" is ${budget} and must be less than "max_tokens", which is ${most}`,
		description: `Increase "max_tokens" to more than ${budget}, or lower "budget_tokens" to less than ${most}. The response needs the remaining tokens. Nothing was sent.`,
		settings: ['max_tokens', 'budget_tokens'],
	});
}

/** The response to a message (docs/protocol.md, "Messages"). */
export type MessageResponse = NonNullable<ReturnType<typeof readMessage>>;

/** Reads the response to a message; undefined without content. */
export function readMessage(body: JsonObject) {
	const content = contentOf(body);
	if (content === undefined) return undefined;
	const usage = isJsonObject(body.usage) ? body.usage : undefined;
	const details = usage?.output_tokens_details;
	return {
		text: textsIn(content, 'text').join(''),
		// Empty with `omitted` display.
		thinking: textsIn(content, 'thinking').join(''),
		model: nonEmptyString(body.model),
		stopReason: nonEmptyString(body.stop_reason),
		usage,
		thinkingTokens: isJsonObject(details) ? finiteNumber(details.thinking_tokens) : undefined,
		// The assistant's blocks, unchanged.
		content,
	};
}

/** The blocks of a response: some gateways send only the text, or null for none. */
function contentOf({ content, stop_reason: stopReason }: JsonObject): unknown[] | undefined {
	if (Array.isArray(content)) return content;
	if (typeof content === 'string')
		return content.trim() === '' ? [] : [{ type: 'text', text: content }];
	return content === null && nonEmptyString(stopReason) !== undefined ? [] : undefined;
}

/**
 * Checks the turns of a conversation from a user or an earlier node, and returns them unchanged.
 *
 * @param areNew new turns must not be empty; in a history the gateway decides
 * @returns the turns, or their problem as a sentence
 */
export function readTurns(value: unknown, areNew = false): Turn[] | string {
	if (!Array.isArray(value)) return 'it must be a list of messages';
	if (areNew && value.length === 0) return 'it is empty';
	for (const [index, turn] of value.entries()) {
		const name = `Message ${index + 1}`;
		if (!isJsonObject(turn) || nonEmptyString(turn.role) === undefined) {
			return `${name} has no "role"`;
		}
		const { role, content } = turn;
		if (typeof content !== 'string' && !Array.isArray(content)) {
			return `${name} has no "content" that is a text or a list of blocks`;
		}
		// The model continues an assistant's turn at the end, which may be empty.
		const mayBeEmpty = role === 'assistant' && index > 0 && index === value.length - 1;
		if (areNew && !mayBeEmpty && isBlank(content)) return `${name} is empty`;
	}
	return value as Turn[];
}

function isBlank(content: string | unknown[]): boolean {
	if (typeof content === 'string') return content.trim() === '';
	return content.every(isBlankText);
}

/** The text of the user's last turn; undefined without text. */
export function promptOf(turns: Turn[]): string | undefined {
	const { content = '' } = turns.findLast(({ role }) => role === 'user') ?? {};
	if (typeof content === 'string') return nonEmptyString(content);
	const texts = textsIn(content, 'text').filter((text) => text.trim() !== '');
	return nonEmptyString(texts.join('\n'));
}
