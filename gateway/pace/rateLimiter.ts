import type { Clock } from '../protocol/clock';
import type { RequestPlan } from '../protocol/requestPlan';
import { Lane } from './lane';
import { OwnRate } from './ownRate';
import { SharedRate } from './sharedRate';

interface RateLimiterOptions {
	/** The maximum number of requests in flight. */
	concurrency: number;
	/**
	 * The maximum number of requests per second; if undefined, the rate is that which the gateway
	 * accepts.
	 */
	requestsPerSecond?: number;
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
	readonly foreign = new Lane(this, new SharedRate(), new OwnRate(Infinity));

	/** Of images or messages, by model. */
	private readonly lanes = new Map<string, Lane>();

	/** Of status checks, lists, and downloads from the gateway. */
	private readonly reads: Lane;

	private readonly own: OwnRate;

	/** The number of requests so far. */
	private places = 0;

	/** The number of requests in flight. */
	private inFlight = 0;

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

	/** The place of a further request among all of the run. */
	takePlace(): number {
		this.places += 1;
		return this.places;
	}

	hasRoom(): boolean {
		return this.inFlight < this.options.concurrency;
	}

	takeRoom(): void {
		this.inFlight += 1;
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
		return [this.foreign, this.reads, ...this.lanes.values()];
	}
}
