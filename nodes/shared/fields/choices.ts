import type { INodeProperties } from 'n8n-workflow';
import { isJsonObject, parseJson, type JsonObject } from '../../../util/json';
import { readTypedValue } from '../../../util/typedValue';

/** A field or an option of a node that pays. */
export interface PayingField extends INodeProperties {
	/**
	 * Whether its value shapes the result. If not, an edit of it is no reason to pay again: it says how
	 * the request is checked, cached, streamed, waited for or output.
	 */
	shapesRequest?: boolean;
	/** The name in an image request, of an option that is sent as it is. */
	sentAs?: string;
}

/** A value that was chosen, under the name by which it is sent, if it has one. */
type Choice = [name: string, value: unknown];

/**
 * What a person chose for the requests of a node: the values of all fields that shape a request.
 * An expression counts by its text, because it may return another value in each try. How n8n's
 * editor stores a value doesn't count: the label of a model, the schema of a form, empty fields and
 * rows, the field by which a parameter was set.
 *
 * @param parameters the node's own, with expressions
 */
export function choicesOf(fields: PayingField[], parameters: JsonObject): Choice[] {
	const chosen = fields.flatMap((field) => choicesIn(field, parameters[field.name]));
	const key = ([name, value]: Choice): string => `${name} ${JSON.stringify(value)}`;
	return chosen.sort((one, other) => (key(one) < key(other) ? -1 : 1));
}

function choicesIn(field: PayingField, value: unknown): Choice[] {
	const { type, name, options = [], shapesRequest, sentAs = name } = field;
	if (type === 'collection' && isJsonObject(value)) {
		return choicesOf(options as PayingField[], value);
	}
	if (shapesRequest !== true && field.sentAs === undefined) return [];
	const json = type === 'json' && typeof value === 'string' ? parseJson(value) : undefined;
	const stored = json ?? value;
	const choices = isJsonObject(stored) ? READERS[type]?.(stored) : undefined;
	return (
		(choices ?? [[sentAs, stored]])
			.map(([own, part]): Choice => [own === '' ? sentAs : own, normalized(part)])
			// One image is also what is requested without a number.
			.filter(([own, part]) => !isBlank(part) && !(own === 'n' && part === 1))
	);
}

/**
 * What a stored value means: n8n's editor stores numbers and switches as text as well, and a fixed
 * text as an expression without braces. Written in another way (`7.0`, `TRUE`), it may be a text that
 * is sent as it is, such as a prompt.
 */
function normalized(value: unknown): unknown {
	if (typeof value !== 'string') return value;
	if (value.startsWith('=') && value.includes('{{')) {
		return value.replace(/\s+/g, ' ').replaceAll('{{ ', '{{').replaceAll(' }}', '}}');
	}
	const text = value.replace(/^=/, '').trim();
	const typed = readTypedValue(text);
	return String(typed) === text ? typed : text;
}

/** By type of field, the choices in its stored value; a name is empty if it is the field's own. */
const READERS: Partial<Record<string, (value: JsonObject) => Choice[]>> = {
	resourceLocator: ({ value }) => [['', value]],
	resourceMapper: ({ value }) => (isJsonObject(value) ? Object.entries(value) : []),
	fixedCollection: (groups) => Object.values(groups).flatMap(choicesInRows),
	json: (value) => Object.entries(value),
};

/** Rows count in their order. Blank rows don't. */
function choicesInRows(rows: unknown): Choice[] {
	if (!Array.isArray(rows)) return [['', rows]];
	return [['', rows.filter((row) => !isJsonObject(row) || !Object.values(row).some(isBlank))]];
}

/** Whether a value counts as not set. */
const isBlank = (value: unknown): boolean =>
	value === undefined ||
	value === null ||
	(typeof value === 'string' && value.trim() === '') ||
	(typeof value === 'object' && Object.keys(value).length === 0);
