import { createDigest } from '../util/digest';
import { isJsonObject, withoutUndefined, type JsonObject } from '../util/json';
import { errorOfFailedSubmit } from './errors/taskErrors';
import { downloadImage, type ImageSource, type StoreImage } from './imageDownload';
import { UNRECORDED, type Journal } from './journal';
import { ModelLists } from './models/modelLists';
import { openLimiter } from './pace/sharedRates';
import { Client, type ClientOptions } from './pace/client';
import type { RateLimiter } from './pace/rateLimiter';
import { StoppableClock, type Sleep } from './pace/stoppableClock';
import { pay } from './pay';
import { accountOf, erasedError, type Account } from './protocol/account';
import { GatewayError, hasCode } from './protocol/gatewayError';
import { requestIdentity } from './protocol/requestIdentity';
import { orderOf, type Order } from './protocol/imageOrder';
import { addressesSent, type ImageRequest, type PaidPlan } from './protocol/requestPlan';
import type { TaskType } from './protocol/taskType';
import type { GoodResponse } from './protocol/outcome';
import { RunEnded, Requests } from './wire/inFlight';
import { readPaidResponse, type Receipt } from './responses/paidResponse';
import { withFullAddresses, type Task, type TaskState } from './responses/task';
import { getTaskStatus } from './wait/getTaskStatus';
import { TasksOfRun } from './wait/taskQueries';
import { TaskWaiter, type HowToWait, type TaskEnd, type Wait } from './wait/taskWaiter';
import type { WaitContext } from './wait/pollTask';
import { attemptLine } from './wire/attemptLine';
import {
	type RunLimits,
	createSendOnce,
	type LoggedAttempt,
	type SendOnce,
	type ReadBody,
} from './wire/sendOnce';
import type { Transport } from './wire/transport';

/** What a gateway's client needs from whoever uses it. */
export interface Ports<Key> extends Pick<ClientOptions, 'onRateLimited'> {
	transport: Transport;
	/** Whether the transport adds the key to the requests that carry it; by default the client does. */
	addsKey?: boolean;
	sleep: Sleep;
	/** The record of what is paid for; by default nothing is recorded. */
	journal?: Journal<Key>;
	/** A Stop: everything ends at once. */
	signal?: AbortSignal;
	limits?: Partial<RunLimits>;
	/** The approximate time between two status checks of a task, in milliseconds; 3000 by default. */
	pollIntervalMs?: number;
	/** Shows a message to a person who watches. */
	onProgress?: (message: string) => void;
	/** Filled with what a person should know once the run is over. */
	hints?: Set<string>;
	/** Gets a line for a log about each attempt to send a request: never the key, a query or a body. */
	log?: (line: string) => void;
	/** False for a client that only reads the public model list. */
	needsKey?: boolean;
}

/** What ends one call alone, in place of the whole run. */
interface OneCall {
	signal?: AbortSignal;
}

interface GenerateOptions<Key> extends OneCall {
	asynchronous?: boolean;
	key: Key;
}

/** How to generate images: with the key of the payment, unless there is no journal that knows one. */
type HowToGenerate<Key> = [Key] extends [undefined]
	? [options?: Partial<GenerateOptions<Key>>]
	: [options: GenerateOptions<Key>];

const LIMITS: RunLimits = { concurrency: 10, timeoutMs: 300_000 };
const POLL_INTERVAL_MS = 3000;
const MAX_WAIT_MS = 600_000;

/**
 * A gateway, for one run: its requests share a rate limiter, a clock and an end. Everything that is
 * charged goes through the journal.
 *
 * @typeParam Key what the journal knows a request by
 */
export class Gateway<Key = undefined> {
	/** Rejects when the run is stopped by its signal. */
	readonly stopped: Promise<never>;

	/** The lists of the gateway's models. */
	readonly models: ModelLists;

	/** The digest of a value; a large one is digested in a turn of its own. */
	readonly digest = createDigest(async () => await this.yieldToOthers());

	private readonly limits: RunLimits;

	/** The clock of the run, in milliseconds. */
	readonly clock: StoppableClock;

	private readonly requests = new Requests();

	private readonly limiter: RateLimiter;

	private readonly client: Client;

	private readonly tasks = new TasksOfRun();

	private readonly waiting: WaitContext;

	private readonly waiter: TaskWaiter;

	/** The number of tasks that `announce` has told of. */
	private announced = 0;

	/** The number of payments in progress. */
	private paying = 0;

	private onStop = (): void => undefined;

	constructor(
		readonly account: Account,
		private readonly ports: Ports<Key>,
	) {
		const {
			onRateLimited,
			needsKey = true,
			onProgress = () => undefined,
			hints = new Set(),
			pollIntervalMs: intervalMs = POLL_INTERVAL_MS,
		} = ports;
		this.limits = { ...LIMITS, ...withoutUndefined({ ...ports.limits }) };
		const clock = (this.clock = new StoppableClock(ports.sleep));
		const { limits } = this;
		const limiter = (this.limiter = openLimiter(account, limits, clock, needsKey));
		const sendOnce = this.createSendOnce();
		const gatewayUrl = account.baseUrl;
		this.client = new Client({ sendOnce, limiter, gatewayUrl, clock, onRateLimited });
		const { client } = this;
		const shown = (message: string): void => onProgress(account.withoutKey(message));
		this.waiting = { account, clock, client, limits, onProgress: shown, hints };
		// The number of tasks affects the pauses; each payment may become one.
		const coming = (begun: number) => Math.max(0, this.announced - begun) + this.paying;
		this.waiter = new TaskWaiter(this.waiting, { intervalMs, coming }, this.tasks);
		this.models = new ModelLists({ account, clock, client, limiter, limits, sendOnce });
		this.stopped = this.untilStopped();
	}

	/** The order of an image request: for a task, or for a response that comes as a stream. */
	order(
		kind: TaskType,
		request: ImageRequest,
		{ asynchronous = false, stream = false } = {},
	): Order {
		return orderOf(kind, request, this.account, { asynchronous, stream });
	}

	/** What the payment for a request is known by: 64 hexadecimal digits. @see usualPlan for images */
	async requestDigest(plan: PaidPlan): Promise<string> {
		return await this.digest(requestIdentity(plan, this.account.id));
	}

	/**
	 * Pays for an order, unless the journal of the ports has what it was paid for.
	 *
	 * @throws GatewayError, with the code `outcomeUnknown` if it may have been charged
	 */
	async payOrder(order: Order, key: Key, { signal }: OneCall = {}): Promise<Receipt> {
		const read = (response: GoodResponse) => this.readReceipt(order, response);
		const { journal = UNRECORDED } = this.ports;
		return await this.payFor({ ...order.plan, signal }, read, { journal, key });
	}

	/** Reads what was paid for by an order; undefined if its response contains nothing usable. */
	readReceipt({ plan, taskType, requested }: Order, response: GoodResponse): Receipt | undefined {
		const found = readPaidResponse(response, {
			taskType,
			asynchronous: plan.call === 'submit',
			submittedAt: new Date().toISOString(),
			sent: addressesSent(plan),
		});
		if (found?.kind !== 'images') return found && { requested, ...found };
		const images = withFullAddresses(found.images, this.account.baseUrl);
		return { requested, ...found, images };
	}

	/**
	 * Orders and pays for images in one step.
	 *
	 * @returns the images, or the task that has to be waited for
	 * @throws GatewayError as `payOrder`
	 */
	async generate(request: ImageRequest, ...how: HowToGenerate<Key>): Promise<Receipt> {
		const [{ key, ...options } = {}]: Array<Partial<GenerateOptions<Key>> | undefined> = how;
		return await this.payOrder(this.order('generation', request, options), key as Key, options);
	}

	/**
	 * Pays for any paid request, such as a message, unless the journal has what it was paid for: with a
	 * journal of its own, and what else that records.
	 *
	 * @param read reads what was paid for; undefined if a response contains nothing usable
	 * @param entry the journal, and what it knows the payment by
	 * @param readBody another way to read the body of a response
	 * @throws as `payOrder`
	 */
	async payFor<K, R>(
		plan: PaidPlan,
		read: (response: GoodResponse) => R | undefined,
		{ journal, key }: { journal: Journal<K, R>; key: K },
		readBody?: ReadBody,
	): Promise<R> {
		const { account, client, requests } = this;
		const sender = { client, requests, account, sendOnce: this.createSendOnce(readBody) };
		this.paying += 1;
		const paying = pay(sender, journal, key, plan, read).finally(() => void (this.paying -= 1));
		return await this.erased(paying);
	}

	/**
	 * Tells which tasks will be waited for, or looked at, where they aren't paid for in this run. Finished
	 * ones count among them.
	 */
	announce(tasks: Task[], open = tasks.length): void {
		this.announced += open;
		for (const task of tasks) this.tasks.add(task);
	}

	/**
	 * Waits for a task until it has finished with images.
	 *
	 * @param maxWaitMs milliseconds
	 * @throws GatewayError with the task's ID, if it has failed or is still open then
	 */
	async wait(task: Task, maxWaitMs = MAX_WAIT_MS, call: OneCall = {}): Promise<TaskState> {
		const deadlineAt = Date.now() + maxWaitMs;
		const end = await this.waitFor({ task, maxWaitMs, deadlineAt }, call);
		if (end.kind === 'finished') return end.state;
		throw end.error as GatewayError;
	}

	/**
	 * Waits for a task, and gives back the wait with its end. A task whose deadline is over once it was polled
	 * counts as still open.
	 *
	 * @throws GatewayError with the task's ID, if it has failed or can't be polled
	 */
	async waitFor<W extends Wait>(wait: W, how?: HowToWait): Promise<TaskEnd<W>> {
		const failed = errorOfFailedSubmit(wait.task);
		const isSure = failed !== undefined && wait.task.reason !== undefined;
		const waiting = isSure ? Promise.reject(failed) : this.waiter.wait(wait, how);
		const end = waiting.catch((error: unknown) => {
			// It was called failed, without a reason, and its gateway doesn't keep it.
			throw failed !== undefined && hasCode(error, 'taskLost') ? failed : (error as Error);
		});
		return await this.erased(end);
	}

	/** The state of a task, finished or not. @throws GatewayError with the task's ID */
	async getStatus(task: Task, { signal }: OneCall = {}): Promise<TaskState> {
		return await this.erased(getTaskStatus(this.waiting, task, this.tasks, signal));
	}

	/** Downloads an image from any host, without the key. @throws GatewayError with its address */
	async download<T extends object>(image: ImageSource, store: StoreImage<T>): Promise<T> {
		const { account, client, limits } = this;
		const context = { account, client, limits, createSendOnce: this.createSendOnce.bind(this) };
		return await this.erased(downloadImage(context, image, store));
	}

	/** Lets other work of the process go first. @throws RunEnded once the run is closed */
	async yieldToOthers(): Promise<void> {
		await this.clock.sleep(0);
	}

	/** Whether the run was stopped by its signal. */
	isStopped(): boolean {
		return this.ports.signal?.aborted === true;
	}

	/** Prevents further requests and waits; requests in progress may finish. */
	close(): void {
		const reason = new RunEnded('The run has ended');
		this.limiter.close(reason);
		this.clock.close(reason);
	}

	/** Ends the run: no timer or request is left. */
	end(): void {
		this.close();
		// A poll may still be in progress after the deadline of its task.
		this.requests.abort();
		this.ports.signal?.removeEventListener('abort', this.onStop);
	}

	/** What comes of a call, with the key erased in its error. */
	private async erased<T>(result: Promise<T>): Promise<T> {
		const { account } = this;
		const told = await result.catch((error: unknown) => {
			throw erasedError(error, account);
		});
		const isError = isJsonObject(told) && told.error instanceof GatewayError;
		return isError ? { ...told, error: erasedError(told.error, account) } : told;
	}

	private createSendOnce(readBody?: ReadBody): SendOnce {
		const { account, limits, requests } = this;
		const { transport, addsKey, log } = this.ports;
		const { withoutKey } = account;
		const onAttempt = log && ((attempt: LoggedAttempt) => log(withoutKey(attemptLine(attempt))));
		const options = { account, limits, requests, transport, addsKey, onAttempt };
		return createSendOnce(options, readBody);
	}

	private untilStopped(): Promise<never> {
		const { signal } = this.ports;
		const stopped = new Promise<never>((_, reject) => {
			this.onStop = () => {
				this.close();
				this.requests.abort();
				reject(new RunEnded('The execution was stopped'));
			};
			if (signal?.aborted) this.onStop();
			else signal?.addEventListener('abort', this.onStop, { once: true });
		});
		// Without a handler, a Stop after the end would be an unhandled rejection.
		stopped.catch(() => undefined);
		return stopped;
	}
}

/**
 * Opens a gateway by the settings that people know from the credential: `baseUrl` and `apiKey`, and what
 * else docs/gateways.md names.
 *
 * @param identity what stays the same when the key is renewed
 * @throws GatewayError that names the setting to correct
 */
export function openGateway<Key = undefined>(
	settings: JsonObject,
	ports: Ports<Key>,
	identity?: string,
): Gateway<Key> {
	return new Gateway(accountOf(settings, identity, ports.needsKey), ports);
}
