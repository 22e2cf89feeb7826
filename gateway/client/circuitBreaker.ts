/** The pause after a refusal, doubled with each one in a row: test "halts the whole run for a moment". */
const FIRST_PAUSE_MS = 200;
/** It doubles up to this: test "a gateway that refuses everything makes all fail within minutes". */
const LONGEST_PAUSE_MS = 30_000;
/** After nothing but refusals for this long the circuit opens: test "of minutes without end". */
const OPEN_AFTER_MS = 300_000;

/**
 * Whether it is of use to send anything, as in the pattern of that name (M. Nygard, "Release It!"):
 * closed while requests are accepted; half-open while pauses do not help: one request at a time
 * tries; open after minutes of that.
 */
export class CircuitBreaker {
	/** The gateway has refused everything for minutes. */
	isOpen = false;

	private refusedInARow = 0;

	/** When the first of them came. */
	private refusedSince = 0;

	/** Whether the last request was refused although the run had paused before it. */
	get isHalfOpen(): boolean {
		return this.refusedInARow > 1;
	}

	accepted(): void {
		this.refusedInARow = 0;
		this.isOpen = false;
	}

	/**
	 * A request was refused that was sent after the last refusal was known.
	 *
	 * @param random a number from 0 up to 1, for the spread of the pause
	 * @returns the pause before anything else is sent, in milliseconds
	 */
	refused(now: number, random: number): number {
		if (this.refusedInARow === 0) this.refusedSince = now;
		const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.refusedInARow);
		this.refusedInARow += 1;
		return pause * (0.75 + random / 2);
	}

	/** Opens if there were nothing but refusals for minutes. To be asked after a refusal. */
	openIfLasting(now: number): void {
		this.isOpen ||= now - this.refusedSince > OPEN_AFTER_MS;
	}
}
