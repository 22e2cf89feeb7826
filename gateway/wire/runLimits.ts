/** Limits of a run, for all its items together. */
export interface RunLimits {
	concurrency: number;
	requestsPerSecond?: number;
	/** The timeout of one request. */
	timeoutMs: number;
	/** The longest response that may contain inline images. */
	maxResponseBytes?: number;
}
