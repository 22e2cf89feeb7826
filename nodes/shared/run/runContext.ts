import type {
	IBinaryData,
	ICredentialDataDecryptedObject,
	IExecuteFunctions,
	INode,
} from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { Client } from '../../../gateway/pace/client';
import { mergeRateStates, RateLimiter, type RateState } from '../../../gateway/pace/rateLimiter';
import type { Clock } from '../../../gateway/protocol/clock';
import { withoutDataUrls } from '../../../util/inlineImages';
import { LruMap } from '../../../util/lruMap';
import { Semaphore } from '../../../util/semaphore';
import { escapeHtml } from '../../../util/text';
import {
	type SendOnce,
	createSendOnce,
	type SendOnceOverrides,
} from '../../../gateway/wire/sendOnce';
import { CREDENTIAL, readAccount, type NodeAccount } from '../transport/nodeAccount';
import { Requests } from '../../../gateway/wire/inFlight';
import type { RunLimits } from '../../../gateway/wire/runLimits';
import { n8nTransport } from '../transport/n8nTransport';
import { StoppableClock } from './stoppableClock';
import type { Tally } from './tally';
import { RunEnded } from '../../../gateway/protocol/runEnded';

/** A run of a node: what all its requests share. */
export interface Run {
	node: INode;
	/** Whether On Error is set to continue, so that a failed item is an output item. */
	continuesOnFail: boolean;
	helpers: IExecuteFunctions['helpers'];
	account: NodeAccount;
	limits: RunLimits;
	clock: Clock;
	requests: Requests;
	/** Whether an AI agent has called the node. */
	isTool: boolean;
	/**
	 * Writes to the console of the browser in which a person has started the node: the only place for
	 * messages while it runs.
	 */
	tell: (message: string) => void;
	/** A promise that rejects when the user selects Stop. */
	stopped: Promise<never>;
	isStopped: () => boolean;
	/** Sends a request once, past the rate limiter that the client uses. */
	sendOnce: SendOnce;
	/** Creates such a function with own requests to abort, or another way to read responses. */
	createSendOnce: (own: SendOnceOverrides) => SendOnce;
	client: Client;
	/** Limits how many files of all items are read at once. */
	fileReads: Semaphore;
	/** Hosts that didn't send a source image in time, and get no more requests. */
	slowHosts: Set<string>;
	/** Downloads of source images by size limit and address; items with the same one share it. */
	sources: Map<string, Promise<IBinaryData>>;
	tally: Tally;
	hints: Set<string>;
	/** Prevents further requests and waits; requests in progress may finish. */
	close: () => void;
	/** Ends the run: no timer or request is left. */
	end: () => void;
}

/** Whether a person has stopped this execution. */
export const isStopped = (context: IExecuteFunctions): boolean =>
	context.getExecutionCancelSignal()?.aborted === true;

/**
 * Whether an AI agent has called the node. An agent gets addresses of images, because n8n drops its
 * binary data. Newer versions of n8n run a tool as an ordinary node, with another destination of
 * its log.
 */
export function isTool(context: IExecuteFunctions): boolean {
	const { type, rewireOutputLogTo } = context.getNode();
	// n8n 1 only gives the type of a tool another name.
	const isNamed = rewireOutputLogTo === 'ai_tool' || type?.endsWith('Tool') === true;
	return context.isToolExecution?.() === true || isNamed;
}

/** The number of earlier runs of this node in this execution, as in a loop. */
export function runIndexOf(context: IExecuteFunctions): number {
	const { $runIndex } = context.getWorkflowDataProxy(0) as { $runIndex?: number };
	return $runIndex ?? 0;
}

/**
 * The rate limits found by the runs of this process, by account: a node that waits starts with the
 * limit that the node that submitted has found.
 */
const rateStates = new LruMap<string, RateState>(200);

/**
 * The rate limiter of a run, and what keeps its findings for later runs. The public model list has
 * a limit of its own, as it is often on another host.
 */
function openLimiter(
	{ idWithKey, mediaUrl }: NodeAccount,
	limits: RunLimits,
	clock: Clock,
	needsKey: boolean,
) {
	const limited = needsKey ? idWithKey : `listing ${mediaUrl} ${idWithKey}`;
	const limiter = new RateLimiter({ ...limits, clock, rateState: rateStates.get(limited) });
	const keepFindings = (): void => {
		const found = limiter.rateState();
		if (found === undefined) return;
		rateStates.set(limited, mergeRateStates(rateStates.get(limited), found));
	};
	return { limiter, keepFindings };
}

/** The number of items whose credential is read at once. */
const READ_AT_ONCE = 25;

/**
 * The values of the credential, for all items of a run. n8n doesn't tell whether an expression makes
 * them, so it resolves them for each item, as it does for each request of its own nodes: 0.6 to 1.2 s
 * for a thousand items.
 *
 * @throws NodeOperationError if they differ between items: all requests would be sent with the key
 *   and to the address of the first item
 */
async function loadCredential(context: IExecuteFunctions): Promise<ICredentialDataDecryptedObject> {
	const first = await context.getCredentials(CREDENTIAL, 0);
	const values = JSON.stringify(first);
	const reads = new Semaphore(READ_AT_ONCE);
	const compare = async (itemIndex: number): Promise<void> => {
		const own = await reads.run(async () => await context.getCredentials(CREDENTIAL, itemIndex));
		if (JSON.stringify(own) === values) return;
		throw new NodeOperationError(
			context.getNode(),
			'An expression in the Media Gateway credential gives different values for different items',
			{
				description:
					"A run uses one key and address for all items. Nothing was sent. Put the node into a 'Loop Over Items' with one item at a time.",
				itemIndex,
			},
		);
	};
	const others = context.getInputData().slice(1);
	await Promise.all(others.map(async (_, index) => await compare(index + 1)));
	return first;
}

/** What ends a run: its own end, and a Stop by the user. */
function openLifetime(
	signal: AbortSignal | undefined,
	{ limiter, keepFindings }: ReturnType<typeof openLimiter>,
	clock: StoppableClock,
	requests: Requests,
): Pick<Run, 'stopped' | 'isStopped' | 'close' | 'end'> {
	const close = (): void => {
		const reason = new RunEnded('The run has ended');
		limiter.close(reason);
		clock.close(reason);
	};
	let onStop = (): void => undefined;
	const stopped = new Promise<never>((_, reject) => {
		onStop = () => {
			close();
			requests.abort();
			reject(new RunEnded('The execution was stopped'));
		};
		if (signal?.aborted) onStop();
		else signal?.addEventListener('abort', onStop, { once: true });
	});
	// Without a handler, a Stop after the end would be an unhandled rejection.
	stopped.catch(() => undefined);
	const end = (): void => {
		close();
		keepFindings();
		// A poll may still be in progress after the deadline of its task.
		requests.abort();
		signal?.removeEventListener('abort', onStop);
	};
	return { stopped, isStopped: () => signal?.aborted === true, close, end };
}

/**
 * Opens a run, with a rate limiter, a clock and a Stop for all its items.
 *
 * @param needsKey false if only the public model list is requested
 */
export async function openRun(
	context: IExecuteFunctions,
	limits: RunLimits,
	needsKey = true,
): Promise<Run> {
	const account = readAccount(await loadCredential(context), context.getNode(), needsKey);
	const requests = new Requests();
	const clock = new StoppableClock();
	const tally: Tally = { images: 0, tasks: 0, rateLimitedRequests: 0, reusedItems: 0 };
	const limiting = openLimiter(account, limits, clock, needsKey);
	const sending = {
		account,
		limits,
		requests,
		transport: n8nTransport(context, account),
		addsKey: true,
	};
	const sendOnce = createSendOnce(sending);
	return {
		...openLifetime(context.getExecutionCancelSignal(), limiting, clock, requests),
		node: context.getNode(),
		account,
		limits,
		requests,
		continuesOnFail: context.continueOnFail(),
		helpers: context.helpers,
		clock,
		isTool: isTool(context),
		tell: (message) => context.sendMessageToUI(message),
		sendOnce,
		createSendOnce: (own) => createSendOnce({ ...sending, ...own }),
		client: new Client({
			sendOnce,
			limiter: limiting.limiter,
			clock,
			wallClock: () => Date.now(),
			onRepeat: () => void (tally.rateLimitedRequests += 1),
		}),
		fileReads: new Semaphore(limits.concurrency),
		slowHosts: new Set(),
		sources: new Map(),
		tally,
		hints: new Set(),
	};
}

/** The most hints at a node's output: the editor would show a thousand. */
const MOST_HINTS = 10;
/** The longest hint, in characters: it may contain a model name from an item. */
const LONGEST_HINT = 1000;

/**
 * Shows hints at the node's output. n8n renders them as HTML, so markup in them is escaped: a hint
 * may contain a model name from an item.
 *
 * @param type their color in the editor
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
