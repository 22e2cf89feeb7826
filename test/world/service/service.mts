/** The gateway of a world: the specification's rules, its own books, and faults as they are planned. */
import type { Random } from '../../../simulator/seed.mjs';
import { clock } from '../time/take-over.mjs';
import { Books, type Call, type Charge, type Received, type Task } from './books.mjs';
import { spoil, shaped } from './faults.mjs';
import { LISTING, MODELS } from './models.mjs';
import { pictureOf } from './pictures.mjs';
import { asksAsync, fieldsOf, lastText, type Fields } from './requests.mjs';
import {
	BAD_WORDS,
	GOOD_WORDS,
	OPEN_WORDS,
	REASONS,
	type ServiceFault,
	type ServiceSetup,
} from './setup.mjs';
import { deliver, deliverJson, type Delivery, type WireRequest } from '../wire/messages.mjs';

export const KEYS: [string, string] = ['sk-world-account-one-7f3a', 'sk-world-account-two-91bc'];

export class Service {
	readonly books = new Books();
	private readonly seen = new Map<string, number>();
	private readonly recent: number[] = [];
	private issued = { generation: 0, edit: 0 };

	constructor(
		private readonly setup: ServiceSetup,
		private readonly random: Random,
		/** By which the caller knows the gateway. */
		readonly origin: string,
		private readonly foreignOrigin: string,
	) {}

	/** Handles one request: books it, does it, and says what the caller gets of it. */
	handle(request: WireRequest): Delivery {
		const received = this.receive(request);
		const fault = this.faultFor(received.call);
		const delivery = this.handleWith(request, received, fault);
		delivery.afterMs += 1 + Math.floor(this.random() * this.setup.latencyMs);
		received.status = delivery.end === 'cut' && delivery.sent === 0 ? undefined : delivery.status;
		return delivery;
	}

	/** A task that somebody submitted before this world began. */
	submitEarlier(
		kind: Task['kind'],
		prompt: string,
		account: string,
		{ ageMs, isVisible }: { ageMs: number; isVisible: boolean },
	): Task {
		const charge = this.charge('submit', kind, account, prompt, 'aurora-image-1', 1);
		charge.right = charge.heard = true;
		charge.step = -1;
		const task = this.addTask(charge, kind, clock.now - ageMs);
		if (isVisible) task.visibleAt = task.createdAt;
		return task;
	}

	private receive({ method, url, headers }: WireRequest): Received {
		const call = callOf(method, url);
		const asked = call === 'poll' ? taskIn(url) : {};
		return this.books.receive({
			...asked,
			at: clock.now,
			call,
			method,
			host: url.host,
			path: url.pathname,
			headers,
		});
	}

	private faultFor(call: Call): ServiceFault | undefined {
		for (const [index, fault] of this.setup.faults.entries()) {
			if (fault.call !== call && fault.call !== 'any') continue;
			const seen = this.seen.get(`${index}`) ?? 0;
			this.seen.set(`${index}`, seen + 1);
			if (seen >= fault.skip && seen < fault.skip + fault.times) return fault;
		}
		return undefined;
	}

	private handleWith(
		request: WireRequest,
		received: Received,
		fault: ServiceFault | undefined,
	): Delivery {
		const before = fault && spoil(fault, received);
		if (before !== undefined) {
			received.meaning ??= 'passing';
			return before;
		}
		if (this.isTooFrequent()) {
			received.fate = '429, too frequent';
			received.meaning = 'passing';
			const error = { message: 'requests too frequent, retry later', type: 'rate_limit_error' };
			return deliverJson({ error }, 429, { 'retry-after': '1' });
		}
		const charges = this.books.charges.length;
		const right = this.answer(request, received);
		const charge = this.books.charges[charges];
		const told = fault === undefined ? right : shaped(fault, right, received, this.random, charge);
		if (charge !== undefined) {
			charge.right = told === right || told.dripMs !== undefined || told.body === right.body;
			told.onArrival = (bytes, whole) => {
				charge.told = told.body.subarray(0, bytes).toString();
				if (!whole || told.status !== 200) return;
				charge.heard = true;
				charge.heardAt = clock.now;
			};
		}
		return told;
	}

	private isTooFrequent(): boolean {
		const { perSecond } = this.setup;
		if (perSecond === 0) return false;
		while (this.recent.length > 0 && this.recent[0]! <= clock.now - 1000) this.recent.shift();
		if (this.recent.length >= perSecond) return true;
		this.recent.push(clock.now);
		return false;
	}

	private answer(request: WireRequest, received: Received): Delivery {
		switch (received.call) {
			case 'listing':
				return deliverJson(LISTING);
			case 'download':
				return this.download(received);
			case 'poll':
				return this.poll(received);
			case 'submit':
			case 'sync':
				return this.order(request, received);
			case 'message':
				return this.message(request, received);
			default:
				return refuse(404, 'no such endpoint');
		}
	}

	private order(request: WireRequest, received: Received): Delivery {
		const account = accountOf(received.headers.authorization?.replace(/^Bearer /, ''));
		if (account === undefined) return refuse(401, 'API key invalid');
		const fields = fieldsOf(request);
		if (fields === undefined) return refuse(400, 'the body cannot be read');
		const { model, prompt, n } = fields;
		received.prompt = prompt;
		received.account = account;
		const kind = received.path.includes('/edits') ? 'edit' : 'generation';
		received.kind = kind;
		const asynchronous = asksAsync(request, fields);
		received.call = asynchronous ? 'submit' : 'sync';
		if (!MODELS.has(model)) return refuse(400, `unknown model: ${model}`);
		if (prompt === '') return refuse(400, 'prompt is required');
		if (kind === 'edit' && fields.files === 0) return refuse(400, 'image is required');
		const charge = this.charge(received.call, kind, account, prompt, model, n);
		if (!asynchronous) {
			received.fate = `charged, #${charge.number}`;
			const data = charge.images.map((url) => ({ url }));
			const answer = deliverJson({ created: Math.floor(clock.now / 1000), data });
			answer.afterMs = this.setup.syncSeconds * 1000;
			return answer;
		}
		const task = this.addTask(charge, kind, clock.now);
		received.taskId = task.id;
		received.fate = `charged, #${charge.number}, task ${task.id}`;
		return this.setup.ids === 'digits'
			? deliverJson(`{"id":${task.id},"status":"queued"}`)
			: deliverJson({ id: task.id, status: 'queued' });
	}

	private charge(
		call: Call,
		kind: Charge['kind'],
		account: string,
		prompt: string,
		model: string,
		count: number,
	): Charge {
		const number = this.books.charges.length;
		const host = this.setup.foreignHost ? this.foreignOrigin : this.origin;
		const charge: Charge = {
			number,
			at: clock.now,
			step: this.books.step,
			call,
			kind,
			account,
			prompt,
			model,
			count,
			images: [],
			told: '',
			right: false,
			heard: false,
			fails: false,
		};
		if (kind !== 'message') {
			for (let index = 0; index < count; index += 1) {
				const path = `/pictures/${number}-${index}.png`;
				charge.images.push(host + path);
				this.books.pictures.set(path, { charge, index });
			}
		}
		this.books.charges.push(charge);
		return charge;
	}

	private addTask(charge: Charge, kind: Task['kind'], createdAt: number): Task {
		const { taskSeconds, lateSeconds, failPercent, spelling } = this.setup;
		const [from, to] = taskSeconds;
		charge.fails = this.random() * 100 < failPercent;
		const words = charge.fails ? BAD_WORDS : GOOD_WORDS;
		const task: Task = {
			id: this.nextId(kind),
			kind,
			account: charge.account,
			charge,
			createdAt,
			settlesAt: createdAt + 1000 * (from + this.random() * Math.max(0, to - from)),
			visibleAt: createdAt + 1000 * lateSeconds,
			final: words[spelling % words.length]!,
		};
		charge.taskId = task.id;
		this.books.tasks.set(`${kind} ${task.id}`, task);
		return task;
	}

	private nextId(kind: Task['kind']): string {
		const number = (this.issued[kind] += 1);
		switch (this.setup.ids) {
			case 'perKind':
				return `task-${number}`;
			case 'digits':
				return `90071992547409${kind === 'edit' ? 1 : 0}${String(number).padStart(4, '0')}`;
			case 'strange':
				return `täsk/${number}?${kind}#. ..%2F&`;
			default:
				return `task_${Math.floor(this.random() * 2 ** 40).toString(16)}_${kind}${number}`;
		}
	}

	private poll(received: Received): Delivery {
		const { kind = 'generation', taskId: id = '' } = received;
		const account = accountOf(received.headers.authorization?.replace(/^Bearer /, ''));
		if (account === undefined) {
			received.meaning = 'final';
			return refuse(401, 'API key invalid');
		}
		const task = this.books.task(kind, id);
		if (task === undefined || task.account !== account || clock.now < task.visibleAt) {
			received.fate = '404';
			received.meaning = 'missing';
			return refuse(404, `task ${id} does not exist`);
		}
		received.prompt = task.charge.prompt;
		if (clock.now < task.settlesAt) {
			const share = (clock.now - task.createdAt) / (task.settlesAt - task.createdAt);
			const word = OPEN_WORDS[(this.setup.spelling + Math.floor(share * 3)) % OPEN_WORDS.length];
			received.fate = `still ${String(word).trim()}`;
			received.meaning = 'open';
			return deliverJson({ id, status: word });
		}
		received.fate = task.final.trim();
		if (task.charge.fails) {
			received.meaning = 'failed';
			task.charge.toldFailed = true;
			const message = REASONS[this.setup.spelling % REASONS.length];
			return deliverJson({ id, status: task.final, error: { message, type: 'failed' } });
		}
		received.meaning = 'success';
		const data = task.charge.images.map((url) => ({ url }));
		return deliverJson({ id, status: task.final, data });
	}

	private download(received: Received): Delivery {
		const picture = this.books.pictures.get(received.path);
		if (picture === undefined) return refuse(404, 'image does not exist');
		received.prompt = picture.charge.prompt;
		return deliver(200, pictureOf(received.path), { 'content-type': 'image/png' });
	}

	private message(request: WireRequest, received: Received): Delivery {
		const { headers } = received;
		const account = accountOf(headers.authorization ?? headers['x-api-key']);
		if (account === undefined) return refuse(401, 'invalid key');
		received.account = account;
		const fields: Fields | undefined = fieldsOf(request);
		if (fields === undefined) return refuse(400, 'the body cannot be read');
		received.kind = 'message';
		const prompt = lastText(fields.raw.messages);
		received.prompt = prompt;
		const charge = this.charge('message', 'message', account, prompt, fields.model, 1);
		charge.reply = `reply ${charge.number} to: ${prompt}`;
		received.fate = `charged, #${charge.number}`;
		return deliverJson({
			id: `msg_${charge.number}`,
			type: 'message',
			role: 'assistant',
			model: fields.model,
			content: [
				{ type: 'thinking', thinking: 'Let me see.', signature: `sig${charge.number}` },
				{ type: 'text', text: charge.reply },
			],
			stop_reason: 'end_turn',
			usage: { input_tokens: 5, output_tokens: 7 },
		});
	}
}

function taskIn({ pathname }: URL): Pick<Received, 'kind' | 'taskId'> {
	const [, , , endpoint, raw = ''] = pathname.split('/');
	return { kind: endpoint === 'edits' ? 'edit' : 'generation', taskId: decodeURIComponent(raw) };
}

function callOf(method: string, { pathname, searchParams }: URL): Call {
	if (pathname.startsWith('/pictures/')) return 'download';
	if (pathname.startsWith('/v1/media/models')) return 'listing';
	if (pathname === '/v1/messages') return 'message';
	if (/^\/v1\/images\/(generations|edits)$/.test(pathname) && method === 'POST') {
		return searchParams.get('async') === 'true' ? 'submit' : 'sync';
	}
	return /^\/v1\/images\/(generations|edits)\//.test(pathname) ? 'poll' : 'other';
}

function accountOf(key: string | undefined): string | undefined {
	const index = KEYS.indexOf(key ?? '');
	return index < 0 ? undefined : `account ${index + 1}`;
}

function refuse(status: number, message: string): Delivery {
	return deliverJson({ error: { message, type: 'invalid_request_error' } }, status);
}
