import type { FastifyRequest } from 'fastify';
import type { ReceivedRequest } from '../gateway-options.mjs';

const kept = 200_000;
/** Characters of a text that are kept: the longest answer of a tool is whole. */
const clipped = 5_000;

/** What arrived, what was charged, and how much of it at once. */
export class RequestLog {
	readonly requests: ReceivedRequest[] = [];
	paid = 0;
	paidByPrompt: Record<string, number> = {};
	inFlight = 0;
	maxInFlight = 0;
	private counts = new Map<string, number>();
	/** Records since the last reset. */
	private current = new WeakSet<ReceivedRequest>();

	/** Opens the record of a request; its call may be corrected once the body is known. */
	receive(request: FastifyRequest, at: number, call: string): ReceivedRequest {
		const url = request.raw.url ?? '';
		const mark = url.indexOf('?');
		const record: ReceivedRequest = {
			at,
			call,
			method: request.method,
			path: mark < 0 ? url : url.slice(0, mark),
			query: request.query as Record<string, string>,
			headers: request.headers as Record<string, string | string[]>,
			body: undefined,
			account: undefined,
			status: undefined,
			paid: false,
		};
		this.counts.set(call, this.count(call) + 1);
		this.requests.push(record);
		this.current.add(record);
		// In big steps: taking the oldest out one by one would move the whole array each time.
		if (this.requests.length > kept * 1.1) this.requests.splice(0, this.requests.length - kept);
		this.inFlight += 1;
		this.maxInFlight = Math.max(this.maxInFlight, this.inFlight);
		return record;
	}

	/** Says what a request turned out to be. */
	classify(record: ReceivedRequest, call: string): void {
		if (record.call === call || !this.current.has(record)) return;
		this.counts.set(record.call, this.count(record.call) - 1);
		record.call = call;
		this.counts.set(call, this.count(call) + 1);
	}

	/** One payment for one accepted request, however many images it asks for. */
	charge(record: ReceivedRequest, prompt: string): void {
		record.paid = true;
		// Received before a reset, it is none of those that are counted now.
		if (!this.current.has(record)) return;
		this.paid += 1;
		this.paidByPrompt[prompt] = (this.paidByPrompt[prompt] ?? 0) + 1;
	}

	/** Requests of a call so far; `any` counts all. */
	count(call: string): number {
		if (call !== 'any') return this.counts.get(call) ?? 0;
		return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
	}

	/** The numbers as the admin endpoint shows them. */
	stats(): Record<string, unknown> {
		const { paid, paidByPrompt, inFlight, maxInFlight } = this;
		const counts = Object.fromEntries(this.counts);
		return { requests: this.count('any'), counts, paid, paidByPrompt, inFlight, maxInFlight };
	}

	/** Forgets everything; what is still in flight stays in flight. */
	reset(): void {
		this.requests.length = 0;
		this.current = new WeakSet();
		this.counts.clear();
		this.paid = 0;
		this.paidByPrompt = {};
		this.maxInFlight = this.inFlight;
	}
}

/** The same body with its long texts cut, so that 200,000 records stay small. */
export function small(body: unknown): unknown {
	if (typeof body === 'string') {
		return body.length > clipped ? `${body.slice(0, clipped)}… (${body.length})` : body;
	}
	if (Array.isArray(body)) return body.map(small);
	if (typeof body !== 'object' || body === null) return body;
	return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, small(value)]));
}
