import { NodeOperationError } from 'n8n-workflow';
import type { ICredentialDataDecryptedObject, ICredentialsDecrypted, INode } from 'n8n-workflow';
import { type Account, accountOf, GatewayError } from '../../../gateway';
import { withPlaces } from '../errors/settingPlaces';
import { nonEmptyString } from '../../../util/json';

export const CREDENTIAL = 'mediaGatewayApi';

/** The account of a run, with what n8n's HTTP helper needs to add its key. */
export interface NodeAccount extends Account {
	/**
	 * The credential for n8n's HTTP helper, which adds the key to a request. It is read once:
	 * otherwise n8n would read and decrypt it for each of a thousand polls.
	 */
	authentication: { credentialsDecrypted: ICredentialsDecrypted };
}

/**
 * Reads the addresses and the key of a credential. One that can't work is rejected before anything
 * is sent.
 *
 * @param node whose credential identifies the account
 * @param needsKey false for the public listing, which takes none (docs/protocol.md,
 *   "Authentication")
 * @throws NodeOperationError that names the field to correct
 */
export function readAccount(
	credentials: ICredentialDataDecryptedObject,
	node: INode,
	needsKey = true,
): NodeAccount {
	const { id, name } = node.credentials?.[CREDENTIAL] ?? {};
	const identity = nonEmptyString(id) ?? nonEmptyString(name);
	const decrypted = { id: '', name: '', type: CREDENTIAL, data: credentials };
	return {
		...opened(node, () => accountOf(credentials, identity, needsKey)),
		authentication: { credentialsDecrypted: decrypted },
	};
}

function opened(node: INode, open: () => Account): Account {
	try {
		return open();
	} catch (error) {
		if (!(error instanceof GatewayError)) throw error as Error;
		const { message } = error.problem;
		throw new NodeOperationError(node, message, { description: withPlaces(error.problem) });
	}
}
