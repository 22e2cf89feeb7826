import type { Problem } from './gatewayError';
import { isJsonObject, nonEmptyString, type JsonObject } from '../../util/json';
import { trimBy } from '../../util/text';
import { readApiAddress, type ApiAddress } from './url';

/** The fields of the credential, normalized. */
export interface Credential {
	/** Address of the image and message endpoints; its `url` is empty if it is none. */
	base: ApiAddress;
	/** Address of the model list; its `url` is empty if it is none. */
	media: ApiAddress;
	/** The `url` of both addresses. */
	baseUrl: string;
	mediaUrl: string;
	/** The key without what copying adds to it. */
	key: string;
	/** How the message endpoint gets the key. */
	messageAuth: MessageAuth;
	/** The version header of the message endpoint. */
	version: Header;
	/** The additional headers, without empty rows. */
	headers: Header[];
	allowUnauthorizedCerts: boolean;
	/** How a task is requested. */
	asyncFlag: AsyncFlag;
	/** How an edit is sent. */
	editFormat: EditFormat;
	/** The name of the field of an edit that contains the images: where they are a list, that of the list. */
	imageFieldName: string;
	/** The name of the header by which the gateway knows a payment; empty if it knows none. */
	idempotencyHeader: string;
}

/** The values of the fields that have a choice, the default first. */
const CHOICES = {
	messageAuth: ['xApiKey', 'bearer', 'authorization'],
	asyncFlag: ['query', 'header', 'body', 'path'],
	editFormat: ['form', 'json', 'images', 'generations'],
} as const;

/** The field of the images to edit where they are a list (docs/protocol.md, "Edit"). */
export const IMAGE_LIST = 'images';

type ChoiceField = keyof typeof CHOICES;
type MessageAuth = (typeof CHOICES.messageAuth)[number];

/** The ways to request asynchronous mode (docs/protocol.md, "Asynchronous mode"). */
export type AsyncFlag = (typeof CHOICES.asyncFlag)[number];

/**
 * The ways to send an edit: as a form, as JSON, as JSON with a list of images, and in the JSON of a
 * generation (docs/protocol.md, "Edit").
 */
type EditFormat = (typeof CHOICES.editFormat)[number];

type Header = Record<'name' | 'value', string>;

const NO_ADDRESS: ApiAddress = { url: '', version: '/v1', query: '' };

/** Reads a credential. An expression may give a field any type: what isn't a text counts as empty. */
export function readCredential(fields: JsonObject): Credential {
	const base = readApiAddress(fields.baseUrl) ?? NO_ADDRESS;
	const media = readApiAddress(nonEmptyString(fields.mediaUrl) ?? fields.baseUrl) ?? NO_ADDRESS;
	const name = textOf(fields.versionHeaderName) || 'anthropic-version';
	const value = textOf(fields.versionHeaderValue) || '2023-06-01';
	const editFormat = choiceIn(fields, 'editFormat');
	const { headers } = fields;
	const rows = isJsonObject(headers) && 'values' in headers ? headers.values : headers;
	return {
		base,
		media,
		baseUrl: base.url,
		mediaUrl: media.url,
		key: cleanApiKey(fields.apiKey),
		messageAuth: choiceIn(fields, 'messageAuth'),
		version: { name, value },
		headers: [rows].flat().flatMap(headersIn),
		allowUnauthorizedCerts: fields.allowUnauthorizedCerts === true,
		asyncFlag: choiceIn(fields, 'asyncFlag'),
		editFormat,
		imageFieldName: editFormat === 'images' ? IMAGE_LIST : textOf(fields.imageFieldName) || 'image',
		idempotencyHeader: textOf(fields.idempotencyHeader),
	};
}

/** The choice in a field; `choiceProblem` refuses any other text. */
function choiceIn<Field extends ChoiceField>(
	fields: JsonObject,
	field: Field,
): (typeof CHOICES)[Field][number] {
	const [usual] = CHOICES[field];
	return (nonEmptyString(fields[field])?.trim() ?? usual) as (typeof CHOICES)[Field][number];
}

/** The header in a row; none in an empty one. What is no row has no name, which is a problem. */
function headersIn(row: unknown): Header[] {
	const isRow = isJsonObject(row) && ('name' in row || 'value' in row);
	const name = isRow ? textOf(row.name) : '';
	const value = isRow ? textOf(row.value) : Object.keys(row ?? '').join();
	return name + value === '' ? [] : [{ name, value }];
}

const textOf = (value: unknown): string =>
	typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';

/**
 * The reason why a credential can't be used; undefined if it can.
 *
 * @param needsKey false for the public model list, which takes none (docs/protocol.md,
 *   "Authentication")
 */
export function credentialProblem(credential: Credential, needsKey = true): Problem | undefined {
	return (
		(needsKey ? apiKeyProblem(credential.key) : undefined) ??
		addressProblem("'Base URL'", credential.baseUrl) ??
		addressProblem(underSettings('Media URL'), credential.mediaUrl) ??
		headersProblem(credential) ??
		choiceProblem('Message Authentication', credential.messageAuth, CHOICES.messageAuth) ??
		choiceProblem('Asynchronous Flag', credential.asyncFlag, CHOICES.asyncFlag) ??
		choiceProblem('Edit Format', credential.editFormat, CHOICES.editFormat) ??
		imageFieldProblem(credential.imageFieldName)
	);
}

function choiceProblem(
	label: string,
	value: string,
	values: readonly string[],
): Problem | undefined {
	if (values.includes(value)) return undefined;
	return {
		message: `${underSettings(label)} in the Media Gateway credential has an unknown value`,
		description: `It must be one of ${values.join(', ')}.`,
	};
}

function imageFieldProblem(name: string): Problem | undefined {
	if (!/[\p{Cc}\p{Cs}"]/u.test(name) && name.length <= LONGEST_NAME) return undefined;
	return {
		message: `${underSettings('Image Field Name')} in the Media Gateway credential isn't the name of a field`,
		description: `Enter up to ${LONGEST_NAME} characters without quotes or line breaks, such as image[].`,
	};
}

function addressProblem(field: string, address: string): Problem | undefined {
	if (address !== '') return undefined;
	return {
		message: `${field} in the Media Gateway credential is not a web address`,
		description: 'It must begin with https:// or http://, for example https://gateway.example.com',
	};
}

/** Names fields of the credential that are hidden while its switch is off. */
export const underSettings = (...labels: string[]): string =>
	`${labels.map((label) => `'${label}'`).join(' and ')} under 'Gateway Settings'`;

/** A problem as one text, where there is no description. */
export const asText = ({ message, description }: Problem): string =>
	`${message.replace(/\.$/, '')}. ${description}`;

/**
 * Placeholders for a key: `<API_KEY>`, `${KEY}`, `$KEY`; `your-api-key-here`; `sk-xxxx`, `sk-...`.
 */
const PLACEHOLDERS = [
	/[<>]|^\$?[{[].*[}\]]$|^[$%][a-z_]+%?$/i,
	/^(sk[-_])?((your|my|the|insert|paste)[-_ ]?){0,2}(api|secret)?[-_ ]?key([-_ ](goes[-_ ])?here)?$/i,
	/(^|[-_ ])([x*.]{3,}|\u2026|placeholder|example|changeme)$/i,
];

/** Characters that copying adds around a key: spaces, invisible characters, quotes. */
const AROUND = /[\s\u200b\ufeff"']/;

/**
 * The key without the spaces, quotes and `Bearer ` that copying adds. The image endpoints take
 * `Bearer <key>`, the message endpoint the bare key (docs/protocol.md, "Authentication"), so the
 * prefix is never stored.
 */
export function cleanApiKey(apiKey: unknown): string {
	if (typeof apiKey !== 'string') return '';
	const pasted = trimBy(apiKey, AROUND);
	return trimBy(pasted.replace(/^(authorization\s*:\s*)?(bearer\s+)+/i, ''), AROUND);
}

/**
 * The problem of a key; undefined if it can be sent. A placeholder is a problem because the gateway
 * would treat it as a real, invalid key (docs/protocol.md, "Authentication").
 */
function apiKeyProblem(key: string): Problem | undefined {
	if (key === '' || /^bearer$/i.test(key)) {
		return {
			message: 'The API key is empty',
			description:
				"Enter the key from your gateway's console in the Media Gateway credential. For a server that needs none, any word will do.",
		};
	}
	if (PLACEHOLDERS.some((placeholder) => placeholder.test(key))) {
		return {
			message: 'The API key is still a placeholder',
			description:
				'In the Media Gateway credential, replace it with the key from your gateway\'s console, which usually starts with "sk-".',
		};
	}
	// A header can contain only these characters; n8n's own error would come later and be less clear.
	if (/^[\x21-\x7e]+$/.test(key)) return undefined;
	return {
		message: 'The API key contains a space or an invalid character',
		description: "Copy it again from your gateway's console into the Media Gateway credential.",
	};
}

/** Names that the nodes or HTTP itself set. */
const OWN_HEADERS =
	/^(authorization|x-api-key|x-async|accept|accept-encoding|content-(type|length|encoding)|host|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|proxy-(authorization|connection))$/i;

/** A header's name (RFC 9110, section 5.6.2) that begins like a word, and a value in ASCII. */
const NAME = /^[a-z\d][\w!#$%&'*+.^`|~-]*$/i;
const VALUE = /^[\x20-\x7e]+$/;

/** The longest name of a header in an error, in characters. */
const LONGEST_NAME = 100;

/**
 * The problem of the version header, the additional ones and that of a payment's key. It names a header,
 * but not its value, a secret.
 */
function headersProblem({ headers, version, idempotencyHeader }: Credential): Problem | undefined {
	const taken = new Set<string>();
	const ofKey = idempotencyHeader === '' ? [] : [{ name: idempotencyHeader, value: 'key' }];
	const named: Array<[Header[], string]> = [
		[[version], underSettings('Version Header Name', 'Version Header Value')],
		[headers, underSettings('Additional Headers')],
		[ofKey, underSettings('Idempotency Header')],
	];
	for (const [header, field] of named.flatMap(([list, label]) =>
		list.map((one) => [one, label] as const),
	)) {
		const message = headerProblem(header, taken);
		const description = `Correct ${field} in the Media Gateway credential.`;
		if (message !== undefined) return { message, description };
		taken.add(header.name.toLowerCase());
	}
	return undefined;
}

function headerProblem({ name, value }: Header, taken: Set<string>): string | undefined {
	const shown = name.slice(0, LONGEST_NAME);
	if (name === '') return 'An additional header has no name';
	if (!NAME.test(name)) return `The header name '${shown}' contains an invalid character`;
	if (OWN_HEADERS.test(name) || taken.has(name.toLowerCase())) {
		return `The header '${shown}' is already set, by the nodes themselves or by another row`;
	}
	if (value === '') return `The header '${shown}' has no value`;
	if (VALUE.test(value)) return undefined;
	return `The value of the header '${shown}' contains a line break or an invalid character`;
}
