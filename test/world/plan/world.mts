/** A world as a value: what runs, against which gateway, and what happens to it. */
import type { Crash } from '../../../harness/engine/host.mjs';
import type { ServiceSetup } from '../service/service-setup.mjs';

export interface PlannedItem {
	/** Two items may have the same. */
	prompt: string;
	/** Images asked for. */
	n: number;
	/** Of a task that was submitted before, where the flow only collects. */
	kind: 'generation' | 'edit';
	/** Which of three files it brings along to edit. */
	file: number;
}

export interface Flow {
	/** What is paid for; `nothing`: tasks are collected that were submitted before. */
	make: 'generation' | 'edit' | 'message' | 'nothing';
	model: 'aurora-image-1' | 'borealis';
	mode: 'sync' | 'wait' | 'submit';
	/** What collects what was submitted. */
	collect: 'imageWait' | 'imageTask' | 'none';
	items: PlannedItem[];
	/** `back`: its error output is wired back into it. */
	as: 'node' | 'loop' | 'back' | 'engineTool' | 'subNodeTool';
	/** How often a loop goes round, or what has failed comes back. */
	rounds: number;
	/** How often an agent repeats a call that failed. */
	again: number;
	/** Whether it makes all its calls at once. */
	together: boolean;
	/** Whether what has failed comes back by an Image Wait. */
	waitsOnWay?: boolean;
	onError: 'stopWorkflow' | 'continueRegularOutput' | 'continueErrorOutput';
	/** Tries of Retry On Fail; 1: off. */
	tries: number;
	options: Record<string, unknown>; // of its nodes and its credential
	/** The field that asks for more than one image. */
	countedBy: 'n' | 'num_images' | 'batch_size';
	/** The models are listed by another host. */
	isListedApart: boolean;
	/** Where an edit gets its file from. */
	editFrom: 'binary' | 'url';
	/** Whether another file than that of the item is edited: so many further. */
	fileShift: number;
	/** The workflow setting "Save execution progress". */
	savesProgress: boolean;
	/** Seconds. */
	pollInterval: number;
	maxWait: number;
	download: boolean;
	/** The option Survive Restarts. */
	isStored: boolean;
	/** Started by a trigger, not in the editor: static data would be stored. */
	production: boolean;
	account: 0 | 1;
	/** A setting that cannot work. */
	trouble: 'none' | 'placeholderKey' | 'noAddress' | 'badOption' | 'badPollInterval' | 'wrongKey';
}

/** One thing that a person does, or that happens to the process. */
export interface Action {
	/**
	 * `next`: another execution of the same workflow, as it comes. `retryCrashed`: Retry of one that a crash
	 * has ended, from its first node on.
	 */
	kind: 'run' | 'retry' | 'retryEdited' | 'retryCrashed' | 'next';
	/** Seconds until then. */
	pause?: number;
	/** What a person changes before the retry. */
	edit: 'prompt' | 'account' | 'kind' | 'model' | 'file';
	/** Pressed after so many requests of this action. */
	stopAfter?: number;
	/** The process is killed after so many requests of this action. */
	crashAfter?: number;
}

/** What happens to a check of tasks that survive restarts: nothing, or how the process dies in it. */
export type CheckEnd = 'well' | Crash;

/** A crash, and Retry after it, when the table has the rows in another order. */
export interface Shift {
	/** The process is killed after so many requests. */
	crashAfter: number;
	/** Seconds from there to Retry. */
	pause: number;
	order: 'same' | 'reversed' | 'rotated';
	/** A new row, in front of the others. */
	front?: PlannedItem;
}

/** What has failed comes back to the node that has sent it. */
export interface Back {
	/** Why something fails, beside what is planned. */
	cause: 'none' | 'refused' | 'lost' | 'taskFails' | 'tooSlow' | 'noImage';
	rounds: number;
	waitsOnWay: boolean;
}

export interface World {
	/** Of all random numbers that the plan doesn't determine. */
	seed: number;
	service: ServiceSetup;
	flow: Flow;
	actions: Action[];
	/** Of the checks, in order; those beyond end well. */
	checks: CheckEnd[];
	shift?: Shift;
	back?: Back;
}
