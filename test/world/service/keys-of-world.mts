/** What a world's gateway knows by the keys of payments: the rules of docs/protocol.md, "Idempotency". */
import { clock } from '../time/take-over.mjs';
import type { Delivery, FormPart, WireRequest } from '../wire/messages.mjs';
import { refuse } from './accounts-of-world.mjs';
import type { Books, Charge, Received } from './books.mjs';
import type { ServiceSetup } from './service-setup.mjs';

export const KEY_HEADER = 'idempotency-key';

/** A gateway that forgets its keys does so after this time. */
const FORGETS_AFTER_MS = 30_000;

interface Entry {
	at: number;
	/** When its response is there. */
	readyAt: number;
	content: string;
	right: Delivery;
	received: Received;
	charge: Charge;
}

/** A response, and the charge that it is about. */
export interface Answer {
	right: Delivery;
	charge?: Charge;
}

export class Keys {
	private readonly entries = new Map<string, Entry>();

	constructor(
		private readonly setup: Pick<ServiceSetup, 'keys'>,
		private readonly books: Books,
	) {}

	/** @param answer does what a request asks for, and charges it */
	answer(request: WireRequest, received: Received, answer: () => Delivery): Answer {
		const first = (): Answer => {
			const count = this.books.charges.length;
			return { right: answer(), charge: this.books.charges[count] };
		};
		const { headers } = received;
		const key = headers[KEY_HEADER];
		const { keys } = this.setup;
		if (key === undefined || keys === 'none' || keys === 'ignored') return first();
		const name = [headers.authorization, headers['x-api-key'], key].join(' ');
		const content = contentOf(request);
		const known = this.entries.get(name);
		const isForgotten = keys === 'forgotten' && clock.now > (known?.at ?? 0) + FORGETS_AFTER_MS;
		if (known !== undefined && !isForgotten) return this.replay(known, content, received);
		const answered = first();
		const { right, charge } = answered;
		// A refusal doesn't use a key up.
		if (charge === undefined) return answered;
		const at = clock.now;
		this.entries.set(name, { at, readyAt: at + right.afterMs, content, right, received, charge });
		return answered;
	}

	private replay(
		{ content, readyAt, right, received: first, charge }: Entry,
		now: string,
		received: Received,
	): Answer {
		if (content !== now) {
			received.fate = '422, another request';
			return { right: refuse(422, 'this idempotency key was used with a different request') };
		}
		if (clock.now < readyAt) {
			received.fate = '409, in progress';
			return { right: refuse(409, 'a request with this idempotency key is in progress') };
		}
		const { prompt, account, kind, taskId, call } = first;
		Object.assign(received, {
			prompt,
			account,
			kind,
			taskId,
			call,
			fate: `#${charge.number} again`,
		});
		// As it was, without what has become of the first one on its way.
		return { right: { ...right, afterMs: 0, onArrival: undefined }, charge };
	}
}

function contentOf({ url, body }: WireRequest): string {
	const parts = Array.isArray(body) ? body.map(textOf) : String(body);
	return JSON.stringify([url.href, parts]);
}

const textOf = ({ name, value }: FormPart): string[] => [name, value.toString('base64')];
