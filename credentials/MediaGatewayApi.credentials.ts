import type {
	IAuthenticate,
	Icon,
	ICredentialDataDecryptedObject,
	ICredentialType,
	IHttpRequestOptions,
	INodeProperties,
} from 'n8n-workflow';
import { OperationalError } from 'n8n-workflow';
import {
	accountOf,
	credentialHeaders,
	GatewayError,
	skipsCertificate,
	type Account,
} from '../gateway';

/** The fields that most people never touch: n8n neither stores nor uses them with the switch off. */
const displayOptions = { show: { gatewaySettings: [true] } };

/**
 * Outside of the list below, because the linter reads "auth" in its name and would mask it, but a
 * masked boolean can't be seen.
 */
const allowUnauthorizedCerts: INodeProperties = {
	displayOptions,
	displayName: 'Allow Self-Signed Certificates',
	name: 'allowUnauthorizedCerts',
	type: 'boolean',
	default: false,
	description:
		"Whether to connect even if the gateway's certificate can't be verified. Turn this on only for a gateway in your own network.",
};

/**
 * The credential of all nodes. Their `testMediaGateway` tests it, because n8n's declarative test
 * takes a 404, which means a valid key, for an error.
 */
export class MediaGatewayApi implements ICredentialType {
	name = 'mediaGatewayApi';

	displayName = 'Media Gateway API';

	icon: Icon = {
		light: 'file:../icons/mediaGateway.svg',
		dark: 'file:../icons/mediaGateway.dark.svg',
	};

	documentationUrl =
		'https://github.com/n8n-nodes-media-gateway/n8n-nodes-media-gateway#credential';

	properties: INodeProperties[] = [
		{
			displayName: 'Base URL',
			name: 'baseUrl',
			type: 'string',
			default: '',
			required: true,
			placeholder: 'e.g. https://gateway.example.com',
			description:
				'Address of the image and message endpoints, as the gateway shows it. "/v1" at its end may be left out; with another version in it, such as "/api/v3", nothing is appended. The documentation has an embedded gateway to try the nodes without an account.',
		},
		{
			displayName: 'API Key',
			name: 'apiKey',
			type: 'string',
			typeOptions: { password: true },
			default: '',
			required: true,
			placeholder: 'e.g. sk-…',
			description:
				'The key from the gateway\'s console, usually on a page called API Keys. A pasted "Bearer" and spaces around the key are removed.',
		},
		{
			displayName: 'Gateway Settings',
			name: 'gatewaySettings',
			type: 'boolean',
			default: false,
			description:
				'Whether to show and use the settings that only some gateways need. While this is off, none of them is used, and saving the credential deletes them.',
		},
		{
			displayOptions,
			displayName: 'Media URL',
			name: 'mediaUrl',
			type: 'string',
			default: '',
			placeholder: 'e.g. https://media.example.com',
			description:
				'Address of the public model list, if it differs from the Base URL. The key is never sent there.',
		},
		{
			displayOptions,
			displayName: 'Currency',
			name: 'currency',
			type: 'string',
			default: '',
			placeholder: 'e.g. USD',
			description:
				"The unit of your gateway's prices and bills, where it names none. It is shown beside amounts; nothing is converted.",
		},
		allowUnauthorizedCerts,
		{
			displayOptions,
			displayName: 'Additional Headers',
			name: 'headers',
			type: 'fixedCollection',
			typeOptions: { multipleValues: true },
			placeholder: 'Add Header',
			default: {},
			description:
				"Only if your gateway needs more headers than the key, such as a provider, a tenant or a subscription key. They are sent with every request to the Base URL's server, and to no other server.",
			options: [
				{
					name: 'values',
					displayName: 'Header',
					values: [
						{
							displayName: 'Name',
							name: 'name',
							type: 'string',
							default: '',
							placeholder: 'e.g. x-tenant',
							description: 'Name of the header',
						},
						{
							displayName: 'Value',
							name: 'value',
							type: 'string',
							typeOptions: { password: true },
							default: '',
							description: 'Value of the header',
						},
					],
				},
			],
		},
		{
			displayOptions,
			displayName: 'Asynchronous Flag',
			name: 'asyncFlag',
			type: 'options',
			options: [
				{ name: 'URL Parameter', value: 'query' },
				{ name: 'X-Async Header', value: 'header' },
				{ name: 'Body Field', value: 'body' },
				{
					name: 'URL Path',
					value: 'path',
					description: 'Submits at /v1/images/generations/async or /v1/images/edits/async',
				},
			],
			default: 'query',
			description:
				"Only if the gateway ignores or rejects tasks. How 'Submit and Wait' and 'Submit Only' request a task.",
		},
		{
			displayOptions,
			displayName: 'Image API',
			name: 'imageApi',
			type: 'options',
			options: [
				{
					name: 'OpenAI, Edits as Form',
					value: 'form',
					description: 'Files in a form at /v1/images/edits, as nearly all gateways expect them',
				},
				{
					name: 'OpenAI, Edits as JSON',
					value: 'json',
					description: 'JSON at /v1/images/edits, with the image as a web address or Base64',
				},
				{
					name: 'OpenAI, Edits as JSON with a List of Images',
					value: 'images',
					description:
						'JSON at /v1/images/edits, with "images": a list of web addresses, Base64 and file IDs',
				},
				{
					name: 'OpenAI, Edits as JSON of a Generation',
					value: 'generations',
					description: 'The same in the request of a generation, at /v1/images/generations',
				},
				{
					name: 'OpenRouter',
					value: 'openRouter',
					description:
						'JSON at /v1/images for generations and edits, without tasks, and models from /v1/images/models; also for NanoGPT',
				},
			],
			default: 'form',
			description:
				'Only for OpenRouter and NanoGPT, or if edits fail with 404, 405 or 415 although images can be generated. How images are requested.',
		},
		{
			displayOptions,
			displayName: 'Image Field Name',
			name: 'imageFieldName',
			type: 'string',
			default: 'image',
			placeholder: 'e.g. image[]',
			description:
				'Only if edits fail because the image is missing. Name of the field of an edit that contains the image.',
		},
		{
			displayOptions,
			displayName: 'Idempotency Header',
			name: 'idempotencyHeader',
			type: 'string',
			default: '',
			placeholder: 'e.g. Idempotency-Key',
			description:
				'Only if the gateway documents such a header. Each paid request carries a key in it, and one of unknown outcome is sent again with the same key: the gateway then returns the first result without charging again.',
		},
		{
			displayOptions,
			displayName: 'Message Authentication',
			name: 'messageAuth',
			type: 'options',
			options: [
				{ name: 'X-Api-Key Header', value: 'xApiKey' },
				{ name: 'Authorization: Bearer', value: 'bearer' },
				{ name: 'Authorization: Key Alone', value: 'authorization' },
			],
			default: 'xApiKey',
			description:
				'Only if messages fail with 401 although images work. How the message endpoint expects the key. The image endpoints always get "Bearer".',
		},
		{
			displayOptions,
			displayName: 'Version Header Name',
			name: 'versionHeaderName',
			type: 'string',
			default: 'anthropic-version',
			placeholder: 'e.g. anthropic-version',
			description:
				"Only if your gateway's message endpoint uses another name for the version header",
		},
		{
			displayOptions,
			displayName: 'Version Header Value',
			name: 'versionHeaderValue',
			type: 'string',
			default: '2023-06-01',
			placeholder: 'e.g. 2023-06-01',
			description: "Only if your gateway's message endpoint requires another version",
		},
	];

	/**
	 * Adds the key and the additional headers to a request, only if it goes to the gateway
	 * (docs/protocol.md, "Authentication"), and forbids redirects of such a request; also for the
	 * HTTP Request node.
	 */
	authenticate: IAuthenticate = async (
		credentials: ICredentialDataDecryptedObject,
		requestOptions: IHttpRequestOptions,
	): Promise<IHttpRequestOptions> => {
		const account = accountIn(credentials);
		const url = addressOf(requestOptions);
		const added = credentialHeaders(url, account, requestOptions.headers);
		return {
			...requestOptions,
			// The HTTP library ignores case: of two spellings of a name, the last one is sent.
			...(Object.keys(added).length > 0
				? { ...NO_REDIRECT, headers: { ...requestOptions.headers, ...added } }
				: {}),
			...(skipsCertificate(url, account) ? ANY_CERTIFICATE : {}),
		};
	};
}

const accounts = new WeakMap<object, Account>();

/** The account of a credential, read once: a run of a node has the same object for all requests. */
function accountIn(fields: ICredentialDataDecryptedObject): Account {
	const account = accounts.get(fields) ?? readAccount(fields);
	accounts.set(fields, account);
	return account;
}

/** n8n shows an error of a credential without its description. */
function readAccount(fields: ICredentialDataDecryptedObject): Account {
	try {
		return accountOf(fields);
	} catch (error) {
		if (!(error instanceof GatewayError)) throw error as Error;
		const { message, description } = error.problem;
		throw new OperationalError(`Media Gateway credential: ${message}. ${description}`);
	}
}

/** n8n would take the headers along to wherever a redirect leads; also as older helpers call it. */
const NO_REDIRECT = {
	disableFollowRedirect: true,
	followRedirect: false,
	followAllRedirects: false,
};

/** Also as older helpers call it. */
const ANY_CERTIFICATE = { skipSslCertificateValidation: true, rejectUnauthorized: false };

/**
 * The full address of a request, which the HTTP Request node and older nodes call `uri`; empty if
 * it isn't clear. The HTTP library prefers `url`.
 */
function addressOf({ url, uri, baseURL }: IHttpRequestOptions & { uri?: unknown }): string {
	const address = baseURL === undefined ? (url ?? uri) : undefined;
	return typeof address === 'string' ? address : '';
}
