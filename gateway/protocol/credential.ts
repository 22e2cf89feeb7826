import type { Problem, Setting } from './gatewayError';
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
	messageAuth: (typeof CHOICES.messageAuth)[number];
	/** The version header of the message endpoint. */
	version: Header;
	/** The additional headers, without empty rows. */
	headers: Header[];
	allowUnauthorizedCerts: boolean;
	/** How a task is requested. */
	asyncFlag: AsyncFlag;
	/** The form of the gateway's image requests. */
	imageApi: ImageApi;
	/** The name of the field of an edit that contains the images: where they are a list, that of the list. */
	imageFieldName: string;
	/** The name of the header by which the gateway knows a payment; empty if it knows none. */
	idempotencyHeader: string;
	/** The unit of the gateway's amounts, which is only shown. */
	currency?: string;
}

/** The values of the fields that have a choice, the default first. */
const CHOICES = {
	messageAuth: ['xApiKey', 'bearer', 'authorization'],
	asyncFlag: ['query', 'header', 'body', 'path'],
	imageApi: ['form', 'json', 'images', 'generations', 'openRouter'],
} as const;

/** By image API, the field of the images to edit where they are always a list (docs/protocol.md, "Edit"). */
export const LISTS_OF_INPUTS: Partial<Record<ImageApi, string>> = {
	images: 'images',
	openRouter: 'input_references',
};

type ChoiceField = keyof typeof CHOICES;

/** The ways to request asynchronous mode (docs/protocol.md, "Asynchronous mode"). */
export type AsyncFlag = (typeof CHOICES.asyncFlag)[number];

/**
 * The image APIs: OpenAI's, with an edit as a form, as JSON, as JSON with a list of images, or in the
 * JSON of a generation (docs/protocol.md, "Edit"), and OpenRouter's, which has one path for both and no
 * tasks (docs/protocol.md, "OpenRouter's Image API").
 */
export type ImageApi = (typeof CHOICES.imageApi)[number];

type Header = Record<'name' | 'value', string>;

const NO_ADDRESS: ApiAddress = { url: '', version: '/v1', query: '' };

/** Reads a credential. An expression may give a field any type: what isn't a text counts as empty. */
export function readCredential(fields: JsonObject): Credential {
	const base = readApiAddress(fields.baseUrl) ?? NO_ADDRESS;
	const media = readApiAddress(nonEmptyString(fields.mediaUrl) ?? fields.baseUrl) ?? NO_ADDRESS;
	const name = textOf(fields.versionHeaderName) || 'anthropic-version';
	const value = textOf(fields.versionHeaderValue) || '2023-06-01';
	const imageApi = choiceIn(fields, 'imageApi');
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
		imageApi,
		imageFieldName: LISTS_OF_INPUTS[imageApi] ?? (textOf(fields.imageFieldName) || 'image'),
		idempotencyHeader: textOf(fields.idempotencyHeader),
		currency: textOf(fields.currency) || undefined,
	};
}

/** The choice in a field, or else the usual one. */
function choiceIn<Field extends ChoiceField>(
	fields: JsonObject,
	field: Field,
): (typeof CHOICES)[Field][number] {
	const choices: ReadonlyArray<(typeof CHOICES)[Field][number]> = CHOICES[field];
	const chosen = choices.find((choice) => choice === textOf(fields[field]));
	return chosen ?? CHOICES[field][0];
}

/** The header in a row; none without a name. */
function headersIn(row: unknown): Header[] {
	const { name, value } = isJsonObject(row) ? row : {};
	return textOf(name) === '' ? [] : [{ name: textOf(name), value: textOf(value) }];
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
		addressProblem('base URL', 'baseUrl', credential) ??
		addressProblem('media URL', 'mediaUrl', credential) ??
		headersProblem(credential)
	);
}

function addressProblem(
	name: string,
	field: 'baseUrl' | 'mediaUrl',
	{ [field]: address }: Credential,
): Problem | undefined {
	if (address !== '') return undefined;
	return {
		settings: [field],
		message: `The ${name} is not a web address`,
		description: 'It must begin with https:// or http://, for example https://gateway.example.com',
	};
}

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
			settings: ['apiKey'],
			message: 'The API key is empty',
			description:
				"Enter the key from your gateway's console. For a server that needs none, any word will do.",
		};
	}
	if (PLACEHOLDERS.some((placeholder) => placeholder.test(key))) {
		return {
			settings: ['apiKey'],
			message: 'The API key is still a placeholder',
			description:
				'Replace it with the key from your gateway\'s console, which usually starts with "sk-".',
		};
	}
	// A header can contain only these characters; n8n's own error would come later and be less clear.
	if (/^[\x21-\x7e]+$/.test(key)) return undefined;
	return {
		message: 'The API key contains a space or an invalid character',
		description: "Copy it again from your gateway's console.",
		settings: ['apiKey'],
	};
}

/** Names that the nodes or HTTP itself set. */
const OWN_HEADERS =
	/^(authorization|x-api-key|x-async|accept|accept-encoding|content-(type|length|encoding)|host|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|proxy-(authorization|connection))$/i;

/**
 * The problem of a header that would replace another one, such as the key. It names the header, but not
 * its value, a secret.
 */
function headersProblem({ headers, version, idempotencyHeader }: Credential): Problem | undefined {
	const named: Array<[name: string, setting: Setting]> = [
		[version.name, 'version'],
		...headers.map(({ name }): [string, Setting] => [name, 'headers']),
		[idempotencyHeader, 'idempotencyHeader'],
	];
	const taken = new Set<string>();
	for (const [name, setting] of named) {
		const lower = name.toLowerCase();
		if (OWN_HEADERS.test(name) || taken.has(lower)) {
			return {
				message: `The header '${name}' is already set, by the client itself or by another field`,
				description: 'Remove it, or give it another name.',
				settings: [setting],
			};
		}
		taken.add(lower);
	}
	return undefined;
}
