import type { IExecuteFunctions } from 'n8n-workflow';
import { createClient, type Client, type SendOnce } from '../../../gateway/client/client';
import {
	mergeRateStates,
	RateLimiter,
	unlimitedRate,
	type RateState,
} from '../../../gateway/client/rateLimiter';
import type { Clock } from '../../../gateway/util/clock';
import { readAddress, type GatewayAddress, type RunLimits } from '../transport/gatewayAddress';
import { createSendOnce } from '../transport/http';
import { Requests, RunEnded } from '../transport/inFlight';
import { StoppableClock } from './stoppableClock';
import { emptyTally, type Tally } from './tally';

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
	/** What the run has done so far. */
	tally: Tally;
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
 * What the runs of this process have found out about the limits of gateways, by account: the node
 * that waits need not be refused before it knows what the node that submitted has found out. The
 * public listing has limits of its own, often those of another host: its 429 holds back no image.
 */
const rateStates = new Map<string, RateState>();

/** Of more accounts than these, the one that was not used for longest is forgotten. */
const MOST_ACCOUNTS = 200;

function noteRateState(limited: string, found: RateState): void {
	const known = rateStates.get(limited);
	rateStates.delete(limited);
	rateStates.set(limited, mergeRateStates(known, found));
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

/** How often the engine has run this node before in this execution, as in a loop: 0 the first time. */
export function runIndexOf(context: IExecuteFunctions): number {
	const { $runIndex } = context.getWorkflowDataProxy(0) as { $runIndex?: number };
	return $runIndex ?? 0;
}

/**
 * Opens a run: one rate limiter, one clock and one stop for all items of an execution.
 *
 * @param needsKey false where only the public listing is asked for
 */
export async function openRun(
	context: IExecuteFunctions,
	limits: RunLimits,
	needsKey = true,
): Promise<Run> {
	const address = await readAddress(context, needsKey);
	const requests = new Requests();
	const tally = emptyTally();
	const clock = new StoppableClock();
	const limited = needsKey ? address.account : `listing ${address.mediaUrl} ${address.account}`;
	const rateState = rateStates.get(limited);
	const limiter = new RateLimiter({ ...limits, clock, rateState });

	// What a foreign host of images refuses says nothing about the gateway.
	const home = new URL(address.baseUrl).origin;
	const hosts = new Map<string, RateLimiter>();
	const hostLimiter = (origin: string): RateLimiter | undefined => {
		if (origin === home) return undefined;
		const { concurrency } = limits;
		const rateState = unlimitedRate(clock.now());
		const known = hosts.get(origin) ?? new RateLimiter({ concurrency, clock, rateState });
		hosts.set(origin, known);
		return known;
	};

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
		client: createClient({
			sendOnce,
			limiter,
			hostLimiter,
			clock,
			wallClock: () => Date.now(),
			onRepeat: () => void (tally.rateLimitedRequests += 1),
		}),
		tally,
		halt,
		end: () => {
			halt();
			const found = limiter.rateState();
			if (found !== undefined) noteRateState(limited, found);
			// A poll that nobody waits for any more: its task's deadline was reached before its response.
			requests.abort();
			signal?.removeEventListener('abort', onStop);
		},
	};
}
