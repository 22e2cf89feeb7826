/** A world as a value: what runs, against which gateway, and what happens to it. */
import type { ServiceSetup } from '../service/service-setup.mjs';

export interface PlannedItem {
	/** Two items may have the same. */
	prompt: string;
	/** Images asked for. */
	n: number;
	/** Of a task that was submitted before, where the flow only collects. */
	kind: 'generation' | 'edit';
}

export interface Flow {
	/** What is paid for; `nothing`: tasks are collected that were submitted before. */
	make: 'generation' | 'edit' | 'message' | 'nothing';
	mode: 'sync' | 'wait' | 'submit';
	/** What collects what was submitted. */
	collect: 'imageWait' | 'imageTask' | 'none';
	items: PlannedItem[];
	as: 'node' | 'loop' | 'engineTool' | 'subNodeTool';
	/** How often a loop goes round. */
	rounds: number;
	/** How often an agent repeats a call that failed. */
	again: number;
	onError: 'stopWorkflow' | 'continueRegularOutput' | 'continueErrorOutput';
	/** Tries of Retry On Fail; 1: off. */
	tries: number;
	options: Record<string, unknown>;
	/** Seconds. */
	pollInterval: number;
	maxWait: number;
	download: boolean;
	/** Seconds; undefined: does not survive restarts. */
	parkAfter?: number;
	account: 0 | 1;
	/** A setting that cannot work. */
	trouble: 'none' | 'placeholderKey' | 'noAddress' | 'badOption' | 'badPollInterval' | 'wrongKey';
}

/** One thing that a person does, or that happens to the process. */
export interface Act {
	kind: 'run' | 'retry' | 'retryEdited';
	/** Pressed after so many requests of this act. */
	stopAfter?: number;
	/** The process is killed after so many requests of this act. */
	crashAfter?: number;
}

export interface World {
	/** Of all chance that the plan does not settle. */
	seed: number;
	service: ServiceSetup;
	flow: Flow;
	acts: Act[];
}
