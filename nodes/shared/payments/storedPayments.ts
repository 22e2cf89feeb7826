import type { IExecuteFunctions } from 'n8n-workflow';
import type { Problem } from '../../../gateway/util/gatewayError';
import { finiteNumber, isJsonObject, nonEmptyString } from '../../../gateway/util/json';
import { runIndexOf } from '../run/runContext';
import type { Payment, PaymentResult } from './payment';

/** The key of the payments in the node's context. */
const KEY = 'mediaGatewayPaid';

/** The payments in the node's context. */
export interface StoredPayments {
	/** Simultaneous calls of a tool share one context, and so this list. */
	payments: Payment[];
	/** What was left out because it can't be read, as a hint. */
	leftOut?: string;
}

/**
 * Opens the payments in the node's context, which n8n stores with the execution. An older version
 * may have written them, or a person may have edited them: what can be read is used. An item whose
 * payment can't be read has an unknown outcome in this execution, so it isn't paid for again.
 *
 * @param isKept whether a payment can still be used; the others are removed
 */
export function openPayments(
	context: IExecuteFunctions,
	isKept: (payment: Payment) => boolean,
): StoredPayments {
	const store = context.getContext('node') as { [KEY]?: unknown };
	const given = store[KEY];
	const payments = (Array.isArray(given) ? given : []) as Payment[];
	const run = { executionId: context.getExecutionId() ?? '', runIndex: runIndexOf(context) };
	let damaged = given === undefined || Array.isArray(given) ? 0 : 1;
	keepOnly(payments, (payment) => {
		const state = repair(payment, run);
		if (state !== 'whole') damaged += 1;
		return state !== 'lost' && isKept(payment);
	});
	store[KEY] = payments;
	return { payments, leftOut: damaged === 0 ? undefined : describeDamage(damaged) };
}

const describeDamage = (count: number): string =>
	`The records of earlier payments are damaged in ${count === 1 ? 'one place' : `${count} places`}, which were left out. Check the usage log in the gateway's console for images that didn't come out.`;

/** Removes the other payments from a list, which other runs may share. */
export function keepOnly(payments: Payment[], isKept: (payment: Payment) => boolean): void {
	const kept = payments.filter(isKept);
	kept.forEach((payment, place) => (payments[place] = payment));
	payments.length = kept.length;
}

/**
 * Makes a stored payment usable, in its place, because other runs may share it.
 *
 * @returns whether it was whole, or damaged, or lost because it doesn't tell its item
 */
function repair(
	payment: Payment & { paid?: unknown },
	run: Pick<Payment, 'executionId' | 'runIndex'>,
): 'whole' | 'damaged' | 'lost' {
	if (!isJsonObject(payment) || !Number.isInteger(payment.itemIndex)) return 'lost';
	const { executionId, runIndex, fingerprint, source, result, paid } = payment;
	const stored: unknown = result ?? paid;
	const parts = isJsonObject(stored) ? Object.entries(stored) : undefined;
	const invalid = parts?.filter(([name, part]) => part !== undefined && !isReadable(name, part));
	const isPlaced = typeof executionId === 'string' && Number.isInteger(runIndex);
	// An older version, which had another name for the result, made other digests as well.
	const isKnown =
		typeof fingerprint === 'string' && typeof source === 'string' && isJsonObject(result);
	if (invalid?.length === 0 && isPlaced && isKnown) return 'whole';
	const readable = parts?.filter((part) => invalid?.includes(part) === false);
	const found = Object.fromEntries(readable ?? []) as PaymentResult;
	const hasResult = RESULTS.some((name) => found[name] !== undefined);
	Object.assign(payment, {
		// Where it doesn't tell its request, its item of this run has it.
		...(isPlaced && isKnown && hasResult ? {} : run),
		fingerprint: isKnown ? fingerprint : '',
		source: isKnown ? source : '',
		result: hasResult ? found : { ...found, unknown: UNREADABLE },
	});
	return 'damaged';
}

const RESULTS = ['task', 'images', 'items', 'message', 'unknown'] as const;

const UNREADABLE: Problem = {
	message: "The outcome is unknown: the record of this item's payment is damaged",
	description:
		"You may have been charged, so the request wasn't sent again. Check the usage log in the gateway's console. To send it, run the workflow again.",
};

const isText = (value: unknown): boolean => nonEmptyString(value) !== undefined;
const isList = (value: unknown, isEntry: (entry: Record<string, unknown>) => boolean): boolean =>
	Array.isArray(value) && value.every((entry) => isJsonObject(entry) && isEntry(entry));
const isObject = (isWhole: (value: Record<string, unknown>) => boolean) => (value: unknown) =>
	isJsonObject(value) && isWhole(value);
const isFlag = (value: unknown): boolean => typeof value === 'boolean';
const isNumber = (value: unknown): boolean => finiteNumber(value) !== undefined;

/** By part of a result, whether its stored value can be read. */
const READABLE: Record<keyof PaymentResult, (value: unknown) => boolean> = {
	task: isObject(
		({ taskId, taskType, status, submittedAt }) =>
			[taskId, status, submittedAt].every(isText) &&
			(taskType === 'generation' || taskType === 'edit'),
	),
	images: (value) => isList(value, ({ url }) => isText(url)),
	items: (value) => isList(value, ({ json }) => isJsonObject(json)),
	message: isObject(() => true),
	facts: isObject(({ model, prompt }) =>
		[model, prompt].every((one) => one === undefined || typeof one === 'string'),
	),
	unknown: isObject(
		({ message, description }) => isText(message) && typeof description === 'string',
	),
	created: isNumber,
	requested: isNumber,
	usage: isObject(() => true),
	refusal: (value) => typeof value === 'string',
	failed: isFlag,
	lost: isFlag,
};

const isReadable = (name: string, part: unknown): boolean =>
	!Object.hasOwn(READABLE, name) || READABLE[name as keyof PaymentResult](part);
