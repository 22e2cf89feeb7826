import { MB } from '../../util/megabyte';

/** More than any image has, and less than the longest text of JavaScript. */
export const LARGEST_IMAGE_BYTES = 500 * MB;

/** Limits of a run, for all its items together. */
export interface RunLimits {
	concurrency: number;
	requestsPerSecond?: number;
	/** The timeout of one request. */
	timeoutMs: number;
	/**
	 * The largest image to download, and the longest response that may contain images;
	 * `LARGEST_IMAGE_BYTES` if undefined.
	 */
	maxResponseBytes?: number;
}
