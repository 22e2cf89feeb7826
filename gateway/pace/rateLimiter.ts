import type { Clock } from './stoppableClock';
import type { RequestPlan } from '../protocol/requestPlan';
import { orEnded } from '../wire/inFlight';
import type { RunLimits } from '../wire/sendOnce';
import { OwnRate } from './ownRate';
import { SharedRate, type StartedRequest, type WaitingLane } from './sharedRate';

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
	/** Ends its wait at once. */
	signal?: AbortSignal;
}

/** A queued request. */
interface QueuedRequest extends Required<Omit<QueueOptions, 'signal'>> {
	start: (request: StartedRequest) => void;
	reject: (reason: unknown) => void;
	/** Its place among all requests of the run. */
	place: number;
}

/** The requests of a run that share a rate, in their order. */
export class Lane implements WaitingLane {
	private queue: QueuedRequest[] = [];

	/** The pauses of the rate before this lane. */
	private readonly pausesBefore: number;

	constructor(
		readonly limiter: RateLimiter,
		readonly rate: SharedRate,
		readonly own: OwnRate,
	) {
		this.pausesBefore = rate.pauses;
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
	 * @throws CanceledInQueue; TooLateInQueue once it is known that its rate lets it start too late; RunEnded
	 *   by its signal
	 */
	async send<T>(
		send: (request: StartedRequest) => Promise<T>,
		{ isWanted: isCallWanted = () => true, until = Infinity, signal }: QueueOptions = {},
	): Promise<T> {
		const isWanted = (): boolean => signal?.aborted !== true && isCallWanted();
		const enter = (start: QueuedRequest['start'], reject: QueuedRequest['reject']): void => {
			if (this.limiter.closed !== undefined) return reject(this.limiter.closed.reason);
			this.queue.push({ start, reject, isWanted, until, place: (this.limiter.places += 1) });
			this.rate.enter(this, this.limiter.clock.now());
		};
		const request = await new Promise(orEnded(signal, enter));
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
		const makeRoom = (): void => this.limiter.makeRoom();
		if (request.mayEndRun !== true) return makeRoom();
		this.limiter.clock.sleep(0).then(makeRoom, (reason) => this.limiter.close(reason));
	}

	/** Rejects its queued requests. */
	close(reason: unknown): void {
		this.queue.splice(0).forEach(({ reject }) => reject(reason));
		this.rate.leave(this);
	}

	isWaiting(startsAt: number): boolean {
		const late = this.queue.filter(({ until }) => until < startsAt);
		this.queue = this.queue.filter(({ until }) => until >= startsAt);
		late.forEach(({ reject }) => reject(new TooLateInQueue(startsAt)));
		return this.queue.length > 0;
	}

	nextAt(): number {
		return this.queue.length > 0 && this.limiter.hasRoom() ? this.own.allowedAt : Infinity;
	}

	startOne(begin: () => StartedRequest): boolean {
		for (let next = this.queue.shift(); next !== undefined; next = this.queue.shift()) {
			if (!next.isWanted()) {
				next.reject(new CanceledInQueue('Canceled before its turn'));
				continue;
			}
			const request = begin();
			this.own.count(request.startedAt);
			this.limiter.inFlight += 1;
			next.start(request);
			break;
		}
		return this.queue.length > 0;
	}
}

/** Without a number of requests per second, the rate is that which the gateway accepts. */
interface RateLimiterOptions extends Pick<RunLimits, 'concurrency' | 'requestsPerSecond'> {
	clock: Clock;
	/** The rate of the requests that are counted as this; by default one of this run alone. */
	rateOf?: (countedAs: string) => SharedRate;
}

/** What decides about the lane of a request. */
type Counted = Pick<RequestPlan, 'call' | 'body' | 'form'>;

const modelOf = ({ body, form }: Counted): string => {
	const field = form?.fields.find(([name]) => name === 'model');
	return String(body?.model ?? field?.[1]);
};

/**
 * Limits the requests of a run: those in flight, those per second by the user's number, and in lanes
 * those that the gateway may count together.
 */
export class RateLimiter {
	readonly clock: Clock;

	/** Why no request starts any more. */
	closed?: { reason: unknown };

	/** Of downloads from other hosts, and public lists: the gateway's limits aren't theirs. */
	readonly elsewhere = new Lane(this, new SharedRate(), new OwnRate(Infinity));

	/** Of images or messages, by model. */
	private readonly lanes = new Map<string, Lane>();

	/** Of status checks, lists, and downloads from the gateway. */
	private readonly reads: Lane;

	private readonly own: OwnRate;

	/** The number of requests so far. */
	places = 0;

	/** The number of requests in flight. */
	inFlight = 0;

	constructor(private readonly options: RateLimiterOptions) {
		this.clock = options.clock;
		this.own = new OwnRate(options.requestsPerSecond);
		this.reads = this.newLane('reads');
	}

	/**
	 * The lane of a request. Status checks share that of the images if these are for one model: where a limit
	 * is of the whole account, they would find it against each other.
	 */
	laneOf(counted: Counted): Lane {
		const { call } = counted;
		if (!['submit', 'sync', 'message'].includes(call)) {
			const [only, other] = this.lanes.values();
			return other === undefined && only !== undefined ? only : this.reads;
		}
		const name = `${call === 'message' ? 'messages' : 'images'} ${modelOf(counted)}`;
		const lane = this.lanes.get(name) ?? this.newLane(name);
		this.lanes.set(name, lane);
		return lane;
	}

	private newLane(countedAs: string): Lane {
		const { rateOf = () => new SharedRate() } = this.options;
		return new Lane(this, rateOf(countedAs), this.own);
	}

	hasRoom(): boolean {
		return this.inFlight < this.options.concurrency;
	}

	/** Makes room for the next request. */
	makeRoom(): void {
		this.inFlight -= 1;
		this.startNext();
	}

	/** Starts what may start, in order; what must wait for its rate holds back no other. */
	startNext(): void {
		const lanes = this.allLanes().sort((one, other) => one.nextPlace - other.nextPlace);
		for (const { rate } of lanes) rate.startNext(this.clock.now());
	}

	/** Rejects all queued and future requests with `reason`. Other runs go on. */
	close(reason: unknown): void {
		this.closed ??= { reason };
		this.allLanes().forEach((lane) => lane.close(reason));
	}

	private allLanes(): Lane[] {
		return [this.elsewhere, this.reads, ...this.lanes.values()];
	}
}
