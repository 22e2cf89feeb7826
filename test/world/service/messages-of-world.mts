/** The message endpoint of a world. */
import { deliverJson, type Delivery, type WireRequest } from '../wire/messages.mjs';
import { accountOf, refuse } from './accounts-of-world.mjs';
import type { Charge, Received } from './books.mjs';
import { fieldsOf, lastText } from './requests.mjs';

export type ChargeMessage = (account: string, prompt: string, model: string) => Charge;

export function answerMessage(
	request: WireRequest,
	received: Received,
	charged: ChargeMessage,
): Delivery {
	const { headers } = received;
	const key = headers.authorization ?? headers['x-api-key'];
	const account = accountOf(key);
	if (account === undefined) return refuse(401, 'invalid key');
	received.account = account;
	const fields = fieldsOf(request);
	if (fields === undefined) return refuse(400, 'the body cannot be read');
	received.kind = 'message';
	const prompt = lastText(fields.raw.messages);
	received.prompt = prompt;
	const charge = charged(account, prompt, fields.model);
	const quoted = charge.number % QUOTES_KEY === 1 ? ` with ${key}` : '';
	const text = `reply ${charge.number} to: ${prompt}${quoted}`;
	const content = [
		{ type: 'thinking', thinking: 'Let me see.', signature: `sig${charge.number}` },
		{ type: 'text', text },
	];
	received.fate = `charged, #${charge.number}`;
	const reply = {
		id: `msg_${charge.number}`,
		type: 'message',
		role: 'assistant',
		model: fields.model,
		content,
		stop_reason: 'end_turn',
		stop_sequence: null,
		usage: { input_tokens: 5, output_tokens: 7 },
	};
	charge.sent = text;
	charge.reply = withoutKey(text, key);
	return deliverJson(reply);
}

/** One reply in so many quotes the key. */
const QUOTES_KEY = 4;

/** As it has to come out. */
function withoutKey<T>(value: T, key = ''): T {
	return JSON.parse(JSON.stringify(value).replaceAll(key, '***')) as T;
}
