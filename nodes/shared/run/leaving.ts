import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { eraseIn } from '../../../util/keyEraser';
import { oneLine } from '../../../util/text';

/*
 * What leaves a node, as items, errors, hints and lines of a log, has the secrets of its credential
 * erased. Inside, everything is as the gateway wrote it.
 */

type Erase = (text: string) => string;

const erasers = new WeakMap<object, Erase>();

/** Sets what erases the secrets in all that leaves a run of a node, once its credential is read. */
export function eraseFrom(context: object, erase: Erase): void {
	erasers.set(context, erase);
}

/** A value as it leaves. */
export function leaving<T>(context: object, value: T): T {
	const erase = erasers.get(context);
	return erase === undefined ? value : eraseIn(value, erase);
}

/** Items as they leave: their fields, and the names of their files. */
export const leavingItems = (context: object, items: INodeExecutionData[]): INodeExecutionData[] =>
	items.map((item) => ({
		...withFileNames(item, (name) => leaving(context, name)),
		json: leaving(context, item.json),
	}));

/** The same item with other names of its files. */
export function withFileNames(
	item: INodeExecutionData,
	rename: (name: string) => string,
): INodeExecutionData {
	if (item.binary === undefined) return item;
	const files = Object.entries(item.binary).map(([field, file]) => {
		const { fileName } = file;
		return [field, { ...file, fileName: fileName && rename(fileName) }] as const;
	});
	return { ...item, binary: Object.fromEntries(files) };
}

/** The fields of an error with texts, which n8n stores and shows. */
const TEXTS_OF_ERROR = ['message', 'stack', 'description', 'messages', 'context', 'errorResponse'];

/** The same error as it leaves, with its cause. */
export function leavingError<E>(context: object, error: E): E {
	if (!(error instanceof Error)) return error;
	for (const one of error.cause instanceof Error ? [error, error.cause] : [error]) {
		const fields = one as unknown as Record<string, unknown>;
		for (const name of TEXTS_OF_ERROR) {
			if (Object.getOwnPropertyDescriptor(one, name)?.writable !== true) continue;
			fields[name] = leaving(context, fields[name]);
		}
	}
	return error;
}

/** How the lines of a node in n8n's log begin. */
export const logPrefix = (context: Pick<IExecuteFunctions, 'getNode'>): string =>
	`Media Gateway, "${oneLine(context.getNode().name)}"`;

/**
 * Writes a line about a run to n8n's log.
 *
 * @param level `info` where nothing is wrong
 */
export function logRun(
	context: IExecuteFunctions,
	text: string,
	level: 'info' | 'warn' = 'warn',
): void {
	const where = `${logPrefix(context)}, execution ${context.getExecutionId()}`;
	context.logger?.[level](`${where}: ${leaving(context, text)}`);
}
