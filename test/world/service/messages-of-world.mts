/** The message endpoint of a world: in one piece, or as a stream. */
import { events } from '../../../simulator/messages/stream-events.mjs';
import { deliver, deliverJson, type Delivery, type WireRequest } from '../wire/messages.mjs';
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
	const account = accountOf(headers.authorization ?? headers['x-api-key']);
	if (account === undefined) return refuse(401, 'invalid key');
	received.account = account;
	const fields = fieldsOf(request);
	if (fields === undefined) return refuse(400, 'the body cannot be read');
	const { messages, stream } = fields.raw;
	received.kind = 'message';
	const prompt = lastText(messages);
	received.prompt = prompt;
	const charge = charged(account, prompt, fields.model);
	charge.reply = `reply ${charge.number} to: ${prompt}`;
	charge.asked = fields.raw;
	charge.before = Array.isArray(messages) ? messages.slice(0, -1) : [];
	charge.content = [
		{ type: 'thinking', thinking: 'Let me see.', signature: `sig${charge.number}` },
		{ type: 'text', text: charge.reply },
		...callsIn(fields.raw, charge),
	];
	received.fate = `charged, #${charge.number}`;
	const reply = {
		id: `msg_${charge.number}`,
		type: 'message',
		role: 'assistant',
		model: fields.model,
		content: charge.content,
		stop_reason: charge.content.length > 2 ? 'tool_use' : 'end_turn',
		stop_sequence: null,
		usage: { input_tokens: 5, output_tokens: 7 },
	};
	if (stream !== true) return deliverJson(reply);
	const text = [...events(reply as never)].join('');
	return deliver(200, text, { 'content-type': 'text/event-stream' });
}

/** Where the caller has tools, the first one is called about the reply. */
function callsIn({ tools }: Record<string, unknown>, { number, reply }: Charge): unknown[] {
	const [tool] = Array.isArray(tools) ? (tools as Array<{ name?: unknown }>) : [];
	if (tool === undefined) return [];
	return [{ type: 'tool_use', id: `toolu_${number}`, name: tool.name, input: { query: reply } }];
}
