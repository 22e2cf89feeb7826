/** Time and random numbers, passed in so that tests control them. */
export interface Clock {
	/** Milliseconds since an arbitrary start. */
	now(): number;
	/** Resolves after a number of milliseconds; rejects when the run is stopped. */
	sleep(ms: number): Promise<void>;
	/** A random number from 0 to below 1. */
	random(): number;
}
