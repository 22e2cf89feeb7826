import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { json, type GatewayResponse } from './gateway-response.mjs';
import type { Call, Fault } from '../gateway-options.mjs';
import { seeded, type Random } from '../seed.mjs';

/** What a fault needs to know of a request to decide whether it strikes. */
export interface Target {
	call: Call;
	prompt: string;
	/** Whether the response would carry images: `noImages` waits for such a one. */
	settled: boolean;
}

interface Armed {
	fault: Fault;
	seen: number;
	hits: number;
	random: Random;
}

/** The faults in force and how often each has struck. */
export class Faults {
	private armed: Armed[] = [];
	private replaced = new AbortController();

	constructor(faults: Fault[] = []) {
		this.set(faults);
	}

	/** Replaces all faults, and ends the delays of the earlier ones. */
	set(faults: Fault[]): void {
		this.replaced.abort();
		this.replaced = new AbortController();
		this.armed = faults.map((fault, index) => {
			return { fault, seen: 0, hits: 0, random: seeded(index + 1) };
		});
	}

	/** The faults that strike this request: any number of delays, and at most one of the others. */
	strike(target: Target): { delayMs: number; fault: Fault | undefined } {
		let delayMs = 0;
		for (const armed of this.armed) {
			if (!strikes(armed, target)) continue;
			if (armed.fault.kind !== 'latency') return { delayMs, fault: armed.fault };
			delayMs += armed.fault.ms ?? 0;
		}
		return { delayMs, fault: undefined };
	}

	/** Waits for a delay, until it is over or the faults are replaced. */
	async delay(ms: number, closing: AbortSignal): Promise<void> {
		const { signal } = this.replaced;
		await sleep(ms, undefined, { signal: AbortSignal.any([closing, signal]) }).catch((error) => {
			if (!signal.aborted) throw error;
		});
	}
}

function strikes(armed: Armed, target: Target): boolean {
	const { fault } = armed;
	if (fault.call !== 'any' && fault.call !== target.call) return false;
	if (fault.match !== undefined && !target.prompt.includes(fault.match)) return false;
	if (fault.kind === 'noImages' && !target.settled) return false;
	armed.seen += 1;
	if (armed.seen <= (fault.after ?? 0)) return false;
	if (armed.hits >= (fault.times ?? Infinity)) return false;
	if (fault.share !== undefined && armed.random() >= fault.share) return false;
	armed.hits += 1;
	return true;
}

/** Whether the request is handled, and so perhaps charged, although its response is spoilt. */
export function handlesFirst(fault: Fault): boolean {
	const after = [
		'cutAfter',
		'cutSilent',
		'silence',
		'unknownStatus',
		'noImages',
		'wrongType',
		'drip',
	];
	return fault.charged === true || after.includes(fault.kind);
}

/**
 * What is sent in place of the right response; `undefined`: nothing, ever. `right` is there if the
 * fault handles the request first.
 */
export function spoil(
	fault: Fault,
	right: GatewayResponse | undefined,
	now: number,
): GatewayResponse | undefined {
	switch (fault.kind) {
		case 'status':
			return refused(fault, now);
		case 'html':
			return {
				status: fault.status ?? 200,
				type: 'text/html',
				body: page,
				headers: retry(fault, now),
			};
		case 'redirect':
			return {
				status: fault.status ?? 302,
				type: 'text/plain',
				body: '',
				headers: { location: fault.location ?? '/' },
			};
		case 'badJson':
			return { status: 200, type: 'application/json', body: '{"id": "task_' };
		case 'empty':
			return { status: 200, type: 'application/json', body: '' };
		case 'huge':
			return {
				status: 200,
				type: fault.call === 'download' ? 'image/png' : 'application/json',
				headers: { 'content-length': String(bytesOf(fault)) },
				body: Readable.from(
					filler(bytesOf(fault), fault.call === 'download' ? '\x89PNG\r\n\x1a\n..' : '{"data": ['),
				),
			};
		case 'wrongType':
			return right && { ...right, type: 'text/plain; charset=utf-8' };
		case 'drip':
			return right && { ...right, body: Readable.from(drops(right, fault.ms ?? 50)) };
		case 'unknownStatus':
			return alter(right, ({ data: _, error: __, created: ___, ...rest }) => {
				return { ...rest, status: fault.value ?? 'mysterious' };
			});
		case 'noImages':
			return alter(right, (body) => ({ ...body, data: [] }));
		default:
			return undefined;
	}
}

const page =
	'<!doctype html><html><head><title>Welcome</title></head><body><h1>It works</h1></body></html>';

function refused(fault: Fault, now: number): GatewayResponse {
	const status = fault.status ?? 500;
	const [message, type] = meaning(status);
	const error = { message: fault.message ?? message, type: fault.type ?? type };
	return json({ error }, status, retry(fault, now));
}

function meaning(status: number): [message: string, type: string] {
	if (status === 429) return ['requests too frequent, retry later', 'rate_limit_error'];
	if (status === 401) return ['API key invalid', 'invalid_request_error'];
	if (status === 404) return ['task does not exist', 'invalid_request_error'];
	if (status >= 500) return ['service temporarily unavailable, retry later', 'server_error'];
	return ['invalid request parameters', 'invalid_request_error'];
}

function retry({ retryAfter }: Fault, now: number): Record<string, string> {
	if (retryAfter === undefined) return {};
	const seconds = /^date:(-?[\d.]+)$/.exec(String(retryAfter))?.[1];
	if (seconds === undefined) return { 'retry-after': String(retryAfter) };
	return { 'retry-after': new Date(now + Number(seconds) * 1000).toUTCString() };
}

function alter(
	right: GatewayResponse | undefined,
	change: (body: Record<string, unknown>) => unknown,
): GatewayResponse | undefined {
	if (right === undefined || right.status !== 200 || typeof right.body !== 'string') return right;
	return { ...right, body: JSON.stringify(change(JSON.parse(right.body))) };
}

/** A body of so many bytes, of which the first ten are given. */
/** The size of a `huge` body. */
const bytesOf = ({ bytes = 64 * 1024 * 1024 }: Fault): number => bytes;

function* filler(bytes: number, start: string): Generator<Buffer> {
	const block = Buffer.from('{"url": "https://example.invalid/"}, '.repeat(2000));
	yield Buffer.from(start, 'latin1');
	for (let sent = 10; sent < bytes; sent += block.length) {
		yield block.subarray(0, Math.min(block.length, bytes - sent));
	}
}

async function* drops({ body }: GatewayResponse, ms: number): AsyncGenerator<Buffer> {
	for await (const part of typeof body === 'string' || Buffer.isBuffer(body) ? [body] : body) {
		for (const byte of Buffer.from(part as Buffer)) {
			yield Buffer.of(byte);
			await sleep(ms);
		}
	}
}
