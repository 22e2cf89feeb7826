import type { IExecuteFunctions } from 'n8n-workflow';
import type { Problem } from '../../../gateway/util/gatewayError';
import { isJsonObject, nonEmptyString } from '../../../gateway/util/json';
import { addHints, runIndexOf } from '../run/runContext';
import type { Payment, PaymentResult } from './payment';

/** The key of the payments in the node's context. */
const KEY = 'mediaGatewayPaid';

/**
 * Opens the payments in the node's context, which n8n stores with the execution and a person may
 * have edited. An item whose payment isn't as it was written has an unknown outcome in this
 * execution, so it isn't paid for again, and a hint says so.
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
	let isDamaged = given !== undefined && !Array.isArray(given);
	keepOnly(payments, (payment) => {
		if (fits(payment, PAYMENT)) return isKept(payment);
		isDamaged = true;
		if (!isJsonObject(payment) || !isIndex(payment.itemIndex)) return false;
		const { fingerprint, source } = payment;
		// In its place, because other runs may share it.
		Object.assign(payment, run, {
			fingerprint: isString(fingerprint) ? fingerprint : '',
			source: isString(source) ? source : '',
			result: { unknown: UNREADABLE },
			delivered: false,
		});
		return isKept(payment);
	});
	store[KEY] = payments;
	if (isDamaged) addHints(context, [DAMAGED]);
	return payments;
}

/** Removes the other payments from a list, which other runs may share. */
export function keepOnly(payments: Payment[], isKept: (payment: Payment) => boolean): void {
	const kept = payments.filter(isKept);
	kept.forEach((payment, place) => (payments[place] = payment));
	payments.length = kept.length;
}

const DAMAGED =
	"The records of earlier payments are damaged, and what can't be read was left out. Check the usage log in the gateway's console for images that didn't come out.";

const UNREADABLE: Problem = {
	message: "The outcome is unknown: the record of this item's payment is damaged",
	description:
		"You may have been charged, so the request wasn't sent again. Check the usage log in the gateway's console. To send it, run the workflow again.",
};

/** The shape of a stored value. A part whose name ends with a question mark may be missing. */
type Shape = ((value: unknown) => boolean) | { [name: string]: Shape } | [entry: Shape];

function fits(value: unknown, shape: Shape): boolean {
	if (typeof shape === 'function') return shape(value);
	if (Array.isArray(shape)) {
		return (
			Array.isArray(value) && value.length > 0 && value.every((entry) => fits(entry, shape[0]))
		);
	}
	if (!isJsonObject(value)) return false;
	return Object.entries(shape).every(([name, part]) => {
		const own = value[name.replace('?', '')];
		return own === undefined ? name.endsWith('?') : fits(own, part);
	});
}

const isString = (value: unknown): value is string => typeof value === 'string';
const isText = (value: unknown): boolean => nonEmptyString(value) !== undefined;
const isFlag = (value: unknown): boolean => typeof value === 'boolean';
const isAmount = (value: unknown): boolean => typeof value === 'number' && value >= 0;
const isIndex = (value: unknown): boolean => Number.isInteger(value) && isAmount(value);
const isFiles = (value: unknown): boolean =>
	isJsonObject(value) &&
	Object.values(value).every((file) => fits(file, { data: isText, mimeType: isText }));

/** The parts of a result that decide what is paid, fetched and returned. */
const RESULT: { [name in `${keyof PaymentResult}?`]?: Shape } = {
	'task?': {
		taskId: isText,
		taskType: (value) => value === 'generation' || value === 'edit',
		status: isText,
		submittedAt: isText,
		'statusUrl?': isText,
		'reason?': isString,
		'mentioned?': (value) => Array.isArray(value) && value.every(isText),
	},
	'images?': [{ url: isText }],
	'items?': [{ json: isJsonObject, 'binary?': isFiles }],
	'message?': isJsonObject,
	'facts?': {
		'model?': isText,
		'prompt?': isText,
		'estimatedCost?': isAmount,
		'pricePerImage?': isAmount,
	},
	'unknown?': { message: isText, description: isString },
	'failed?': isFlag,
	'lost?': isFlag,
};

/** Whether a request led to anything. */
const hasResult = ({ task, images, items, message, unknown }: PaymentResult): boolean =>
	(task ?? images ?? items ?? message ?? unknown) !== undefined;

const PAYMENT: { [name in keyof Payment | 'delivered?']?: Shape } = {
	executionId: isString,
	runIndex: isIndex,
	itemIndex: isIndex,
	fingerprint: isString,
	source: isString,
	result: (value) => fits(value, RESULT) && hasResult(value as PaymentResult),
	'delivered?': isFlag,
};
