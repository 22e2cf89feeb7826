import { Readable } from 'node:stream';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { messageAccount } from '../http/accounts.mjs';
import { json, messageRefusal, type GatewayResponse } from '../http/gateway-response.mjs';
import { compose } from './reply.mjs';
import { readConversation, type Turn } from './conversation.mjs';
import { events } from './stream-events.mjs';
import { checkTools } from './tool-calls.mjs';
import type { ParsedRequest, ServerContext } from '../http/server-context.mjs';
import { small } from '../http/request-log.mjs';
import type { ReceivedRequest } from '../gateway-options.mjs';
import { readReasoning } from './reasoning.mjs';

const version = '2023-06-01';

/** `POST /v1/messages` (docs/protocol.md, "Messages"). */
export function message(
	context: ServerContext,
	request: FastifyRequest,
	record: ReceivedRequest,
): ParsedRequest {
	record.body = small(request.body);
	const body = (request.body ?? {}) as Record<string, unknown>;
	const prompt = lastQuestion(body.messages);
	const respond = (): GatewayResponse => {
		record.account = messageAccount(request.headers);
		checkVersion(request.headers);
		const maxTokens = body.max_tokens;
		if (typeof maxTokens !== 'number' || !Number.isInteger(maxTokens) || maxTokens < 1) {
			throw messageRefusal(400, 'max_tokens: a whole number of at least 1 is required');
		}
		const reasoning = readReasoning(body, maxTokens);
		checkTools(body, reasoning.display !== undefined);
		const turns = readConversation(body.messages, reasoning.display !== undefined);
		const reply = compose(turns, body, reasoning, maxTokens);
		context.log.charge(record, prompt);
		if (body.stream !== true || context.options.streaming === false) return json(reply);
		const type = 'text/event-stream; charset=utf-8';
		const headers = { 'cache-control': 'no-cache' };
		return { status: 200, type, headers, body: Readable.from(events(reply)) };
	};
	return { call: 'message', prompt, settled: true, respond };
}

/** The vendor word in the header's name is anyone's; its value is not (docs/protocol.md, "Versions"). */
function checkVersion(headers: IncomingHttpHeaders): void {
	const named = Object.entries(headers).filter(([name]) => /.-version$/.test(name));
	// Clients have version headers of their own, such as that of their package.
	if (named.some(([, value]) => value === version)) return;
	throw messageRefusal(400, `a version header with the value ${version} is required`);
}

/** What the request is listed under among the payments: the last text of the user. */
function lastQuestion(messages: unknown): string {
	const turns = Array.isArray(messages) ? (messages as (Partial<Turn> | null)[]) : [];
	for (const turn of turns.toReversed()) {
		// Not checked yet: it may be anything.
		const content: unknown = turn?.role === 'user' ? turn.content : undefined;
		const blocks: unknown[] = Array.isArray(content) ? content : [{ type: 'text', text: content }];
		const texts = blocks.map((block) => (block as { text?: unknown } | null)?.text);
		const text = texts.filter((one) => typeof one === 'string').join('\n');
		if (text !== '') return text;
	}
	return '';
}
