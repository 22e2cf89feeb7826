/** Time and chance as the core sees them: passed in, so that a test needs neither. */
export interface Clock {
	/** Milliseconds since an arbitrary start. */
	now(): number;
	/** Resolves after that many milliseconds; rejects at once when the run is stopped. */
	sleep(ms: number): Promise<void>;
	/** A number from 0 up to, but not including, 1. */
	random(): number;
}
