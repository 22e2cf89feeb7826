import type { IExecuteFunctions } from 'n8n-workflow';
import type { Problem } from '../../../gateway/util/gatewayError';
import { isJsonObject, nonEmptyString } from '../../../gateway/util/json';
import { addHints, runIndexOf } from '../run/runContext';
import type { Payment, PaymentResult } from './payment';

/** The key of the payments in the node's context. */
const KEY = 'mediaGatewayPaid';

/**
 * Opens the payments in the node's context, which n8n stores with the execution. An older version
 * may have written them, or a person may have edited them: what can be read is used, and a hint says
 * that the rest was left out. An item whose payment can't be read has an unknown outcome in this
 * execution, so it isn't paid for again.
 *
 * @param isKept whether a payment can still be used; the others are removed
 * @returns the list itself, as simultaneous calls of a tool share it
 */
export function openPayments(
	context: IExecuteFunctions,
	isKept: (payment: Payment) => boolean,
): Payment[] {
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
	const places = damaged === 1 ? 'one place' : `${damaged} places`;
	const hint = `The records of earlier payments are damaged in ${places}, which were left out. Check the usage log in the gateway's console for images that didn't come out.`;
	addHints(context, damaged === 0 ? [] : [hint]);
	return payments;
}

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
	if (!isJsonObject(payment) || !isIndex(payment.itemIndex)) return 'lost';
	const { executionId, runIndex, fingerprint, source, delivered, paid } = payment;
	// An older version had another name for the result, and other digests.
	const stored = isJsonObject(payment.result) ? payment.result : paid;
	const parts = Object.entries(isJsonObject(stored) ? stored : {});
	const readable = parts.filter(([name, part]) => READABLE.get(name)?.(part) ?? true);
	const isKnown = stored !== paid && typeof fingerprint === 'string' && typeof source === 'string';
	const hasResult = readable.some(([name, part]) => RESULTS.includes(name) && part !== undefined);
	const isPlaced = typeof executionId === 'string' && isIndex(runIndex);
	const isWhole = isKnown && isPlaced && hasResult && readable.length === parts.length;
	if (isWhole && (delivered === undefined || isFlag(delivered))) return 'whole';
	Object.assign(payment, {
		// Where it doesn't tell its request, its item of this run has it.
		...(isKnown && isPlaced && hasResult ? {} : run),
		...(isKnown ? {} : { fingerprint: '', source: '' }),
		result: { ...Object.fromEntries(readable), ...(hasResult ? {} : { unknown: UNREADABLE }) },
		delivered: delivered === true,
	});
	return 'damaged';
}

/** A result has at least one of these parts. */
const RESULTS = ['task', 'images', 'items', 'message', 'unknown'];

const UNREADABLE: Problem = {
	message: "The outcome is unknown: the record of this item's payment is damaged",
	description:
		"You may have been charged, so the request wasn't sent again. Check the usage log in the gateway's console. To send it, run the workflow again.",
};

type IsReadable = (value: unknown) => boolean;

const isIndex: IsReadable = (value) => Number.isInteger(value) && Number(value) >= 0;
const isText: IsReadable = (value) => nonEmptyString(value) !== undefined;
const isFlag: IsReadable = (value) => typeof value === 'boolean';
const isAmount: IsReadable = (value) => typeof value === 'number' && value >= 0;
const optional =
	(isReadable: IsReadable): IsReadable =>
	(value) =>
		value === undefined || isReadable(value);
const listOf =
	(isEntry: IsReadable): IsReadable =>
	(value) =>
		Array.isArray(value) && value.length > 0 && value.every(isEntry);
const objectOf =
	(parts: Record<string, IsReadable>): IsReadable =>
	(value) =>
		isJsonObject(value) && Object.entries(parts).every(([name, isPart]) => isPart(value[name]));
const isFiles: IsReadable = (value) =>
	isJsonObject(value) && Object.values(value).every(objectOf({ data: isText, mimeType: isText }));

const RESULT: Record<keyof PaymentResult, IsReadable> = {
	task: objectOf({
		taskId: isText,
		taskType: (value) => value === 'generation' || value === 'edit',
		status: isText,
		submittedAt: isText,
		statusUrl: optional(isText),
		reason: optional((value) => typeof value === 'string'),
		mentioned: optional((value) => Array.isArray(value) && value.every(isText)),
	}),
	images: listOf(objectOf({ url: isText })),
	items: listOf(objectOf({ json: isJsonObject, binary: optional(isFiles) })),
	message: isJsonObject,
	facts: objectOf({
		model: optional(isText),
		prompt: optional(isText),
		parameters: optional(isJsonObject),
		estimatedCost: optional(isAmount),
		pricePerImage: optional(isAmount),
	}),
	unknown: objectOf({ message: isText, description: (value) => typeof value === 'string' }),
	created: isAmount,
	requested: isAmount,
	usage: isJsonObject,
	refusal: (value) => typeof value === 'string',
	failed: isFlag,
	lost: isFlag,
};

/** By part of a result, whether its stored value can be read; an undefined part is none. */
const READABLE = new Map(Object.entries(RESULT).map(([name, is]) => [name, optional(is)]));
