import type { Charged } from './charged';

/** The rejection of everything that waits when a run ends early. Users of the nodes never see it. */
export class RunEnded extends Error {
	override name = 'RunEnded';

	/** @param charged whether the payment that has ended with the run may have been charged */
	constructor(
		message: string,
		readonly charged: Charged = 'no',
	) {
		super(message);
	}
}
