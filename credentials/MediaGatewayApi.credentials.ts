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
	apiKeyProblem,
	authHeaders,
	mayFollowRedirects,
	requestAddress,
	type KeySettings,
} from '../gateway/protocol/auth';
import { isBelow, normalizeUrl } from '../gateway/protocol/url';

/**
 * Outside of the list below, because the linter reads "auth" in its name and would mask it, but a
 * masked boolean can't be seen.
 */
const allowUnauthorizedCerts: INodeProperties = {
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
				'Address of the image and message endpoints, with or without a trailing slash or "/v1". The documentation has an embedded gateway to try the nodes without an account.',
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
			displayName: 'Media URL',
			name: 'mediaUrl',
			type: 'string',
			default: '',
			placeholder: 'e.g. https://media.example.com',
			description:
				'Address of the public model list, if it differs from the Base URL. The key is never sent there.',
		},
		{
			displayName: 'Message Authentication',
			name: 'messageAuth',
			type: 'options',
			options: [
				{ name: 'Authorization Header', value: 'authorization' },
				{ name: 'X-Api-Key Header', value: 'xApiKey' },
			],
			default: 'authorization',
			description:
				'Header in which the message endpoint expects the key. The image endpoints always get "Bearer".',
		},
		{
			displayName: 'Version Header Name',
			name: 'versionHeaderName',
			type: 'string',
			default: 'anthropic-version',
			placeholder: 'e.g. anthropic-version',
			description:
				'Optional. Name of the version header of the message endpoint. Change it only if your gateway uses another name.',
		},
		{
			displayName: 'Version Header Value',
			name: 'versionHeaderValue',
			type: 'string',
			default: '2023-06-01',
			placeholder: 'e.g. 2023-06-01',
			description:
				'Optional. Version of the message endpoint. Change it only if your gateway requires another one.',
		},
		allowUnauthorizedCerts,
	];

	/**
	 * Adds the key to a request in the form that its path needs (docs/protocol.md, "Authentication"),
	 * only if it goes to the gateway; also for the HTTP Request node.
	 */
	authenticate: IAuthenticate = async (
		credentials: ICredentialDataDecryptedObject,
		requestOptions: IHttpRequestOptions,
	): Promise<IHttpRequestOptions> => {
		const settings = credentials as unknown as KeySettings;
		const problem = apiKeyProblem(settings.apiKey) ?? addressProblem(settings.baseUrl);
		if (problem !== undefined) throw new OperationalError(problem);
		const url = requestAddress(requestOptions) ?? '';
		const keyHeaders = authHeaders(url, settings);
		const homes =
			credentials.allowUnauthorizedCerts === true ? [settings.baseUrl, credentials.mediaUrl] : [];
		const skipsCertificate = homes
			.map(normalizeUrl)
			.some((home) => home !== undefined && isBelow(url, new URL(home).origin));
		const changed: IHttpRequestOptions & OlderOptions = {
			...requestOptions,
			...(Object.keys(keyHeaders).length === 0
				? {}
				: withKey(requestOptions, keyHeaders, url, settings)),
			sendCredentialsOnCrossOriginRedirect: false,
		};
		if (skipsCertificate) {
			changed.skipSslCertificateValidation = true;
			changed.rejectUnauthorized = false;
		}
		return changed;
	};
}

/** The HTTP Request node's names for `disableFollowRedirect` and `skipSslCertificateValidation`. */
interface OlderOptions {
	followRedirect?: boolean;
	followAllRedirects?: boolean;
	rejectUnauthorized?: boolean;
}

function addressProblem(baseUrl: unknown): string | undefined {
	if (normalizeUrl(baseUrl) !== undefined) return undefined;
	return "'Base URL' in the Media Gateway credential is not a web address. It must begin with https:// or http://";
}

/** The changes of a request that carries the key. */
function withKey(
	requestOptions: IHttpRequestOptions,
	keyHeaders: Record<string, string>,
	url: string,
	settings: KeySettings,
): Partial<IHttpRequestOptions & OlderOptions> {
	const names = Object.keys(keyHeaders).map((name) => name.toLowerCase());
	const others = Object.entries(requestOptions.headers ?? {}).filter(
		([name]) => !names.includes(name.toLowerCase()),
	);
	const headers = { ...Object.fromEntries(others), ...keyHeaders };
	// The user's list of allowed domains must not be replaced.
	const isFree = !requestOptions.allowedDomains && !requestOptions.disableFollowRedirect;
	if (isFree && mayFollowRedirects(keyHeaders, settings)) {
		return { headers, allowedDomains: new URL(url).hostname };
	}
	return {
		headers,
		disableFollowRedirect: true,
		followRedirect: false,
		followAllRedirects: false,
		maxRedirects: 0,
	};
}
