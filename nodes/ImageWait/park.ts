import type {
	IDataObject,
	IExecuteFunctions,
	IExecuteWorkflowInfo,
	INode,
	INodeExecutionData,
} from 'n8n-workflow';
import { NodeConnectionTypes, NodeOperationError, WAIT_FOR_SUB_EXECUTION } from 'n8n-workflow';
import { withoutUndefined } from '../../gateway/protocol/requestPlan';
import { readOptions } from '../shared/parameters/optionValues';
import { waitForJobs, type Waited, type WaitJob } from './waiting';

/*
 * How waiting survives a restart. The platform can park an execution in its database; on waking up
 * it skips the node that parked it and hands on the node's input through output 0. So the tasks go
 * to a small workflow inside the execution, in which this node's "Check Again" output leads back to
 * itself: it wakes up, asks, and parks again. Both executions are parked together, and the outer one
 * goes on with the result of the inner one. The user wires nothing.
 */

/** Pauses under 65 s come late: the platform looks once a minute for what is due soon. */
const PARK_MS = 66_000;
/** How long is waited in process after each waking up, for tasks that are nearly finished. */
const WINDOW_MS = 5000;

const WAIT = 'Wait for Image';
const RESULT = 'Result';

/** What the inner node keeps over the parks. */
interface Notes {
	begun?: boolean;
	done?: Record<string, INodeExecutionData[]>;
}

/** One item on its way into the inner workflow. */
interface Envelope {
	job: WaitJob;
	parentExecutionId: string;
}

/**
 * Refuses to wait where a parked execution would come back with nothing. Known by a feature: an n8n
 * that hands the result of an inner execution to the outer one has a date of its own for that wait.
 *
 * @throws NodeOperationError that says what to do instead
 */
export function assertCanPark(context: IExecuteFunctions): void {
	if (WAIT_FOR_SUB_EXECUTION !== undefined && context.getExecutionId() !== undefined) return;
	throw new NodeOperationError(
		context.getNode(),
		'This n8n cannot wait through a restart for a node: "Survive Restarts" needs n8n 2',
		{
			description:
				'Nothing is lost: the tasks go on at the gateway. Switch the option off, or submit in one workflow and collect with Image Task in a scheduled one.',
		},
	);
}

/**
 * Hands the tasks to the inner workflow and parks.
 *
 * @returns what the platform passes on if nothing had to be parked after all
 */
export async function park(
	context: IExecuteFunctions,
	waited: Waited,
): Promise<INodeExecutionData[]> {
	const executionId = context.getExecutionId();
	const workflowId = String(context.getWorkflow().id);
	const envelopes = waited.jobs.map((job, itemIndex): INodeExecutionData => {
		const done = waited.unfinished.has(itemIndex) ? undefined : waited.output[itemIndex];
		const envelope: Envelope = { job: { ...job, done }, parentExecutionId: executionId };
		return { json: envelope as unknown as IDataObject, pairedItem: { item: itemIndex } };
	});
	const result = await context.executeWorkflow(innerWorkflow(context), envelopes, undefined, {
		doNotWaitToFinish: false,
		parentExecution: { executionId, workflowId, shouldResume: true },
	});
	return result.data[0] ?? [];
}

/** The node's parameters as values: in the inner workflow no expression of the outer one works. */
function innerParameters(context: IExecuteFunctions): INode['parameters'] {
	const { concurrency, requestsPerSecond, timeout, maxDownloadMb } = readOptions(context, 0);
	const options = { concurrency, requestsPerSecond, timeout, maxDownloadMb };
	return {
		role: 'park',
		taskId: 'in the item',
		pollInterval: context.getNodeParameter('pollInterval', 0, 3) as number,
		options: withoutUndefined(options) as INode['parameters'],
	};
}

function innerWorkflow(context: IExecuteFunctions): IExecuteWorkflowInfo {
	const { type, typeVersion, credentials } = context.getNode();
	const at = (x: number): [number, number] => [x, 0];
	const nodes: INode[] = [
		{
			id: 'start',
			name: 'Start',
			type: 'n8n-nodes-base.executeWorkflowTrigger',
			typeVersion: 1.1,
			position: at(0),
			parameters: { inputSource: 'passthrough' },
		},
		{
			id: 'wait',
			name: WAIT,
			type,
			typeVersion,
			credentials,
			position: at(200),
			parameters: innerParameters(context),
			...(context.continueOnFail() ? { onError: 'continueRegularOutput' as const } : {}),
		},
		{
			id: 'result',
			name: RESULT,
			type: 'n8n-nodes-base.noOp',
			typeVersion: 1,
			position: at(400),
			parameters: {},
		},
	];
	const to = (node: string) => ({ node, type: NodeConnectionTypes.Main, index: 0 });
	return {
		code: {
			name: `${context.getWorkflow().name ?? 'Workflow'} (waiting for images)`,
			active: false,
			nodes,
			connections: {
				Start: { main: [[to(WAIT)]] },
				[WAIT]: { main: [[to(WAIT)], [to(RESULT)]] },
			},
			// The finished files belong to this execution: it must not vanish when it has succeeded.
			settings: { executionOrder: 'v1', saveDataSuccessExecution: 'all' },
		} as unknown as IExecuteWorkflowInfo['code'],
	};
}

/**
 * One round of the node in the inner workflow: parks at first, asks after each waking up.
 *
 * @returns nothing on output 0 and the results on output 1 once there is nothing left to wait for
 */
export async function continueParked(context: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const input = context.getInputData();
	const envelopes = input.map(({ json }) => json as unknown as Envelope);
	const notes = context.getContext('node') as Notes;
	if (notes.begun !== true) {
		notes.begun = true;
		return await parkAgain(
			context,
			envelopes.map(({ job }) => job),
			input,
		);
	}
	const parentId = envelopes[0]?.parentExecutionId;
	// Someone stopped the outer execution: nobody waits for these tasks any more.
	if (parentId === undefined || (await hasEnded(context, parentId))) return [[], []];

	const readJob = (itemIndex: number): WaitJob => {
		const { job } = envelopes[itemIndex] as Envelope;
		return { ...job, done: job.done ?? notes.done?.[itemIndex] };
	};
	const { jobs, output, unfinished } = await waitForJobs(context, input.length, readJob, {
		windowMs: WINDOW_MS,
		toOutput: false,
	});
	if (unfinished.size === 0) {
		delete notes.done;
		return [[], output.flat()];
	}
	notes.done = Object.fromEntries(
		Object.entries(output).filter(([itemIndex]) => !unfinished.has(Number(itemIndex))),
	);
	return await parkAgain(
		context,
		jobs.filter((_, itemIndex) => unfinished.has(itemIndex)),
		input,
	);
}

async function parkAgain(
	context: IExecuteFunctions,
	jobs: WaitJob[],
	input: INodeExecutionData[],
): Promise<INodeExecutionData[][]> {
	const now = Date.now();
	const deadline = Math.min(
		...jobs.filter(({ done }) => done === undefined).map(({ deadlineAt }) => deadlineAt),
	);
	// Awake a little before the deadline, so that there is time for the last question.
	const until = Math.max(now + WINDOW_MS, Math.min(now + PARK_MS, deadline - WINDOW_MS));
	await context.putExecutionToWait(new Date(until));
	return [input, []];
}

async function hasEnded(context: IExecuteFunctions, executionId: string): Promise<boolean> {
	const data = await context.getExecutionDataById(executionId);
	return data === undefined || data.resultData.error !== undefined;
}
