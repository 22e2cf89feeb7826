import type { Clock } from '../protocol/clock';
import { AccountRate, LATE_TIMER_MS, type StartedRequest, type WaitingRun } from './accountRate';

export type { StartedRequest } from './accountRate';

interface RateLimiterOptions {
	/** The maximum number of requests in flight. */
	concurrency: number;
	/**
	 * The maximum number of requests per second; if undefined, the rate is that which the gateway
	 * accepts.
	 */
	requestsPerSecond?: number;
	clock: Clock;
	/** The rate that all runs of the account share; by default one of its own. */
	account?: AccountRate;
}

/**
 * A little more than the second in which a gateway counts: a request may arrive sooner after its
 * start than an earlier one did. In milliseconds.
 */
const COUNTING_MARGIN_MS = 50;

/**
 * The error of a request that wasn't sent because, when its turn came, its caller didn't want it to be
 * sent anymore.
 */
export class CanceledInQueue extends Error {}

/** A queued request. */
interface QueuedRequest {
	start: (request: StartedRequest) => void;
	reject: (reason: unknown) => void;
	isWanted: () => boolean;
	/** Its place among all requests of the run. */
	place: number;
}

/**
 * Limits the requests of a run: those in flight, and those per second by the user's number and by the
 * rate of the account.
 */
export class RateLimiter implements WaitingRun {
	readonly clock: Clock;

	private readonly account: AccountRate;

	private readonly queue: QueuedRequest[] = [];

	/** Downloads from other hosts, and public lists, which have no part in the account's rate. */
	private readonly foreign: QueuedRequest[] = [];

	/** The pauses of the account before this run. */
	private readonly pausesBefore: number;

	private places = 0;

	private closed?: { reason: unknown };

	/** The number of requests in flight. */
	private inFlight = 0;

	/** The earliest start of the next request by the user's number per second. */
	private nextStartAt = 0;

	/** The starts of as many requests as the user allows in `countedMs`. */
	private readonly allowedStarts: number[] = [];

	constructor(private readonly options: RateLimiterOptions) {
		this.clock = options.clock;
		this.account = options.account ?? new AccountRate();
		this.pausesBefore = this.account.pausesSoFar;
	}

	get hasOwnRate(): boolean {
		return this.options.requestsPerSecond !== undefined;
	}

	/** The milliseconds until the present pause of the account ends; negative if there is none. */
	get pauseLeftMs(): number {
		return this.account.pauseLeftMs(this.clock.now());
	}

	/** The pauses of this run in a row in which the gateway has accepted nothing from the account. */
	get pausesInARow(): number {
		return this.account.pausesInARow(this.pausesBefore);
	}

	/**
	 * Calls `send` as soon as the limits allow it.
	 *
	 * @param send gets what `refused` takes
	 * @param isWanted whether the caller still wants it to be sent when it may start
	 * @throws CanceledInQueue
	 */
	async run<T>(send: (request: StartedRequest) => Promise<T>, isWanted = () => true): Promise<T> {
		return await this.runFrom(this.queue, send, isWanted);
	}

	/** Calls `send`, a request to another host or for a public list: the rate isn't one for these. */
	async runForeign<T>(send: (request: StartedRequest) => Promise<T>): Promise<T> {
		return await this.runFrom(this.foreign, send, () => true);
	}

	private async runFrom<T>(
		queue: QueuedRequest[],
		send: (request: StartedRequest) => Promise<T>,
		isWanted: () => boolean,
	): Promise<T> {
		const request = await new Promise<StartedRequest>((start, reject) => {
			if (this.closed !== undefined) return reject(this.closed.reason);
			this.places += 1;
			queue.push({ start, reject, isWanted, place: this.places });
			if (queue === this.queue) this.account.enter(this);
			this.startNext();
		});
		try {
			return await send(request);
		} finally {
			this.release(request);
		}
	}

	/**
	 * Makes room for the next request. After an error, whatever follows from it happens first: if it
	 * ends the run, no other paid request is sent.
	 */
	private release(request: StartedRequest): void {
		this.account.finished(request);
		const makeRoom = (): void => {
			this.inFlight -= 1;
			this.startNext();
		};
		if (request.mayEndRun !== true) return makeRoom();
		this.clock.sleep(0).then(makeRoom, (reason) => this.close(reason));
	}

	/** Rejects all queued and future requests with `reason`. Other runs of the account go on. */
	close(reason: unknown): void {
		this.closed ??= { reason };
		for (const queue of [this.queue, this.foreign]) {
			queue.splice(0).forEach(({ reject }) => reject(reason));
		}
		this.account.leave(this);
	}

	/** Records that the gateway accepted a request: the rate may rise. */
	accepted(): void {
		this.account.accepted(this.clock.now());
	}

	/**
	 * Records a refusal for the rate limit.
	 *
	 * @param retryAfterMs the gateway's `Retry-After`, in milliseconds
	 */
	refused(request: StartedRequest, retryAfterMs = 0): void {
		this.account.refused(request, retryAfterMs, this.clock);
	}

	/** Starts what may start, in order; what must wait for the rate holds back no other host's. */
	private startNext(): void {
		const [next] = this.queue;
		this.startForeign(next === undefined ? Infinity : next.place);
		this.account.startNext(this.clock.now());
		this.startForeign(Infinity);
	}

	private startForeign(before: number): void {
		const { foreign } = this;
		while (foreign.length > 0 && foreign[0]!.place < before && this.hasRoom()) {
			this.inFlight += 1;
			const now = this.clock.now();
			foreign.shift()!.start({ startedAt: now, sentRate: 1, secondBeganAt: now });
		}
	}

	private hasRoom(): boolean {
		return this.inFlight < this.options.concurrency;
	}

	nextAt(): number | undefined {
		return this.queue.length > 0 && this.hasRoom() ? this.allowedAt() : undefined;
	}

	startOne(begin: () => StartedRequest): boolean {
		for (let next = this.queue.shift(); next !== undefined; next = this.queue.shift()) {
			if (!next.isWanted()) {
				next.reject(new CanceledInQueue('Canceled before its turn'));
				continue;
			}
			const allowedAt = this.allowedAt();
			const request = begin();
			this.countStart(request.startedAt, allowedAt);
			this.inFlight += 1;
			next.start(request);
			break;
		}
		return this.queue.length > 0;
	}

	/** The earliest start of the next request by the number per second that the user has set. */
	private allowedAt(): number {
		const [oldest = 0] = this.allowedStarts;
		const isFull = this.allowedStarts.length >= this.mostCounted;
		return Math.max(this.nextStartAt, isFull ? oldest + this.countedMs : 0);
	}

	private countStart(now: number, allowedAt: number): void {
		const { requestsPerSecond } = this.options;
		if (requestsPerSecond === undefined) return;
		this.allowedStarts.push(now);
		if (this.allowedStarts.length > this.mostCounted) this.allowedStarts.shift();
		this.nextStartAt = Math.max(allowedAt, now - LATE_TIMER_MS) + 1000 / requestsPerSecond;
	}

	/** The whole number of requests that may start in `countedMs`. */
	private get mostCounted(): number {
		return Math.ceil(this.options.requestsPerSecond ?? Infinity);
	}

	/** The time in which a gateway may count that many: a second for a whole number of them. */
	private get countedMs(): number {
		const { requestsPerSecond = Infinity } = this.options;
		return (1000 * this.mostCounted) / requestsPerSecond + COUNTING_MARGIN_MS;
	}
}
