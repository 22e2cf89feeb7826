import { randomUUID } from 'crypto';
import type { IExecuteFunctions } from 'n8n-workflow';
import type { Problem } from '../../../gateway';
import { isJsonObject } from '../../../util/json';
import { tokenOfRetries } from '../run/n8nEngine';
import { addHints } from '../run/runContext';
import { leaving } from '../run/leaving';
import type { Payment, PaymentResult } from './payment';

/** The key of the record in the node's context. */
const KEY = 'mediaGatewayPaid';

/** The version of the record: another shape, or another way to create its digests, is another one. */
const VERSION = 1;

/** The record of payments in the node's context. */
interface StoredRecord {
	version: number;
	payments: Payment[];
	/** The execution in which it replaced a record of another version. */
	replacedIn?: string;
	/** What names the execution and its retries alike, where n8n has no such name. */
	token?: string;
	/** How often a tool was called with a request, by its digest. */
	calls?: Record<string, number>;
}

/** The payments of a node, and what holds for a request that isn't among them. */
export interface OpenedPayments {
	/** The list itself, as simultaneous calls of a tool share it. */
	payments: Payment[];
	/** The problem of a request without a payment, if it may have been paid for. */
	unreadableRecord?: Problem;
	/** The same for this execution, those that it retries, and its own retries. */
	token: () => string;
	/** The number of earlier calls of a tool with a request; this is one more. */
	countCall: (requestDigest: string) => number;
}

/**
 * Opens the payments in the node's context, which n8n stores with the execution. A record of another
 * version isn't used: as it may contain any request, this execution sends none that is paid.
 *
 * @param isKept whether a payment can still be used; the others are removed
 */
export function openPayments(
	context: Pick<IExecuteFunctions, 'getContext' | 'getExecutionId'> &
		Parameters<typeof addHints>[0],
	isKept: (payment: Payment) => boolean,
): OpenedPayments {
	const store = context.getContext('node') as { [KEY]?: unknown };
	const executionId = context.getExecutionId() ?? '';
	const stored = store[KEY];
	const isReadable = isRecord(stored);
	const record: StoredRecord = isReadable ? stored : { version: VERSION, payments: [] };
	if (stored !== undefined && !isReadable) record.replacedIn = executionId;
	store[KEY] = record;
	keepOnly(record.payments, isKept);
	const opened: OpenedPayments = {
		payments: record.payments,
		token: () => tokenOfRetries(context) ?? (record.token ??= randomUUID()),
		countCall: (requestDigest) => {
			const { [requestDigest]: count = 0 } = (record.calls ??= {});
			record.calls[requestDigest] = count + 1;
			return count;
		},
	};
	if (record.replacedIn !== executionId) return opened;
	addHints(context, [`${UNREADABLE.message}. ${UNREADABLE.description}`]);
	return { ...opened, unreadableRecord: UNREADABLE };
}

const isRecord = (stored: unknown): stored is StoredRecord =>
	isJsonObject(stored) &&
	stored.version === VERSION &&
	Array.isArray(stored.payments) &&
	stored.payments.every(
		(one: unknown) =>
			isJsonObject(one) && isJsonObject(one.result) && one.result.kind !== undefined,
	);

const UNREADABLE: Problem = {
	message: 'The outcome is unknown: another version of this package recorded what was paid for',
	description:
		"This version can't read the record, so nothing was sent. Check the usage log in the gateway's console. To send the requests, retry the execution or run the workflow again.",
};

/** Parts of a result with addresses, from which an image may still be downloaded: they stay as they came. */
const AS_THEY_CAME = ['images', 'task'];

/** A result without secrets, as n8n stores it with the execution. */
export const recordable = (context: object, result: PaymentResult): PaymentResult =>
	Object.fromEntries(
		Object.entries(result).map(([name, part]) => [
			name,
			AS_THEY_CAME.includes(name) ? part : leaving(context, part as unknown),
		]),
	) as PaymentResult;

/** Removes the other payments from a list, which other runs may share. */
export function keepOnly(payments: Payment[], isKept: (payment: Payment) => boolean): void {
	const kept = payments.filter(isKept);
	kept.forEach((payment, place) => (payments[place] = payment));
	payments.length = kept.length;
}
