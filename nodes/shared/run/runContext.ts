import type {
	IBinaryData,
	ICredentialDataDecryptedObject,
	IExecuteFunctions,
	INode,
} from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { Gateway, type Ports, type RunLimits } from '../../../gateway';
import { withoutDataUrls } from '../../../util/inlineImages';
import { Semaphore } from '../../../util/semaphore';
import { escapeHtml } from '../../../util/text';
import { CREDENTIAL, readAccount } from '../transport/nodeAccount';
import { portsOf } from '../transport/n8nTransport';
import { eraseFrom, leaving, logPrefix } from './leaving';

/** A run of a node: what its items share. */
export interface Run {
	node: INode;
	/** Whether On Error is set to continue, so that a failed item is an output item. */
	continuesOnFail: boolean;
	helpers: IExecuteFunctions['helpers'];
	/** The gateway. What is charged goes by `payFor`, with the record of its node. */
	gateway: Omit<Gateway, 'pay' | 'generate'>;
	/** Whether an AI agent has called the node. */
	isTool: boolean;
	/** Limits how many files of all items are read at once. */
	fileReads: Semaphore;
	/** Downloads of source images by size limit and address; items with the same one share it. */
	sources: Map<string, Promise<IBinaryData>>;
	/** The number of requests that were retried after a rate limit. */
	rateLimitedRequests: () => number;
	/** The units of amounts that the credential and the model list name. */
	currencies: Set<string>;
	hints: Set<string>;
}

/** The unit of a run's amounts; undefined if none is known, or several. */
export const currencyOf = ({ currencies }: Run): string | undefined =>
	currencies.size === 1 ? [...currencies][0] : undefined;

/** Whether a person has stopped this execution. */
export const isStopped = (context: IExecuteFunctions): boolean =>
	context.getExecutionCancelSignal()?.aborted === true;

/**
 * Whether an AI agent has called the node. An agent gets addresses of images, because n8n drops its
 * binary data. Newer versions of n8n run a tool as an ordinary node, with another destination of
 * its log.
 */
export function isTool(context: {
	getNode(): Partial<INode>;
	/** n8n 1 has none. */
	isToolExecution?(): boolean;
}): boolean {
	const { type, rewireOutputLogTo } = context.getNode();
	// n8n 1 only gives the type of a tool another name.
	const isNamed = rewireOutputLogTo === 'ai_tool' || type?.endsWith('Tool') === true;
	return context.isToolExecution?.() === true || isNamed;
}

/**
 * Whether an agent of version 1 or 2 runs the node within its own step. To its model, a tool that
 * throws says nothing, and is called again.
 */
export function isRunByAgent(context: Parameters<typeof isTool>[0]): boolean {
	const isNode = context.getNode().rewireOutputLogTo === 'ai_tool';
	return context.isToolExecution?.() ?? (isTool(context) && !isNode);
}

/** The number of earlier runs of this node in this execution, as in a loop. */
export function runIndexOf(context: { getWorkflowDataProxy(itemIndex: number): object }): number {
	const { $runIndex } = context.getWorkflowDataProxy(0) as { $runIndex?: number };
	return $runIndex ?? 0;
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

/** What a run needs of its gateway beside the limits. */
type RunOptions = Pick<Ports<undefined>, 'pollIntervalMs' | 'needsKey'>;

/** Opens a run, with a gateway for all its items. */
export async function openRun(
	context: IExecuteFunctions,
	limits: RunLimits,
	options: RunOptions = {},
): Promise<Run> {
	const fields = await loadCredential(context);
	const account = readAccount(fields, context.getNode(), options.needsKey);
	eraseFrom(context, account.withoutKey);
	let retried = 0;
	const hints = new Set<string>();
	const gateway = new Gateway(account, {
		...options,
		...portsOf(context, account),
		signal: context.getExecutionCancelSignal(),
		limits,
		hints,
		log: (line) => context.logger?.debug(`${logPrefix(context)}: ${line}`),
		onProgress: (message) => context.sendMessageToUI(message),
		onRateLimited: () => void (retried += 1),
	});
	return {
		node: context.getNode(),
		continuesOnFail: context.continueOnFail(),
		helpers: context.helpers,
		gateway,
		isTool: isTool(context),
		fileReads: new Semaphore(limits.concurrency),
		sources: new Map(),
		rateLimitedRequests: () => retried,
		currencies: new Set(account.currency === undefined ? [] : [account.currency]),
		hints,
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
	context: Partial<Pick<IExecuteFunctions, 'addExecutionHints'>>,
	hints: Iterable<string>,
	type: 'info' | 'warning' = 'warning',
): void {
	const all = [...hints];
	const shown = all.slice(0, MOST_HINTS);
	const more = all.length - shown.length;
	if (more > 0) shown.push(`There are ${more} more hints like these.`);
	for (const hint of shown) {
		const text = withoutDataUrls(leaving(context, hint));
		const cut = text.length > LONGEST_HINT ? `${text.slice(0, LONGEST_HINT)}…` : text;
		context.addExecutionHints?.({ message: escapeHtml(cut), type, location: 'outputPane' });
	}
}
