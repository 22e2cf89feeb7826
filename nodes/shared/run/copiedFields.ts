import { type IDataObject, deepCopy } from 'n8n-workflow';
import { withoutUndefined } from '../../../util/json';
import { detailsOf } from '../errors/itemReport';
import { OUTPUT_FIELDS } from './outputFields';

/** Fields of an input item that aren't copied: they would seem to be about this node's request. */
const NOT_COPIED = new Set(
	Object.keys(OUTPUT_FIELDS).filter((name) => OUTPUT_FIELDS[name]?.isCopied !== true),
);

/**
 * A copy of the fields of an input item that its output items may have.
 *
 * @param kept names that are copied all the same
 */
export function copiedFields(json: IDataObject, kept: string[] = []): IDataObject {
	// n8n 1.x has the details of a failed item under another name.
	const details = detailsOf(json);
	const wanted = Object.entries(json).filter(
		([name, value]) => kept.includes(name) || (!NOT_COPIED.has(name) && value !== details),
	);
	return withoutUndefined(deepCopy(Object.fromEntries(wanted))) as IDataObject;
}
