import { laterBill, type Bill } from '../protocol/bill';
import type { JsonObject } from '../../util/json';

/** What a response says of its result beside the images and the task. */
export interface ResultFacts extends Bill {
	/** Unix seconds. */
	created?: number;
	/** What the request used up, as the gateway counts it. */
	usage?: JsonObject;
	/** Why some of the requested images are missing, if there are others. */
	refusal?: string;
	/** The number of the request: that which was paid for, where it is known. */
	requestId?: string;
}

/** The facts of a result, each by name: what its last response says, else what an earlier one has said. */
export const mergedFacts = (
	later: ResultFacts,
	first: ResultFacts,
): { [Name in keyof Required<ResultFacts>]: ResultFacts[Name] } => ({
	created: later.created ?? first.created,
	usage: later.usage ?? first.usage,
	refusal: later.refusal ?? first.refusal,
	requestId: first.requestId ?? later.requestId,
	...laterBill(later, first),
});
