import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';
import { GatewayError } from '../../../gateway/util/gatewayError';
import { isJsonObject } from '../../../gateway/util/json';

/** In the static data of the node. */
const KEY = 'mediaGatewayBudget';

/**
 * Where the ledger of a node is kept. What stands in place of the node's static data may be no object
 * if somebody has edited it, and a node cannot replace it: then it is kept in that of the workflow.
 *
 * @throws GatewayError if that is no object either
 */
export function storeOf(context: IExecuteFunctions): { store: IDataObject; key: string } {
	const own: unknown = context.getWorkflowStaticData('node');
	if (isJsonObject(own)) return { store: own as IDataObject, key: KEY };
	const common: unknown = context.getWorkflowStaticData('global');
	const key = `${KEY}:${context.getNode().name}`;
	if (isJsonObject(common)) return { store: common as IDataObject, key };
	throw new GatewayError({
		message: "The static data of the workflow can't be used to keep a budget",
		description:
			"It was edited and isn't a JSON object. Nothing was sent. Reset it, or set 'Budget Period' to 'Run'.",
	});
}
