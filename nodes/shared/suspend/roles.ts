import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { GatewayError } from '../../../gateway/util/gatewayError';
import { nodeError } from '../run/nodeErrors';
import { finishRun } from '../images/runResult';
import { readTally } from '../run/tally';
import { keep } from './keeper';
import { unpack } from './parcels';
import { reportProgress } from './progress';
import type { Role } from './subWorkflows';
import { inPlace, linked } from './inPlace';
import { watch } from './watcher';

/** Under this name an execution can be found in n8n's list, where all have the workflow's name. */
const LABEL = 'mediaGateway';

/** What Image Wait does in a sub-execution. */
export async function playRole(
	context: IExecuteFunctions,
	role: Exclude<Role, 'wait'>,
): Promise<INodeExecutionData[][]> {
	switch (role) {
		case 'keep':
			label(context, 'waits for image tasks');
			return await keep(context);
		case 'watch':
			label(context, 'checks image tasks');
			return await watch(context);
		case 'progress':
			label(context, 'keeps the IDs of submitted image tasks');
			return await reportProgress(context);
		case 'result':
			return results(context);
		case 'fail':
			return fail(context);
	}
}

function label(context: IExecuteFunctions, text: string): void {
	const { $execution } = context.getWorkflowDataProxy(0) as {
		$execution?: { customData?: { set?: (key: string, value: string) => void } };
	};
	$execution?.customData?.set?.(LABEL, text);
}

/** The items for the user, for each output of the node that waits. */
function results(context: IExecuteFunctions): INodeExecutionData[][] {
	const { plan, entries } = unpack(context.getInputData());
	const found = entries.map(({ done }) => done?.items ?? []);
	const stillOpen = entries.flatMap(({ done }) => done?.open ?? []);
	const { items, open } = finishRun(
		context,
		{ items: found, open: stillOpen },
		readTally(plan?.tally),
		plan?.end ?? { uniqueNames: false, addSummary: false },
		plan?.nodeName ?? '',
	);
	const errorOutput = plan?.errorOutput === true;
	return [linked(errorOutput ? inPlace(items) : items.flat(), errorOutput), open];
}

/** @throws NodeApiError: the failure that ends the run */
function fail(context: IExecuteFunctions): never {
	const { failure = { message: 'The image tasks failed', description: '' } } = unpack(
		context.getInputData(),
	);
	throw nodeError(context.getNode(), new GatewayError(failure), undefined, '');
}
