import type { ImageRequest, Order, TaskType } from '../../../gateway';
import type { ImageTarget } from '../images/imageItems';
import type { Checked } from '../../../gateway/models';
import type { Checker } from '../models/modelChecks';
import type { ItemParameters } from '../parameters/itemParameters';
import type { PaymentLog } from '../payments/paymentLog';
import type { Run } from '../run/runContext';
import type { Progress } from '../suspend/progress';
import type { TaskWait } from '../tasks/waitEntries';
import type { Budget } from './budget';

/** How a node makes the request of an item: its fields and its files. */
export interface RequestBuilder {
	taskType: TaskType;
	/** Reads the request from the item's parameters. */
	read: (item: ItemParameters) => ImageRequest;
	/** Adds the files to upload; may download them, and sends nothing that is charged. */
	load?: (request: ImageRequest, item: ItemParameters, run: Run) => Promise<ImageRequest>;
}

/** What all items of an execution share. */
export interface Batch {
	run: Run;
	builder: RequestBuilder;
	budget: Budget;
	checker: Checker;
	paymentLog: PaymentLog;
	/** With Survive Restarts: how long to wait in memory, and where accepted tasks are stored. */
	suspendAfterMs?: number;
	progress?: Progress;
	/** By task ID, the first item that the gateway gave it to. */
	itemOfTask: Map<string, number>;
	/** By item, the wait for a task that is still open when the execution is suspended. */
	waits: Array<TaskWait | undefined>;
}

export const MODES = ['wait', 'sync', 'submit'] as const;

/** What an item does once all items are prepared. */
export type Job = DryRunJob | PaidJob | SendJob;

/** Shows the checked request. */
export interface DryRunJob {
	kind: 'dryRun';
	checked: Checked<ImageRequest>;
	order: Order;
	target: ImageTarget;
}

/** Returns what an earlier try has paid for: its request isn't even read. */
export interface PaidJob extends JobSettings {
	kind: 'paid';
}

/** Sends the request, unless the log of payments has one for it once all requests are known. */
export interface SendJob extends JobSettings {
	kind: 'send';
	model: string;
	order: Order;
}

/** What an item sets beside its request. */
export interface JobSettings {
	itemIndex: number;
	mode: (typeof MODES)[number];
	target: ImageTarget;
	maxWaitMs: number;
}
