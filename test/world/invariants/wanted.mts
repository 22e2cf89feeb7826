/** What the items of a flow ask for, and what was charged, in the same words. */
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { Step } from '../execution/step.mjs';
import { isTool } from '../execution/workflow.mjs';
import { EXTRA_FIELDS, type ExtraFields } from '../plan/odd-settings.mjs';
import type { Flow } from '../plan/world.mjs';
import type { Charge } from '../service/books.mjs';
import { FILES } from '../service/one-pixel-pictures.mjs';

/** Everything that tells two requests apart. */
export function keyOf({ account, kind, model, file, mask, count, prompt }: Charge): string {
	const files = [file, mask].filter((name) => name !== undefined).join(', masked by ');
	return JSON.stringify({ account, kind, model, files, count, prompt });
}

/** The same for an item, as it enters the node that pays. */
export function wantedBy({ flow, edited }: Step, item: IDataObject): string {
	const { make, account } = flow;
	const kind = make === 'chat' ? 'message' : make;
	const isMessage = kind === 'message';
	const model = extraOf(flow)?.model ?? (isMessage ? 'reason-large' : flow.model);
	const count = isMessage ? 1 : (extraOf(flow)?.count ?? Number(item.n ?? 1));
	const prompt = `${item.prompt}${edited}`;
	const files = make === 'edit' ? filesFor(flow, item) : '';
	return JSON.stringify({ account: `account ${account + 1}`, kind, model, files, count, prompt });
}

/** What sets its number of images in two ways is refused: nobody could tell which of them is meant. */
export function isPlain({ flow }: Step, { n }: IDataObject): boolean {
	const count = extraOf(flow)?.count;
	const isImage = flow.make === 'generation' || flow.make === 'edit';
	return !isImage || isTool(flow) || count === undefined || count === Number(n);
}

export const extraOf = ({ extra }: Flow): ExtraFields | undefined =>
	extra === undefined ? undefined : EXTRA_FIELDS[extra];

/** Whether a flow can be carried out: what cannot must not cost anything. */
export function isSound(flow: Flow): boolean {
	const { extra, make } = flow;
	if (make === 'nothing') return true;
	const refuses = make === 'chat' && extraOf(flow)?.count !== undefined;
	return (extra === undefined || EXTRA_FIELDS[extra]!.works) && !refuses;
}

/** Whether anything in a flow is charged for. */
export const costs = (flow: Flow): boolean =>
	flow.make !== 'nothing' && !flow.dryRun && isSound(flow);

/** The file that is edited, and its mask, which stays with its item whichever image is edited. */
function filesFor(flow: Flow, { file = 0 }: IDataObject): string {
	if (isTool(flow)) return '';
	const name = (shift: number): string => FILES[(Number(file) + shift) % FILES.length]!;
	const shift = flow.editFrom === 'url' ? flow.fileShift : 0;
	return flow.mask ? `${name(shift)}, masked by ${name(1)}` : name(shift);
}
