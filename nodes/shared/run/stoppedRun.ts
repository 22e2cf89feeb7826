import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';
import { mostCharged, type Problem } from '../../../gateway';
import { withoutUndefined } from '../../../util/json';
import { inFlow, startSubWorkflow, subNode, subWorkflow, workflowName } from './n8nEngine';
import { copiedFields } from './copiedFields';
import { type ItemReport, type UnreturnedPayment } from '../errors/itemReport';
import { leaving, logRun } from './leaving';
import { problemOf } from '../errors/nodeErrors';

/** The node whose output is the list of what a stopped run leaves. */
const LIST = 'Image Tasks of the Stopped Run';

/** What n8n shows below a node whose output is such a list. */
export const LIST_NOTE = inFlow('Copy this output: icon {}');

/** Where to click in n8n 2.41, whose narrow panels have icons in place of tabs, and what for. */
export const HOW_TO_COPY =
	'Open the node, move the pointer over its output, select *JSON* (in a narrow panel the icon `{}`), then the copy icon, and paste the list into the example *Collect these tasks*: it gets the images without paying again.';

/**
 * Reports the tasks and payments of a stopped run: in n8n's log, and as the output of a
 * sub-execution, because n8n stores nothing of a node that was stopped. Each of its items has the
 * fields of its input item, with the model, the prompt and the charge, and Image Wait takes them as
 * they are, as in the example "Collect these tasks". The sub-execution sends nothing.
 */
export async function reportStopped(
	context: IExecuteFunctions,
	error: unknown,
	itemReport: ItemReport,
): Promise<void> {
	// The error of a stopped run has what was paid for (itemRunner.ts).
	const stopped: Problem & { paid?: UnreturnedPayment[] } = problemOf(error);
	const { description, paid = [] } = stopped;
	if (paid.length === 0) return;
	logRun(context, `The execution was stopped. ${description}`);
	const settings = { executionOrder: 'v1', saveDataSuccessExecution: 'all' } as const;
	const name = `${workflowName(context)} (stopped)`;
	const list = subNode(LIST, 'n8n-nodes-base.noOp', LIST_NOTE);
	const note = `## What the stopped run has paid for\n\n${HOW_TO_COPY}`;
	const workflow = subWorkflow(name, [list], {}, settings, note);
	const input = context.getInputData();
	const items = paid.map((payment) => {
		const { model, prompt, charged: told } = itemReport.itemDetails(payment.item);
		// A request in progress isn't recorded yet.
		const charged = mostCharged([told, payment.outcome === 'unknown' ? 'maybe' : 'no']);
		const fields = copiedFields(input[payment.item]?.json ?? {});
		const json = withoutUndefined({ ...fields, model, prompt, charged, ...payment });
		return { json: leaving(context, json as IDataObject) };
	});
	// The log has the list too, and an unsaved workflow has no sub-executions. The end of the time limit of
	// a workflow is a Stop as well, and would be that of the list.
	const started = startSubWorkflow(context, workflow, items, { outlivesThis: true });
	await started.catch(() => undefined);
}
