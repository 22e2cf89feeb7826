import { createHash } from 'node:crypto';
import { PassThrough, Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import type { GatewayOptions, ReceivedRequest } from '../gateway-options.mjs';
import { Refusal, refusal, type GatewayResponse } from './gateway-response.mjs';
import type { ParsedRequest } from './server-context.mjs';

const day = 86_400;

interface Entry {
	at: number;
	content: string;
	/** Undefined while the request is in progress. */
	response?: GatewayResponse;
}

/** Payments by their `Idempotency-Key` (docs/protocol.md, "Idempotency"). */
export class PaymentKeys {
	private readonly entries = new Map<string, Entry>();

	constructor(
		private readonly options: Pick<GatewayOptions, 'idempotencySeconds'>,
		private readonly now: () => number,
	) {}

	/** The same request: with a key that is known, its response is that to the first one. */
	keyed(request: FastifyRequest, record: ReceivedRequest, parsed: ParsedRequest): ParsedRequest {
		const { headers } = request;
		const key = headers['idempotency-key'];
		const { idempotencySeconds = day } = this.options;
		const isPaid = ['submit', 'sync', 'message'].includes(parsed.call);
		if (typeof key !== 'string' || !isPaid || idempotencySeconds === 0) return parsed;
		const name = JSON.stringify([headers.authorization, headers['x-api-key'], key]);
		const content = digest([request.url, request.body ?? record.body]);
		const respond = async () => {
			const known = this.entries.get(name);
			if (known !== undefined && this.now() - known.at < 1000 * idempotencySeconds) {
				return replay(known, content);
			}
			const entry: Entry = { at: this.now(), content };
			this.entries.set(name, entry);
			try {
				return await this.first(entry, parsed);
			} catch (error) {
				// A refusal doesn't use the key up.
				this.entries.delete(name);
				throw error;
			}
		};
		return { ...parsed, respond };
	}

	reset(): void {
		this.entries.clear();
	}

	private async first(entry: Entry, { respond }: ParsedRequest): Promise<GatewayResponse> {
		const response = await respond();
		if (!(response.body instanceof Readable)) return (entry.response = response);
		// Read to its end whether or not anybody listens: what is kept is whole.
		const chunks: Buffer[] = [];
		const body = new PassThrough();
		body.on('error', () => undefined);
		response.body.on('data', (chunk: Buffer | string) => {
			chunks.push(Buffer.from(chunk));
			if (!body.destroyed) body.write(chunk);
		});
		response.body.on('end', () => {
			entry.response = { ...response, body: Buffer.concat(chunks) };
			body.end();
		});
		return { ...response, body };
	}
}

function replay({ content, response }: Entry, now: string): GatewayResponse {
	if (content !== now) {
		throw refusal(422, 'this Idempotency-Key was used with a different request');
	}
	if (response === undefined) {
		const { body } = refusal(409, 'a request with this Idempotency-Key is in progress');
		throw new Refusal(409, body, { 'retry-after': '1' });
	}
	return { ...response, headers: { ...response.headers, 'idempotent-replayed': 'true' } };
}

/** The order of fields doesn't count. */
function digest(value: unknown): string {
	const text = JSON.stringify(value, (_, part: unknown) => {
		if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
		return Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)));
	});
	return createHash('sha256').update(text).digest('hex');
}
