import { type ILoadOptionsFunctions, NodeOperationError } from 'n8n-workflow';
import { Gateway } from '../../../gateway';
import type { ModelRecord } from '../../../gateway/models';
import { problemOf } from '../errors/nodeErrors';
import { portsOf } from '../transport/n8nTransport';
import { CREDENTIAL, readAccount } from '../transport/nodeAccount';

/** After this, in milliseconds, the editor shows an error in place of the drop-down list. */
const TIMEOUT_MS = 15_000;

/** The most models of which the editor asks for prices that the list doesn't have. */
const MOST_PRICED = 5;

/**
 * Requests models for the editor.
 *
 * @param choose those that are shown with their prices, if there are few
 * @throws NodeOperationError that also says how to use the node without the list
 */
export async function loadModels(
	context: ILoadOptionsFunctions,
	list: 'media' | 'names' | 'any',
	choose?: (models: ModelRecord[]) => ModelRecord[],
): Promise<ModelRecord[]> {
	const fields = await context.getCredentials(CREDENTIAL);
	const account = readAccount(fields, context.getNode(), list === 'names');
	const limits = { timeoutMs: TIMEOUT_MS };
	const gateway = new Gateway(account, { ...portsOf(context, account), limits });
	const loading = gateway.models.readOnce(list, TIMEOUT_MS).catch((error: unknown) => {
		const { message, description } = problemOf(error);
		// The editor's list shows the message alone.
		const [, advice] = /^(Check .{1,200}?)\.(?=\s|$)/.exec(description) ?? [];
		throw new NodeOperationError(context.getNode(), [message, advice ?? []].flat().join('. '), {
			description:
				`${description} You can run the node without the model list: enter the model 'By Name'.`.trim(),
		});
	});
	try {
		const { models } = await loading;
		const chosen = choose?.(models) ?? models;
		const isPriced = choose !== undefined && chosen.length <= MOST_PRICED;
		const withPrice = async (record: ModelRecord) => await gateway.models.withPrice(record);
		const records = isPriced ? await Promise.all(chosen.map(withPrice)) : chosen;
		const { currency } = account;
		return records.map(({ billing, ...record }) => ({
			...record,
			billing: billing && { ...billing, currency: billing.currency ?? currency },
		}));
	} finally {
		gateway.end();
	}
}
