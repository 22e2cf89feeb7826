/** What candidates are given to do, and what is measured while they do it. */

/** The model that the gateway of the bench has. */
export const MODEL = 'bench-image';

/**
 * Who does the work. `singleNode` is the package where one node submits and waits; `helper` is n8n's
 * HTTP helper alone, `helperWithDeadline` the same with responses that are cut off and requests that
 * end at a deadline.
 */
export type CandidateName =
	| 'package'
	| 'singleNode'
	| 'builtIn'
	| 'axios'
	| 'helper'
	| 'helperWithDeadline';

/** Limits that a candidate is allowed; what is left out is its own default. */
export interface Allowance {
	concurrency?: number;
	requestsPerSecond?: number;
}

/** A piece of work. Every candidate knows some of these. */
export type Work = Allowance &
	(
		| {
				/** Submit so many tasks and wait for all of them. */
				kind: 'tasks';
				count: number;
				pauseS: number;
				/** The package can do it in one node, or in one that submits and one that waits. */
				nodes?: 1 | 2;
		  }
		| {
				/** Wait for tasks that were submitted before. */
				kind: 'wait';
				ids: string[];
				pauseS: number;
				download?: boolean;
				/** Collects garbage and looks at the memory after so many milliseconds; watches the delay. */
				lookAfterMs?: number;
		  }
		| {
				/** Generate so many images synchronously. */
				kind: 'generate';
				count: number;
		  }
		| {
				/** Edit so many images, each of so many bytes, synchronously. */
				kind: 'edit';
				count: number;
				bytes: number;
		  }
	);

/** How a candidate is started. */
export interface Prepare {
	candidate: CandidateName;
	url: string;
	key: string;
	/** Done once before the measurement, so that what is measured is compiled. */
	warmUp?: Work;
}

/** What came of a piece of work. */
export interface Outcome {
	/** How many results came out. */
	good: number;
	/** What ended it early. */
	error?: string;
}

/** One measurement. Bytes and milliseconds. */
export interface Sample extends Outcome {
	wallMs: number;
	/** User and system time of the candidate's process. */
	cpuMs: number;
	/** What an event that arrives at any moment waits for the loop; only with `lookAfterMs`. */
	loopDelayP99Ms?: number;
	/** Resident memory before the work, and the highest while it was done. */
	idleRss: number;
	peakRss: number;
	/** Live memory after a collection, before the work and at the moment of `lookAfterMs`; only with it. */
	idleLive?: number;
	midLive?: number;
	midRss?: number;
}

/** A candidate, ready to work. */
export interface Candidate {
	run(work: Work): Promise<Outcome>;
}
