/** What the items of a flow ask for, and what was charged, in the same words. */
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { Step } from '../execution/step.mjs';
import { isTool } from '../execution/workflow.mjs';
import { EXTRA_FIELDS, HISTORIES, type ExtraFields } from '../plan/odd-settings.mjs';
import type { Flow } from '../plan/world.mjs';
import type { Charge } from '../service/books.mjs';
import { FILES } from '../service/one-pixel-pictures.mjs';

/** Everything that tells two requests apart. */
export function keyOf({ account, kind, model, file, count, prompt, parts = [] }: Charge): string {
	const mask = parts.find((part) => part.endsWith(AS_MASK));
	return inWords(account, kind, model, file && file + (mask ? `, ${mask}` : ''), count, prompt);
}

/** The same for an item, as it enters the node that pays. */
export function wantedBy({ flow, edited }: Step, item: IDataObject): string {
	const { make, account } = flow;
	const kind = make === 'chat' ? 'message' : make;
	const isMessage = kind === 'message';
	const model = extraOf(flow)?.model ?? (isMessage ? 'reason-large' : flow.model);
	const file = make === 'edit' ? fileFor(flow, item) + maskFor(flow, item) : undefined;
	const count = isMessage ? 1 : (extraOf(flow)?.count ?? Number(item.n ?? 1));
	return inWords(`account ${account + 1}`, kind, model, file, count, `${item.prompt}${edited}`);
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
	const { extra, history, make } = flow;
	if (make === 'nothing' || make === 'models') return true;
	const refuses = make === 'chat' && extraOf(flow)?.count !== undefined;
	const hasHistory = make !== 'message' || history === undefined || turnsBefore(flow) !== undefined;
	return (extra === undefined || EXTRA_FIELDS[extra]!.works) && hasHistory && !refuses;
}

/** Whether anything in a flow is charged for. */
export const costs = (flow: Flow): boolean =>
	!['nothing', 'models'].includes(flow.make) && !flow.dryRun && isSound(flow);

/** The conversation that a message continues; undefined if that cannot be used. */
export function turnsBefore({ history }: Flow): unknown[] | undefined {
	return history === undefined ? [] : HISTORIES[history]!.turns;
}

function fileFor(flow: Flow, { file = 0 }: IDataObject): string {
	if (isTool(flow)) return '';
	const shift = flow.editFrom === 'url' ? flow.fileShift : 0;
	return FILES[(Number(file) + shift) % FILES.length]!;
}

const AS_MASK = ' as mask';

/** The mask stays with its item, whichever image is edited. */
function maskFor(flow: Flow, { file = 0 }: IDataObject): string {
	if (flow.more?.mask !== true || isTool(flow)) return '';
	return `, ${FILES[(Number(file) + 1) % FILES.length]!}${AS_MASK}`;
}

function inWords(
	account: string,
	kind: string,
	model: string,
	file: string | undefined,
	count: number,
	prompt: string,
): string {
	const what = file === undefined ? '' : ` of ${JSON.stringify(file)}`;
	return `${count} × ${kind}${what} by ${model} for ${account}: ${JSON.stringify(prompt)}`;
}
