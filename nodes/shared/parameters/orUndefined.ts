import type { IExecuteFunctions } from 'n8n-workflow';
import { ItemParameters } from './itemParameters';

/** The value that a function reads; undefined if it throws. */
export function orUndefined<T>(read: () => T): T | undefined {
	try {
		return read();
	} catch {
		return undefined;
	}
}

/** A function that reads something of an item for its error, and gives nothing where that fails. */
export const tolerant =
	<T extends object>(context: IExecuteFunctions, read: (item: ItemParameters) => T) =>
	(itemIndex: number): Partial<T> =>
		orUndefined(() => read(new ItemParameters(context, itemIndex))) ?? {};
