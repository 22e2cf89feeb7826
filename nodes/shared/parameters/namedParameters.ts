import type { IExecuteFunctions } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { isJsonObject, type JsonObject } from '../../../gateway/util/json';
import { quote } from '../../../gateway/util/text';
import { readTypedValue } from '../../../gateway/util/typedValue';
import { readCount, readOptions, refuseStream } from './optionValues';

/** As the editor shows it. */
const NAME = 'Parameters by Name';
/** Fields of the node; set here as well, one of the two would be lost without a word. */
const FIELDS: Record<string, string> = { async: 'Mode', model: 'Model', prompt: 'Prompt' };
/** In characters, and in rows: more than any model takes. */
const LONGEST_NAME = 200;
const MOST_ROWS = 200;

/**
 * The option "Parameters by Name": rows of name and value. A text is read as what it looks like
 * (`readTypedValue`); what an expression gives as something other than text is sent as it is. Rows
 * without a value are left out, like empty fields of the model's form.
 *
 * @throws NodeOperationError that names the row: no name, one that is there twice, one that cannot be
 *   sent
 */
export function readNamedParameters(context: IExecuteFunctions, itemIndex: number): JsonObject {
	const parameters = new Map<string, unknown>();
	rowsOf(context, itemIndex).forEach(({ name: given, value: typed }, index) => {
		const value = valueOf(typed);
		const isNamed = ['string', 'number', 'boolean', 'bigint'].includes(typeof given);
		const isBlank = isNamed ? String(given).trim() === '' : (given ?? '') === '';
		if (isBlank && value === undefined) return;
		const refuse = (message: string): NodeOperationError =>
			new NodeOperationError(context.getNode(), message, {
				description: `Row ${index + 1} of '${NAME}'. Nothing was sent for this item.`,
				itemIndex,
			});
		if (isBlank) throw refuse(`A parameter in '${NAME}' has no name`);
		if (!isNamed) throw refuse(`A name in '${NAME}' must be text`);
		const name = String(given).trim();
		if (!isSendable(name)) {
			throw refuse(`"${quote(name).slice(0, 100)}" can't be the name of a parameter`);
		}
		if (parameters.has(name)) throw refuse(`'${name}' is in '${NAME}' more than once`);
		if (Object.hasOwn(FIELDS, name)) {
			throw refuse(`'${NAME}' must not set '${name}': use the field '${FIELDS[name]}'`);
		}
		if (typeof value === 'number' && !Number.isFinite(value)) {
			throw refuse(`The value of '${name}' in '${NAME}' is not a number`);
		}
		if (!isJson(value)) throw refuse(`The value of '${name}' in '${NAME}' can't be sent`);
		if (name === 'n') readCount(context, `n' in '${NAME}`, value, itemIndex);
		parameters.set(name, value);
	});
	const set = Object.fromEntries([...parameters].filter(([, value]) => value !== undefined));
	refuseStream(context, NAME, set, itemIndex);
	return set;
}

function rowsOf(context: IExecuteFunctions, itemIndex: number): JsonObject[] {
	const { parametersByName: given } = readOptions(context, itemIndex);
	if (given === undefined || given === null || given === '') return [];
	const rows = isJsonObject(given) ? (given.parameter ?? []) : given;
	if (Array.isArray(rows) && rows.length <= MOST_ROWS && rows.every(isJsonObject)) return rows;
	const message = `'${NAME}' is not a list of names and values`;
	throw new NodeOperationError(context.getNode(), message, {
		description: `Add a row for each parameter, ${MOST_ROWS} at most. Nothing was sent for this item.`,
		itemIndex,
	});
}

/** Undefined: not sent. */
function valueOf(value: unknown): unknown {
	if (typeof value === 'string') return readTypedValue(value);
	return value ?? undefined;
}

/** Whether JSON can hold all of a value; what it cannot hold would be left out or changed. */
function isJson(value: unknown): boolean {
	const isKept = (part: unknown): boolean =>
		typeof part === 'number'
			? Number.isFinite(part)
			: typeof part !== 'function' && typeof part !== 'symbol';
	let isWhole = isKept(value);
	const look = (_: string, part: unknown): unknown => {
		isWhole &&= isKept(part);
		return part;
	};
	try {
		JSON.stringify(value, look);
		return isWhole;
	} catch {
		// A circle, or more levels than there is stack.
		return false;
	}
}

/** Names that JavaScript keeps for itself would be lost on the way. */
const KEPT = ['__proto__', 'constructor', 'prototype'];

const isSendable = (name: string): boolean =>
	name.length <= LONGEST_NAME && !KEPT.includes(name) && !/[\p{Cc}\p{Cf}\p{Cs}]/u.test(name);
