/**
 * The gateway of a world: the rules of docs/protocol.md, its own books, and faults as they are planned.
 *
 * It is not the embedded gateway of `simulator/`, for three reasons. Called without sockets, that one
 * takes 0.6 ms of processor time for a submit and 3 ms for an image; a whole world takes 27 ms. Its
 * records hold requests; the laws need what was charged, and what of each response had arrived. And
 * it would have to learn, for tests alone, to hide tasks and to spoil responses.
 */
import type { Random } from '../../../simulator/seed.mjs';
import { clock } from '../time/take-over.mjs';
import { Books, type Call, type Charge, type Received, type Task } from './books.mjs';
import { dateIn, MOVED, spoil, shaped } from './spoilt-responses.mjs';
import { costOf, listed, MODELS } from './published-models.mjs';
import { entryFor, fileAt, nameOfFile, pictureOf, typeOf } from './one-pixel-pictures.mjs';
import { asksAsync, fieldsOf, hasKey, lastText } from './requests.mjs';
import { answerMessage, type ChargeMessage } from './messages-of-world.mjs';
import { Keys } from './keys-of-world.mjs';
import type { ServiceFault, ServiceSetup } from './service-setup.mjs';
import { taskIn, Tasks } from './tasks-of-world.mjs';
import { accountOf, refuse } from './accounts-of-world.mjs';
import { deliver, deliverJson, type Delivery, type WireRequest } from '../wire/messages.mjs';

export class Service {
	readonly books = new Books();
	private readonly seen = new Map<string, number>();
	private readonly recent: number[] = [];
	private readonly tasks: Tasks;
	private readonly keys: Keys;

	constructor(
		private readonly setup: ServiceSetup,
		private readonly random: Random,
		/** By which the caller knows the gateway. */
		readonly origin: string,
		private readonly foreignOrigin: string,
	) {
		this.tasks = new Tasks(setup, random, this.books);
		this.keys = new Keys(setup, this.books);
	}

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
		const task = this.tasks.add(charge, kind, clock.now - ageMs);
		if (isVisible) task.visibleAt = task.createdAt;
		return task;
	}

	private receive(request: WireRequest): Received {
		const { method, url, headers } = request;
		const call = callOf(method, url);
		const fields = ['submit', 'sync', 'message'].includes(call) ? fieldsOf(request) : undefined;
		const prompt = fields && (fields.prompt || lastText(fields.raw.messages));
		const asked = call === 'poll' ? taskIn(url) : {};
		return this.books.receive({
			...asked,
			prompt,
			at: clock.now,
			call,
			method,
			host: url.host,
			origin: url.origin,
			path: url.pathname,
			headers,
			spills: hasKey(request),
		});
	}

	private faultFor(call: Call): ServiceFault | undefined {
		for (const [index, fault] of this.setup.faults.entries()) {
			const isPaid = fault.call === 'paid' && ['submit', 'sync', 'message'].includes(call);
			if (fault.call !== call && fault.call !== 'any' && !isPaid) continue;
			const seen = this.seen.get(`${index}`) ?? 0;
			this.seen.set(`${index}`, seen + 1);
			const place = seen - fault.skip;
			if (place >= 0 && place < fault.times) return fault;
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
			const task = this.books.task(String(received.kind), String(received.taskId));
			// Where it is sent to, nobody may know the task.
			const isElsewhere = before.status >= 300 && before.status < 400;
			const isMissing = received.fate === '404' || isElsewhere;
			if (task !== undefined && isMissing) task.charge.toldEmpty = true;
			return before;
		}
		if (this.isTooFrequent()) {
			received.fate = '429, too frequent';
			const error = { message: 'requests too frequent, retry later', type: 'rate_limit_error' };
			const pause = received.number % 4 === 3 ? dateIn(2) : '1';
			return deliverJson({ error }, 429, { 'retry-after': pause });
		}
		const answer = (): Delivery => this.answer(request, received);
		const { right, charge } = this.keys.answer(request, received, answer);
		const about = charge ?? this.books.task(String(received.kind), String(received.taskId))?.charge;
		const told = fault === undefined ? right : shaped(fault, right, received);
		const isEmpty = received.call === 'poll' && received.fate.includes(', but no images');
		if (about !== undefined && isEmpty) about.toldEmpty = true;
		if (charge !== undefined) {
			const isRight = told === right || told.dripMs !== undefined || told.body === right.body;
			const { step } = this.books;
			const before = charge.told;
			told.onArrival = (bytes, whole) => {
				// What a retry is told, the action before it could not name.
				if (step === charge.step)
					charge.told = `${before}${told.body.subarray(0, bytes).toString()}`;
				// A response that is repeated is right if one of them was.
				if (!whole || told.status !== 200 || (charge.heard && !isRight)) return;
				Object.assign(charge, { right: isRight, heard: true, heardAt: clock.now });
				if (isRight) charge.step = step;
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
				return listed(received.path);
			case 'download':
				return this.download(received);
			case 'poll':
				return this.tasks.query(received);
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
		const isEdit = received.path.includes('/edits') || fields.raw.input_references !== undefined;
		const kind = isEdit ? 'edit' : 'generation';
		received.kind = kind;
		const asynchronous = asksAsync(request, fields);
		received.call = asynchronous ? 'submit' : 'sync';
		if (!MODELS.has(model)) return refuse(400, `unknown model: ${model}`);
		if (prompt === '') return refuse(400, 'prompt is required');
		if (![1, 2, 3, 4].includes(n)) return refuse(400, 'n must be from 1 to 4');
		if (kind === 'edit' && fields.files === 0) return refuse(400, 'image is required');
		const charge = this.charge(received.call, kind, account, prompt, model, n);
		charge.file = fields.file === undefined ? undefined : nameOfFile(fields.file);
		charge.inline = this.setup.inline || fields.raw.response_format === 'b64_json';
		if (!asynchronous) {
			received.fate = `charged, #${charge.number}`;
			const data = charge.images.map((url) => entryFor(url, charge.inline));
			const answer = deliverJson({ created: Math.floor(clock.now / 1000), data });
			answer.afterMs = this.setup.syncSeconds * 1000;
			return answer;
		}
		const task = this.tasks.add(charge, kind, clock.now);
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
			inline: false,
			fails: false,
		};
		if (kind !== 'message') {
			for (let index = 0; index < count; index += 1) {
				const path = `/pictures/${number}-${index}.png`;
				charge.images.push(host + path);
				this.books.pictures.set(path, { charge, index });
			}
		}
		charge.cost = costOf(model, count);
		this.books.charges.push(charge);
		return charge;
	}

	private download(received: Received): Delivery {
		const path = received.path.replace(MOVED, '/');
		const headers = { 'content-type': typeOf(path) };
		const file = fileAt(path);
		if (file !== undefined) return deliver(200, file, headers);
		const picture = this.books.pictures.get(path);
		if (picture === undefined) return refuse(404, 'image does not exist');
		received.prompt = picture.charge.prompt;
		return deliver(200, pictureOf(path), headers);
	}

	private message(request: WireRequest, received: Received): Delivery {
		const charge: ChargeMessage = (account, prompt, model) =>
			this.charge('message', 'message', account, prompt, model, 1);
		return answerMessage(request, received, charge);
	}
}

function callOf(method: string, { pathname, searchParams }: URL): Call {
	if (/^\/(moved\/)?(pictures|sources)\//.test(pathname)) return 'download';
	if (/^\/v1\/(media|images)\/models/.test(pathname)) return 'listing';
	if (pathname === '/v1/messages') return 'message';
	if (/^\/v1\/images(\/(generations|edits))?$/.test(pathname) && method === 'POST') {
		return searchParams.get('async') === 'true' ? 'submit' : 'sync';
	}
	return /^\/v1\/(images\/)?(generations|edits|tasks)\//.test(pathname) ? 'poll' : 'other';
}
