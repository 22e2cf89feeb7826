import type {
	ICredentialDataDecryptedObject,
	IDataObject,
	IExecuteFunctions,
	INode,
} from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { createClient, type Client, type SendOnce } from '../../../gateway/client/client';
import { mergeRateStates, RateLimiter, type RateState } from '../../../gateway/client/rateLimiter';
import type { Clock } from '../../../gateway/util/clock';
import { cleanApiKey } from '../../../gateway/protocol/auth';
import { withoutDataUrls } from '../../../gateway/util/inlineImages';
import { LruMap } from '../../../gateway/util/lruMap';
import { escapeHtml } from '../../../gateway/util/text';
import {
	CREDENTIAL,
	readAddress,
	type GatewayAddress,
	type RunLimits,
} from '../transport/gatewayAddress';
import type { Helpers } from '../transport/download';
import { createSendOnce, type OwnWays } from '../transport/http';
import { Requests, RunEnded } from '../transport/inFlight';
import { StoppableClock } from './stoppableClock';
import type { Tally } from './tally';
import { watcherOf, type Watcher } from './watcher';

/** What all requests of one execution of a node share. */
export interface Run {
	/** The node of the user, for its errors. */
	node: INode;
	/** On Error is set to continue: a failed item is an item of the output, not the end of the run. */
	continuesOnFail: boolean;
	/** n8n's ways to download, and to read and store files. */
	helpers: Helpers;
	address: GatewayAddress;
	limits: RunLimits;
	clock: Clock;
	client: Client;
	/** One attempt of a request, out of turn; the client makes them in turn. */
	sendOnce: SendOnce;
	/** The same with a time limit, or a way to read the response, of its own. */
	createSendOnce(own: OwnWays): SendOnce;
	/** Ends every request that is under way when the user presses Stop. */
	requests: Requests;
	/** Reads files that are to be sent, of all items a few at a time. */
	fileReads: Pick<RateLimiter, 'run'>;
	/** Hosts that didn't send an image to edit in time: they aren't asked for others. */
	slowHosts: Set<string>;
	/** What the run has done so far. */
	tally: Tally;
	/** Remarks for the user that change nothing of the result. */
	hints: Set<string>;
	/** Whether an AI agent has called the node. */
	isTool: boolean;
	/** Whoever watches the run. */
	watcher: Watcher;
	/** Rejects when the user presses Stop. */
	stopped: Promise<never>;
	isStopped(): boolean;
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
const rateStates = new LruMap<string, RateState>(200);

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

/** A rate limiter for each foreign host of images: what it refuses says nothing about the gateway. */
function hostLimiters(home: string, concurrency: number, clock: Clock) {
	const hosts = new LruMap<string, RateLimiter>(1000);
	// Nothing waits at this rate, until a refusal says otherwise.
	const open = () => new RateLimiter({ concurrency, requestsPerSecond: 1000, clock });
	return (origin: string) => (origin === home ? undefined : hosts.getOrAdd(origin, open));
}

/** All items are looked at before the first one is sent: not all their files at once. */
const MOST_OPEN = 8;

/** Fields of the credential that an expression must not take from the item. */
const PER_RUN = ['apiKey', 'baseUrl', 'mediaUrl'];

/**
 * The values of the credential, which hold for all items of a run.
 *
 * @throws NodeOperationError if an expression takes another key from another item: everything would be
 *   sent with the first item's key
 */
async function readCredential(context: IExecuteFunctions): Promise<ICredentialDataDecryptedObject> {
	const first = await context.getCredentials(CREDENTIAL, 0);
	const items = context.getInputData();
	// Reading the credential is slow: the other items' are read only where an item may have a part in it.
	if (items.length < 2 || !mayComeFrom(items[0]?.json ?? {}, first)) return first;
	for (let itemIndex = 1; itemIndex < items.length; itemIndex += 1) {
		const other = await context.getCredentials(CREDENTIAL, itemIndex);
		if (PER_RUN.every((field) => other[field] === first[field])) continue;
		throw new NodeOperationError(
			context.getNode(),
			'An expression in the Media Gateway credential gives different values for different items',
			{
				description:
					"A run uses one key and address for all items. Nothing was sent. Put the node into a 'Loop Over Items' with one item at a time.",
				itemIndex,
			},
		);
	}
	return first;
}

/** In characters: anything shorter stands in every address by chance. */
const SHORTEST_PART = 3;

/** Whether an item holds the key, or a value of which the credential's fields are made. */
function mayComeFrom(json: IDataObject, credential: ICredentialDataDecryptedObject): boolean {
	const fields = PER_RUN.map((field) => String(credential[field] ?? ''));
	const isPart = (value: unknown): boolean =>
		String(value).length >= SHORTEST_PART && fields.some((field) => field.includes(String(value)));
	const key = cleanApiKey(credential.apiKey);
	return Object.values(json).some(isPart) || (key !== '' && JSON.stringify(json).includes(key));
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
	const credentials = await readCredential(context);
	const address = readAddress(credentials, context.getNode(), needsKey);
	const requests = new Requests();
	const tally: Tally = { images: 0, tasks: 0, rateLimitedRequests: 0, reusedItems: 0 };
	const clock = new StoppableClock();
	const { accountAndKey, mediaUrl } = address;
	const limited = needsKey ? accountAndKey : `listing ${mediaUrl} ${accountAndKey}`;
	const rateState = rateStates.get(limited);
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

	const transport = { context, address, limits, requests };
	const sendOnce = createSendOnce(transport);
	return {
		node: context.getNode(),
		continuesOnFail: context.continueOnFail(),
		helpers: context.helpers,
		address,
		limits,
		clock,
		requests,
		isTool: isTool(context),
		watcher: watcherOf(context, isTool(context)),
		stopped,
		isStopped: () => signal?.aborted === true,
		sendOnce,
		createSendOnce: (own) => createSendOnce({ ...transport, ...own }),
		client: createClient({
			sendOnce,
			limiter,
			hostLimiter: hostLimiters(new URL(address.baseUrl).origin, limits.concurrency, clock),
			clock,
			wallClock: () => Date.now(),
			onRepeat: () => void (tally.rateLimitedRequests += 1),
		}),
		fileReads: new RateLimiter({ concurrency: MOST_OPEN, clock }),
		slowHosts: new Set(),
		tally,
		hints: new Set(),
		halt,
		end: () => {
			halt();
			const found = limiter.rateState();
			if (found !== undefined) {
				rateStates.set(limited, mergeRateStates(rateStates.get(limited), found));
			}
			// A poll that nobody waits for any more: its task's deadline was reached before its response.
			requests.abort();
			signal?.removeEventListener('abort', onStop);
		},
	};
}

/** More hints than these nobody reads; the editor would show a thousand. */
const MOST_HINTS = 10;
/** In characters: a hint may name a model that came with an item, of any length. */
const LONGEST_HINT = 1000;

/**
 * Shows remarks at the node's output; they change nothing of the result. n8n renders hints as HTML, so
 * markup in them (a model's name may come with an item) is escaped.
 *
 * @param type how n8n marks them
 */
export function addHints(
	context: IExecuteFunctions,
	hints: Iterable<string>,
	type: 'info' | 'warning' = 'warning',
): void {
	const all = [...hints];
	const shown = all.slice(0, MOST_HINTS);
	const more = all.length - shown.length;
	if (more > 0) shown.push(`There are ${more} more hints like these.`);
	for (const hint of shown) {
		const text = withoutDataUrls(hint);
		const cut = text.length > LONGEST_HINT ? `${text.slice(0, LONGEST_HINT)}…` : text;
		context.addExecutionHints?.({ message: escapeHtml(cut), type, location: 'outputPane' });
	}
}
