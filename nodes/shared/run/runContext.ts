import type { IAdditionalCredentialOptions, IExecuteFunctions } from 'n8n-workflow';
import { NodeOperationError, sleep } from 'n8n-workflow';
import { normalizeUrl } from '../../../gateway/protocol/url';
import { apiKeyProblem, cleanApiKey } from '../../../gateway/protocol/auth';
import type { Clock } from '../../../gateway/util/clock';
import { digestOf } from '../../../gateway/protocol/fingerprint';
import { createCutKeyEraser, createKeyEraser } from '../../../gateway/util/keyEraser';
import { RateLimiter, type RateState } from '../../../gateway/client/rateLimiter';
import { createClient, type SendOnce, type Client } from '../../../gateway/client/client';
import { Requests, RunEnded } from '../transport/inFlight';
import { createSendOnce } from '../transport/http';

export const CREDENTIAL = 'mediaGatewayApi';

/** Where the gateway is, and how to be let in. */
export interface GatewayAddress {
	/** Of the image and message endpoints, without `/v1`. */
	baseUrl: string;
	/** Of the model listing, without `/v1`. */
	mediaUrl: string;
	allowUnauthorizedCerts: boolean;
	/** Tells accounts of all gateways apart. A hash, which gives no key away. */
	account: string;
	/**
	 * The credential for n8n's own helper, which puts the key into a request: given what was read
	 * once, it need not read and decrypt it anew for each of a thousand polls.
	 */
	authentication: IAdditionalCredentialOptions;
	/** Takes the key out of what a gateway sends back: some quote the key that they refuse. */
	withoutKey(text: string): string;
	/** Takes the beginning of the key away from the end of a text that was cut there. */
	withoutCutKey(text: string): string;
}

/** Limits of a run; they hold for all its items together. */
export interface RunLimits {
	concurrency: number;
	requestsPerSecond?: number;
	/** For one request, in milliseconds. */
	timeoutMs: number;
}

/** What all requests of one execution of a node share. */
export interface Run {
	context: IExecuteFunctions;
	address: GatewayAddress;
	limits: RunLimits;
	clock: Clock;
	client: Client;
	/** One attempt of a request, out of turn; the client makes them in turn. */
	sendOnce: SendOnce;
	/** Ends every request that is under way when the user presses Stop. */
	requests: Requests;
	/** Whether an AI agent has called the node. */
	isTool: boolean;
	/** Rejects when the user presses Stop. */
	stopped: Promise<never>;
	/** No further request, no further wait: what is under way may end. */
	halt(): void;
	/** To be called at the end: takes back what timers are left. */
	end(): void;
}

/**
 * Reads where the gateway is, and refuses a credential that cannot work before anything is sent.
 *
 * @param needsKey false for the public listing, which takes none (specification, section 5)
 * @throws NodeOperationError that names the field to correct
 */
export async function readAddress(
	context: Pick<IExecuteFunctions, 'getCredentials' | 'getNode'>,
	needsKey = true,
): Promise<GatewayAddress> {
	const credentials = await context.getCredentials(CREDENTIAL);
	const problem = needsKey ? apiKeyProblem(credentials.apiKey) : undefined;
	if (problem !== undefined) throw new NodeOperationError(context.getNode(), problem);
	const baseUrl = normalizeUrl(credentials.baseUrl);
	if (baseUrl === undefined) {
		throw new NodeOperationError(
			context.getNode(),
			'The "Base URL" in the Media Gateway credential is not a web address',
			{
				description: 'It begins with https:// or http://, for example https://gateway.example.com',
			},
		);
	}
	const typed = typeof credentials.mediaUrl === 'string' ? credentials.mediaUrl.trim() : '';
	const mediaUrl = typed === '' ? baseUrl : normalizeUrl(typed);
	if (mediaUrl === undefined) {
		throw new NodeOperationError(
			context.getNode(),
			'The "Media URL" in the Media Gateway credential is not a web address',
			{ description: 'Leave it empty if the model listing is at the Base URL.' },
		);
	}
	return {
		baseUrl,
		mediaUrl,
		allowUnauthorizedCerts: credentials.allowUnauthorizedCerts === true,
		account: digestOf([baseUrl, cleanApiKey(credentials.apiKey)]),
		authentication: {
			credentialsDecrypted: { id: '', name: '', type: CREDENTIAL, data: credentials },
		},
		withoutKey: createKeyEraser(cleanApiKey(credentials.apiKey)),
		withoutCutKey: createCutKeyEraser(cleanApiKey(credentials.apiKey)),
	};
}

/**
 * What the runs of this process have found out about the limits of gateways, by account: the node
 * that waits need not be refused before it knows what the node that submitted has found out.
 */
const rateStates = new Map<string, RateState>();

/** Of more accounts than these, the one that was not used for longest is forgotten. */
const MOST_ACCOUNTS = 200;

function noteRateState(account: string, found: RateState): void {
	rateStates.delete(account);
	rateStates.set(account, found);
	const [oldest] = rateStates.keys();
	if (rateStates.size > MOST_ACCOUNTS && oldest !== undefined) rateStates.delete(oldest);
}

/**
 * Whether an AI agent has called the node: it gets addresses, because binary data would be dropped.
 * Newer versions of n8n run a tool as an ordinary node, and only its log's destination tells.
 */
export function isTool(context: IExecuteFunctions): boolean {
	return context.isToolExecution?.() === true || context.getNode().rewireOutputLogTo === 'ai_tool';
}

/** Opens a run: one rate limiter, one clock and one stop for all items of an execution. */
export async function openRun(
	context: IExecuteFunctions,
	limits: RunLimits,
	needsKey = true,
): Promise<Run> {
	const address = await readAddress(context, needsKey);
	const requests = new Requests();
	const clock = new StoppableClock();
	const rateState = rateStates.get(address.account);
	const limiter = new RateLimiter({ ...limits, clock, rateState });

	const halt = (): void => {
		const reason = new RunEnded('The run has ended');
		limiter.close(reason);
		clock.close(reason);
	};

	const signal = context.getExecutionCancelSignal();
	let onStop = (): void => undefined;
	const stopped = new Promise<never>((_, reject) => {
		onStop = () => {
			halt();
			requests.abort();
			reject(new RunEnded('The execution was stopped'));
		};
		if (signal?.aborted) onStop();
		else signal?.addEventListener('abort', onStop, { once: true });
	});
	// It is waited for in a race; without this a Stop after the race would count as unhandled.
	stopped.catch(() => undefined);

	const sendOnce = createSendOnce({ context, address, limits, requests });
	return {
		context,
		address,
		limits,
		clock,
		requests,
		isTool: isTool(context),
		stopped,
		sendOnce,
		client: createClient({ sendOnce, limiter, clock, wallClock: () => Date.now() }),
		halt,
		end: () => {
			halt();
			const found = limiter.rateState();
			if (found !== undefined) noteRateState(address.account, found);
			// A question that nobody waits for any more: its deadline was reached before its answer.
			requests.abort();
			signal?.removeEventListener('abort', onStop);
		},
	};
}

/** A timer of Node.js that is set for longer fires at once. Whoever wakes too early looks again. */
const LONGEST_SLEEP_MS = 2 ** 31 - 1;

/** The platform's time, all of whose sleeps end at once when it is closed. */
class StoppableClock implements Clock {
	private readonly sleeping = new Set<{
		reject: (reason: unknown) => void;
		timer: AbortController;
	}>();

	private closed?: { reason: unknown };

	now(): number {
		return performance.now();
	}

	random(): number {
		return Math.random();
	}

	async sleep(ms: number): Promise<void> {
		if (this.closed !== undefined) return await Promise.reject(this.closed.reason);
		await new Promise<void>((resolve, reject) => {
			const timer = new AbortController();
			const sleeper = { reject, timer };
			this.sleeping.add(sleeper);
			// Each sleep has its own signal: n8n before 2.34 ignores it, and many listeners on one
			// signal make Node.js warn of a leak.
			sleep(Math.min(ms, LONGEST_SLEEP_MS), timer.signal).then(
				() => {
					this.sleeping.delete(sleeper);
					resolve();
				},
				() => undefined,
			);
		});
	}

	close(reason: unknown): void {
		this.closed ??= { reason };
		for (const { reject, timer } of this.sleeping) {
			reject(reason);
			timer.abort();
		}
		this.sleeping.clear();
	}
}
