/** What the items of a flow ask for, and what was charged, in the same words. */
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { Step } from '../execution/step.mjs';
import { isTool } from '../execution/workflow.mjs';
import type { Flow } from '../plan/world.mjs';
import type { Charge } from '../service/books.mjs';
import { FILES } from '../service/one-pixel-pictures.mjs';

/** Everything that tells two requests apart. */
export function keyOf({ account, kind, model, file = '', count, prompt }: Charge): string {
	return JSON.stringify({ account, kind, model, file, count, prompt });
}

/** The same for an item, as it enters the node that pays. */
export function wantedBy({ flow, edited }: Step, item: IDataObject): string {
	const { make: kind, account } = flow;
	const isMessage = kind === 'message';
	const model = isMessage ? 'reason-large' : flow.model;
	const count = isMessage ? 1 : Number(item.n ?? 1);
	const prompt = `${item.prompt}${edited}`;
	const file = kind === 'edit' ? fileFor(flow, item) : '';
	return JSON.stringify({ account: `account ${account + 1}`, kind, model, file, count, prompt });
}

/** Whether anything in a flow is charged for. */
export const costs = (flow: Flow): boolean => flow.make !== 'nothing';

/** The file that is edited. */
function fileFor(flow: Flow, { file = 0 }: IDataObject): string {
	if (isTool(flow)) return '';
	const shift = flow.editFrom === 'url' ? flow.fileShift : 0;
	return FILES[(Number(file) + shift) % FILES.length]!;
}
