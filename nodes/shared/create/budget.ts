/** What a run may spend, over its items. */
export interface Budget {
	/** Whether there is a limit: then the price of every item is needed. */
	isSet: boolean;
	/**
	 * Sets aside what the run is going to pay for; to be called once all items are checked.
	 *
	 * @param costs by input item, without those that an earlier try has paid for; undefined where no
	 *   price is published
	 * @throws GatewayError if it is more than what is left
	 */
	reserve(costs: Map<number, number | undefined>): void;
	/**
	 * The request of an item was accepted now, or it is known from now on that this stays unknown:
	 * after midnight it counts for the new day.
	 */
	decided(itemIndex: number): void;
	/** Gives back what was not spent. @param isPaid also where the outcome is unknown */
	settle(isPaid: (itemIndex: number) => boolean): void;
}
