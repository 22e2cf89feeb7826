/** What goes wrong: before a request is handled, and with the answer to one that was. */
import { keyIn } from './accounts-of-world.mjs';
import type { Received } from './books.mjs';
import {
	REASONS,
	REFUSALS_429,
	PASSING,
	STATUSES,
	STATUSES_AFTER,
	type ServiceFault,
} from './service-setup.mjs';
import { PICTURE_SHAPES, SHAPES } from './response-shapes.mjs';
import { clock } from '../time/take-over.mjs';
import { deliver, deliverJson, type Delivery } from '../wire/messages.mjs';

const pick = <T,>(list: readonly T[], variant: number): T => list[variant % list.length]!;

/** A fault that strikes before anything is done; undefined if this one strikes later. */
export function spoil({ kind, variant }: ServiceFault, received: Received): Delivery | undefined {
	switch (kind) {
		case 'refused':
			received.fate = 'connection refused';
			return { ...deliver(0, ''), refusal: 'ECONNREFUSED', end: 'cut' };
		case 'unknownHost':
			received.fate = 'host not found';
			return { ...deliver(0, ''), refusal: 'ENOTFOUND', end: 'cut' };
		case 'status':
			return refused(variant, received);
		case 'html': {
			const pages: Array<[number, string]> = [
				[404, 'default backend - 404'],
				[502, '<html><body>Bad gateway</body></html>'],
				[404, '<html>Not here</html>'],
				[503, `<!-- ${'<!---->'.repeat(50)}`],
			];
			const [status, page] = pick(pages, variant);
			received.fate = `a page with ${status}`;
			return deliver(status, page, { 'content-type': 'text/html' });
		}
		case 'redirect': {
			const status = pick([307, 302, 308, 301], Math.floor(variant / 3));
			if (received.call === 'download' && variant % 3 < 2) return moved(status, received);
			const target = pick(targetsFor(received), variant >> 2);
			received.fate = `${status} to ${target}`;
			return deliver(status, '', { location: target });
		}
		default:
			return undefined;
	}
}

/** Where there is no image. */
export const ELSEWHERE = '/image';

/** Where nobody may follow to with a key; the key that was sent may stand there as well. */
function targetsFor({ call, host, origin, path, headers }: Received): string[] {
	// An image may lie anywhere.
	if (call === 'download' || path === ELSEWHERE) {
		return [`https://login.foreign.test${ELSEWHERE}`, ELSEWHERE];
	}
	const [name] = host.split(':');
	return [
		'https://login.foreign.test/',
		'/v1/elsewhere',
		`http://${name}:8443${path}`,
		`https://${host}${path}`,
		`${origin}.foreign.test${path}`,
		`https://login.foreign.test/?key=${keyIn(headers) ?? 'none'}`,
	];
}

/** Where a picture has moved to, on the same host. */
export const MOVED = /^\/moved\//;

function moved(status: number, received: Received): Delivery | undefined {
	if (MOVED.test(received.path)) return undefined;
	received.fate = 'moved';
	return deliver(status, '', { location: `/moved${received.path}` });
}

/** The other form of a Retry-After. */
export const dateIn = (seconds: number): string =>
	new Date(clock.now + seconds * 1000).toUTCString();

function refused(variant: number, received: Received): Delivery {
	const isFree = ['poll', 'download', 'listing'].includes(received.call);
	const status =
		isFree && variant % 3 > 0 ? pick(PASSING, Math.floor(variant / 3)) : pick(STATUSES, variant);
	const more = Math.floor(variant / STATUSES.length);
	received.fate = String(status);
	if (status === 429) {
		const { body, headers = {} } = pick(REFUSALS_429, more);
		if (/quota/.test(JSON.stringify(body))) received.fate = '429 for the quota';
		const isDate = headers['retry-after'] === '7' && received.number % 2 === 1;
		return deliverJson(body, 429, isDate ? { 'retry-after': dateIn(7) } : headers);
	}
	const key = keyIn(received.headers) ?? 'none';
	const quotes = [key, encodeURIComponent(key)];
	const reasons = [
		...REASONS.map((reason) => JSON.stringify(reason)),
		...quotes.map((quote) => `"the key ${quote} is refused"`),
	];
	const text = pick(reasons, more);
	const pause = status === 503 && isFree ? { 'retry-after': '11' } : undefined;
	// Some have the status's phrase as the error, and the reason beside it.
	const body =
		received.number % 5 === 2
			? `{"statusCode":${status},"error":"Bad Request","message":${text}}`
			: `{"error":{"message":${text},"type":"invalid_request_error"}}`;
	// A 404 of a task counts only in the protocol's own form.
	const own = `{"error":{"message":${text},"type":"invalid_request_error"}}`;
	return deliverJson(status === 404 ? own : body, status, pause);
}

/** The answer to a request that was handled, as the fault leaves it. */
export function shaped(
	{ kind, variant }: ServiceFault,
	right: Delivery,
	received: Received,
): Delivery {
	const tell = (what: string, delivery: Partial<Delivery>): Delivery => {
		received.fate += `, but ${what}`;
		const end = right.end === 'never' ? 'whole' : right.end;
		return { ...right, end, ...delivery };
	};
	switch (kind) {
		case 'reset':
			return tell('the connection was reset', { end: 'cut', sent: 0 });
		case 'cut': {
			const sent = Math.floor(right.body.length * pick([0.5, 0.9, 0.2, 0.99, 0.6], variant));
			return tell(`the answer was cut after ${sent} bytes`, { end: 'cut', sent });
		}
		case 'silence':
			return tell('nothing was answered', { end: 'never', sent: 0 });
		case 'drip':
			received.fate += ', byte by byte';
			return { ...right, dripMs: pick([1, 200], variant) };
		case 'slow':
			received.fate += ', late';
			return { ...right, afterMs: right.afterMs + pick([1500, 20_000, 90_000, 400_000], variant) };
		case 'statusAfter': {
			const status = pick(STATUSES_AFTER, variant);
			const body = variant % 2 === 0 ? '' : JSON.stringify({ error: { message: 'upstream' } });
			return tell(`answered with ${status}`, { status, ...bodyOf(body) });
		}
		case 'shape': {
			if (right.status !== 200) return right;
			const isPicture = received.call === 'download';
			const [name, change] = pick(isPicture ? PICTURE_SHAPES : SHAPES, variant);
			const headers = isPicture ? { 'content-type': 'text/html' } : right.headers;
			return tell(name, { ...bodyOf(change(right.body)), headers });
		}
		default:
			return right;
	}
}

function bodyOf(body: Buffer | string): Pick<Delivery, 'body' | 'sent'> {
	const bytes = typeof body === 'string' ? Buffer.from(body) : body;
	return { body: bytes, sent: bytes.length };
}
