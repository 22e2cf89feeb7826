/** What an item and its payment are known by. */
export interface Identity {
	/** This and the next two: the item of the run that has paid, or has used it last. */
	executionId: string;
	runIndex: number;
	itemIndex: number;
	/** A digest of what the person chose. */
	choices?: string;
	/**
	 * A digest of the synchronous request before the model list has changed it, as the list may change;
	 * empty until that is read.
	 */
	requestDigest: string;
	/**
	 * A digest of what the request is created from (parameters, input, files): it stays the same if
	 * an expression returns another prompt or seed.
	 */
	inputDigest: string;
}

/**
 * The keys by which its own item finds a payment, in their order: its place, its choices and input,
 * its request. An empty key is none.
 */
export const lookupKeysOf = ({
	executionId,
	runIndex,
	itemIndex,
	requestDigest,
	inputDigest,
}: Identity): string[] => [
	`${executionId} ${runIndex} ${itemIndex}`,
	inputDigest && `${itemIndex} ${inputDigest}`,
	requestDigest && `${itemIndex} ${requestDigest}`,
];
