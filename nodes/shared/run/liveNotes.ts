import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';
import { isJsonObject } from '../../../gateway/util/json';
import type { PaidNote } from './paid';
import { runIndexOf } from './runContext';

/** Under this name what was paid for lies in a node's context. */
export const PAID_KEY = 'mediaGatewayPaid';

/** Lists that runs of this process work on. */
const live = new WeakSet<object>();

/**
 * What was paid for and is kept in a node's context. Calls of a tool that an agent makes at once are
 * runs side by side in one context: all of them work on the same list. With a list for each, the one
 * that was opened last would be all that a later try finds.
 *
 * @param isKept whether a note can be of use any more; the others are taken out
 */
export function openNotes(
	store: IDataObject,
	key: string,
	isKept: (note: PaidNote) => boolean,
): PaidNote[] {
	const stored: unknown = store[key];
	const notes = isLive(stored) ? stored : readNotes(stored);
	keepOnly(notes, notes.filter(isKept));
	live.add(notes);
	store[key] = notes;
	return notes;
}

/** The same list, with these in it. */
export function keepOnly(notes: PaidNote[], kept: PaidNote[]): void {
	kept.forEach((note, place) => (notes[place] = note));
	notes.length = kept.length;
}

const isLive = (stored: unknown): stored is PaidNote[] =>
	typeof stored === 'object' && stored !== null && live.has(stored);

/** What an earlier run has left; notes of another version of this package are passed over. */
function readNotes(stored: unknown): PaidNote[] {
	if (!Array.isArray(stored)) return [];
	return stored.filter(
		(note): note is PaidNote =>
			isJsonObject(note) && typeof note.fingerprint === 'string' && isJsonObject(note.paid),
	);
}

/** What earlier tries of a run have paid for, by input item: for a try that ends before it has begun. */
export function notesOfRun(context: IExecuteFunctions): Map<number, PaidNote> {
	const runIndex = runIndexOf(context);
	const executionId = context.getExecutionId() ?? '';
	const notes = readNotes(context.getContext('node')[PAID_KEY]).filter(
		(note) => note.executionId === executionId && note.runIndex === runIndex,
	);
	return new Map(notes.map((note) => [note.itemIndex, note]));
}
