import {
	finiteNumber,
	isJsonObject,
	nonEmptyString,
	withoutUndefined,
	type JsonObject,
} from '../util/json';
import { type RequestPlan } from '../protocol/requestPlan';
import { GatewayError } from '../util/gatewayError';

/** One turn of a conversation. What an assistant said is kept as it came, down to the byte. */
export interface Turn {
	role: string;
	content: string | unknown[];
}

/** How the thinking is switched (docs/protocol.md, "Messages"); `default` sends nothing. */
export type Thinking = 'default' | 'adaptive' | 'disabled' | 'enabled';

/** What a message is made from (docs/protocol.md, "Messages"). Undefined fields are not sent. */
export interface MessageRequest {
	model: string;
	maxTokens: number;
	messages: Turn[];
	thinking: Thinking;
	/** Only with `enabled`. */
	budgetTokens?: number;
	/** Only with `adaptive` and `enabled`: there is nothing to show otherwise. */
	display?: string;
	effort?: string;
	system?: string;
	temperature?: number;
	topP?: number;
	topK?: number;
	extraFields?: JsonObject;
}

/**
 * Plans `POST /v1/messages` (docs/protocol.md, "Messages").
 *
 * @throws GatewayError if the thinking may take as many tokens as the whole response
 */
export function planMessage(request: MessageRequest): RequestPlan {
	const { thinking, budgetTokens, display, effort } = request;
	const thinkingField = {
		type: thinking,
		budget_tokens: budgetTokens,
		display: thinking === 'disabled' ? undefined : display,
	};
	const body = withoutUndefined({
		model: request.model,
		max_tokens: request.maxTokens,
		system: request.system,
		messages: request.messages,
		thinking: thinking === 'default' ? undefined : withoutUndefined(thinkingField),
		output_config: effort === undefined ? undefined : { effort },
		temperature: request.temperature,
		top_p: request.topP,
		top_k: request.topK,
		...request.extraFields,
	});
	refuseLargeBudget(body);
	return {
		call: 'message',
		method: 'POST',
		path: '/v1/messages',
		query: {},
		headers: { Accept: 'application/json', 'Content-Type': 'application/json' },
		body,
		paid: true,
	};
}

/**
 * Tokens for thinking are part of `max_tokens`, which caps the whole output (docs/protocol.md, "Messages"): a
 * budget that leaves nothing for the response is refused by gateways, some of which only say 400.
 * Looks at what is sent, which extra fields may have changed.
 */
function refuseLargeBudget({ max_tokens: most, thinking }: JsonObject): void {
	if (!isJsonObject(thinking) || thinking.type !== 'enabled') return;
	const budget = thinking.budget_tokens;
	if (typeof budget !== 'number' || typeof most !== 'number' || budget < most) return;
	throw new GatewayError({
		message: `'Budget (Tokens)' is ${budget} and must be less than 'Max Tokens', which is ${most}`,
		description: `Increase 'Max Tokens' to more than ${budget}, or lower 'Budget (Tokens)' to less than ${most}. The response needs the remaining tokens. Nothing was sent.`,
	});
}

/**
 * What is odd about a request that is sent all the same, as sentences for the user: a model suffix
 * that says the opposite of the switch (docs/protocol.md, "Messages"), and the legacy form of thinking.
 */
export function messageHints({
	model,
	thinking,
}: Pick<MessageRequest, 'model' | 'thinking'>): string[] {
	const hints: string[] = [];
	const suffix = /-(no)?thinking$/i.exec(model.trim());
	const switchedOn = thinking === 'adaptive' || thinking === 'enabled';
	if (suffix !== null && thinking !== 'default' && switchedOn !== (suffix[1] === undefined)) {
		hints.push(
			`The model name ends in "${suffix[0]}", but 'Thinking' says the opposite. Which one applies depends on the gateway. Set 'Thinking' to 'Model Default', or remove the suffix.`,
		);
	}
	if (thinking === 'enabled') {
		hints.push(
			"'Thinking' uses the legacy form with a token budget, which newer models reject. Use 'Adaptive' with 'Effort' instead.",
		);
	}
	return hints;
}

/**
 * What may have led to a 400, as sentences for the user: whatever is odd about the request, and
 * thinking blocks that came back changed (docs/protocol.md, "Messages").
 *
 * @param refusal the gateway's reason
 */
export function refusalAdvice(request: MessageRequest, refusal: string): string[] {
	const advice = messageHints(request);
	const hasThinking = request.messages.some(
		({ content }) =>
			Array.isArray(content) &&
			content.some((block) => isJsonObject(block) && block.type === 'thinking'),
	);
	if (hasThinking && /thinking|signature/i.test(refusal)) {
		advice.push(
			'Thinking blocks must be sent back unchanged. Use the output "messages" of the earlier Message node as \'History\' without editing it.',
		);
	}
	return advice;
}

/** What a message brought (docs/protocol.md, "Messages"). */
export interface MessageResponse {
	/** All text blocks, joined. */
	text: string;
	/** All thinking blocks, joined; empty where the display is omitted. */
	thinking: string;
	model?: string;
	stopReason?: string;
	usage?: JsonObject;
	/** Tokens spent on thinking, where the gateway reports them. */
	thinkingTokens?: number;
	/** The assistant's blocks, as they came. */
	content: unknown[];
}

/** Reads the response to a message; undefined if it holds no content. */
export function readMessage(body: JsonObject): MessageResponse | undefined {
	// Some gateways send the text alone.
	const alone = nonEmptyString(body.content);
	const content = alone === undefined ? body.content : [{ type: 'text', text: alone }];
	if (!Array.isArray(content)) return undefined;
	const joined = (type: string): string =>
		content
			.filter((block) => isJsonObject(block) && block.type === type)
			.map((block: JsonObject) => (typeof block[type] === 'string' ? block[type] : ''))
			.join('');
	const usage = isJsonObject(body.usage) ? body.usage : undefined;
	const details = usage?.output_tokens_details;
	return {
		text: joined('text'),
		thinking: joined('thinking'),
		model: nonEmptyString(body.model),
		stopReason: nonEmptyString(body.stop_reason),
		usage,
		thinkingTokens: isJsonObject(details) ? finiteNumber(details.thinking_tokens) : undefined,
		content,
	};
}

/**
 * Reads turns of a conversation that a user or an earlier node gave. They are checked, not changed.
 *
 * @param areNew turns that are added now must not be empty; in a history the gateway decides
 * @returns the turns, or a sentence that says what is wrong with them
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
		// An empty turn of the assistant at the end is one that the model goes on with.
		const mayBeEmpty = role === 'assistant' && index > 0 && index === value.length - 1;
		if (areNew && !mayBeEmpty && isBlank(content)) return `${name} is empty`;
	}
	return value as Turn[];
}

function isBlank(content: string | unknown[]): boolean {
	if (typeof content === 'string') return content.trim() === '';
	return content.every(
		(block) =>
			isJsonObject(block) && block.type === 'text' && nonEmptyString(block.text) === undefined,
	);
}
