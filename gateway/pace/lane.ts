import type { OwnRate } from './ownRate';
import type { RateLimiter } from './rateLimiter';
import type { SharedRate, StartedRequest } from './sharedRate';

/**
 * The error of a request that wasn't sent because, when its turn came, its caller didn't want it to be
 * sent anymore.
 */
export class CanceledInQueue extends Error {}

/** That of a request that could only start later than its caller waits for it. */
export class TooLateInQueue extends CanceledInQueue {
	/** @param startsAt when it could start at the earliest */
	constructor(readonly startsAt: number) {
		super('Canceled because its turn would come too late');
	}
}

interface QueueOptions {
	/** Whether the caller still wants it to be sent when it may start. */
	isWanted?: () => boolean;
	/** Until when the caller waits for its rate; by default for ever. */
	until?: number;
}

/** A queued request. */
interface QueuedRequest extends Required<QueueOptions> {
	start: (request: StartedRequest) => void;
	reject: (reason: unknown) => void;
	/** Its place among all requests of the run. */
	place: number;
}

/** The requests of a run that share a rate, in their order. */
export class Lane {
	private queue: QueuedRequest[] = [];

	/** The pauses of the rate before this lane. */
	private readonly pausesBefore: number;

	constructor(
		readonly run: RateLimiter,
		readonly rate: SharedRate,
		readonly own: OwnRate,
	) {
		this.pausesBefore = rate.pausesSoFar;
	}

	/** The place of its next request among all of the run. */
	get nextPlace(): number {
		return this.queue[0]?.place ?? Number.MAX_SAFE_INTEGER;
	}

	/** The pauses since this lane began in a row in which the gateway has accepted nothing. */
	get pausesInARow(): number {
		return this.rate.pausesInARow(this.pausesBefore);
	}

	/**
	 * Calls `send` as soon as the limits allow it.
	 *
	 * @param send gets what the rate's `refused` takes
	 * @throws CanceledInQueue; TooLateInQueue once it is known that its rate lets it start too late
	 */
	async send<T>(
		send: (request: StartedRequest) => Promise<T>,
		{ isWanted = () => true, until = Infinity }: QueueOptions = {},
	): Promise<T> {
		const request = await new Promise<StartedRequest>((start, reject) => {
			if (this.run.closed !== undefined) return reject(this.run.closed.reason);
			this.queue.push({ start, reject, isWanted, until, place: this.run.takePlace() });
			this.rate.enter(this);
			this.rate.startNext(this.run.clock.now());
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
		this.rate.finished(request);
		const makeRoom = (): void => this.run.makeRoom();
		if (request.mayEndRun !== true) return makeRoom();
		this.run.clock.sleep(0).then(makeRoom, (reason) => this.run.close(reason));
	}

	/** Rejects its queued requests. */
	close(reason: unknown): void {
		this.queue.splice(0).forEach(({ reject }) => reject(reason));
		this.rate.leave(this);
	}

	/** Rejects requests whose callers don't wait so long. @returns whether others are queued */
	isWaiting(startsAt: number): boolean {
		const late = this.queue.filter(({ until }) => until < startsAt);
		if (late.length > 0) this.queue = this.queue.filter((request) => !late.includes(request));
		late.forEach(({ reject }) => reject(new TooLateInQueue(startsAt)));
		return this.queue.length > 0;
	}

	/** The earliest start of its next request by the limits of its run; infinite if none may start. */
	nextAt(): number {
		return this.queue.length > 0 && this.run.hasRoom() ? this.own.allowedAt : Infinity;
	}

	/**
	 * Starts its next request, whose record `begin` returns.
	 *
	 * @returns whether a further request waits
	 */
	startOne(begin: () => StartedRequest): boolean {
		for (let next = this.queue.shift(); next !== undefined; next = this.queue.shift()) {
			if (!next.isWanted()) {
				next.reject(new CanceledInQueue('Canceled before its turn'));
				continue;
			}
			const request = begin();
			this.own.count(request.startedAt);
			this.run.takeRoom();
			next.start(request);
			break;
		}
		return this.queue.length > 0;
	}
}
