import type * as Core from 'n8n-core' with { 'resolution-mode': 'require' };
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { n8nWorkflow } from './n8n.mjs';

/** Does with the credentials of the options what n8n does with those in its store. */
export class HostCredentials extends n8nWorkflow.ICredentialsHelper {
	constructor(
		private readonly loader: Core.PackageDirectoryLoader,
		private readonly values: Record<string, Record<string, unknown>>,
		private readonly extraTypes: Record<string, N8n.ICredentialType> = {},
	) {
		super();
	}

	typeOf(name: string): N8n.ICredentialType {
		return this.extraTypes[name] ?? this.loader.getCredential(name).type;
	}

	getParentTypes(): string[] {
		return [];
	}

	isCredentialUsableByNode(): boolean {
		return true;
	}

	async authenticate(
		credentials: N8n.ICredentialDataDecryptedObject,
		typeName: string,
		requestOptions: N8n.IHttpRequestOptions,
	): Promise<N8n.IHttpRequestOptions> {
		const { authenticate } = this.typeOf(typeName);
		if (typeof authenticate === 'function') return await authenticate(credentials, requestOptions);
		if (authenticate) throw new Error('The host knows only credentials with a function.');
		return requestOptions;
	}

	async preAuthentication(): Promise<undefined> {
		return undefined;
	}

	async runPreAuthentication(): Promise<undefined> {
		return undefined;
	}

	async getDecrypted(
		_additionalData: unknown,
		_nodeCredentials: unknown,
		type: string,
		mode: N8n.WorkflowExecuteMode,
		executeData?: N8n.IExecuteData,
		_raw?: boolean,
		expressions?: N8n.ICredentialsExpressionResolveValues,
	): Promise<N8n.ICredentialDataDecryptedObject> {
		const values = this.values[type];
		if (!values) throw new Error(`The host was given no credential of the type "${type}".`);
		const decrypted = this.filled(type, values);
		if (expressions === undefined) return decrypted;
		const { workflow, runExecutionData, runIndex, itemIndex, node, connectionInputData } =
			expressions;
		return workflow.expression.getParameterValue(
			decrypted as N8n.INodeParameters,
			runExecutionData,
			runIndex,
			itemIndex,
			node.name,
			connectionInputData,
			mode,
			{},
			executeData,
		) as N8n.ICredentialDataDecryptedObject;
	}

	/** As n8n does: a field that isn't stored has its default, and one that isn't shown isn't there. */
	filled(type: string, values: Record<string, unknown>): N8n.ICredentialDataDecryptedObject {
		return n8nWorkflow.NodeHelpers.getNodeParameters(
			this.getCredentialsProperties(type),
			values as N8n.INodeParameters,
			true,
			false,
			null,
			null,
		) as N8n.ICredentialDataDecryptedObject;
	}

	getCredentialsProperties(type: string): N8n.INodeProperties[] {
		return this.typeOf(type).properties;
	}

	async getCredentials(): Promise<never> {
		throw new Error('The host has no credentials store.');
	}

	async updateCredentials(): Promise<void> {}

	async updateCredentialsOauthTokenData(): Promise<void> {}
}
