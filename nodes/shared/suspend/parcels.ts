import type { IDataObject, INodeExecutionData } from 'n8n-workflow';
import { isJsonObject } from '../../../gateway/util/json';
import type { RunEnd } from '../images/runResult';
import type { Tally } from '../run/tally';
import type { Problem } from '../../../gateway/util/gatewayError';
import { openItem, type WaitEntry, type WaitJob } from '../images/waitJobs';

/** What a sub-execution has to know of the one that waits for it. It is stored with the items. */
export interface WaitPlan {
	parentExecutionId: string;
	/** The keeper's, for the watcher: people can delete it. */
	keeperExecutionId?: string;
	/** Of the user's node, for errors. */
	nodeName: string;
	workflowName: string;
	/** As the user's workflow has it: called where a failure cannot reach that workflow. */
	errorWorkflow?: string;
	/** How many input items the node had. */
	count: number;
	/** Whether failed items are items, rather than the end of the run. */
	goOn: boolean;
	/** Whether failed items leave by an output of their own. */
	errorOutput: boolean;
	/** What is done with all items at the end. */
	end?: RunEnd;
	/** What the run has done so far. */
	tally?: Tally;
	/** The values of the parameters that hold for the whole run. */
	parameters: IDataObject;
}

/** An item on its way between the executions: what it is, and to which input item it belongs. */
type Parcel =
	| { kind: 'plan'; plan: WaitPlan }
	| { kind: 'job'; item: number; job: WaitJob }
	| { kind: 'item' | 'open'; item: number; json: IDataObject }
	| { kind: 'failure'; problem: Problem };

/** Under this name, so that no item of a user is taken for one. */
const KEY = 'mediaGatewayParcel';

const wrap = (parcel: Parcel, more: Partial<INodeExecutionData> = {}): INodeExecutionData => ({
	json: { [KEY]: parcel as unknown as IDataObject },
	pairedItem: { item: 0 },
	...more,
});

/** More input items than any run can have: an index beyond it is no index. */
const MOST_ITEMS = 1_000_000;

const read = ({ json }: INodeExecutionData): Parcel | undefined => {
	const parcel = json[KEY];
	if (!isJsonObject(parcel)) return undefined;
	const { item = 0 } = parcel;
	const isIndex = Number.isInteger(item) && Number(item) >= 0 && Number(item) < MOST_ITEMS;
	return isIndex ? (parcel as unknown as Parcel) : undefined;
};

/** What came with the items of a sub-execution. */
export interface Contents {
	plan?: WaitPlan;
	/** By input item. */
	entries: WaitEntry[];
	failure?: Problem;
	/** Whether there were any parcels at all, rather than items for a user. */
	isParcels: boolean;
}

/** Items that hold a plan, what is still waited for, and what came of the rest. */
export function pack(plan: WaitPlan, entries: WaitEntry[]): INodeExecutionData[] {
	return [wrap({ kind: 'plan', plan }), ...packEntries(entries)];
}

/** The same without the plan. */
function packEntries(entries: WaitEntry[]): INodeExecutionData[] {
	return entries.flatMap(({ job, done }, item) => {
		if (done === undefined) return job === undefined ? [] : [wrap({ kind: 'job', item, job })];
		return [
			...done.items.map(({ json, binary }) => wrap({ kind: 'item', item, json }, { binary })),
			...(done.open === undefined
				? []
				: [wrap({ kind: 'open', item, json: done.open.json }, { binary: done.open.binary })]),
		];
	});
}

/** A failure that ends the run. */
export function packFailure(plan: WaitPlan, problem: Problem): INodeExecutionData[] {
	return [wrap({ kind: 'plan', plan }), wrap({ kind: 'failure', problem })];
}

/** The opposite of `pack`; every item is paired with the input item to which it belongs. */
export function unpack(items: INodeExecutionData[]): Contents {
	const contents: Contents = { entries: [], isParcels: false };
	for (const given of items) {
		const parcel = read(given);
		if (parcel === undefined) continue;
		contents.isParcels = true;
		if (parcel.kind === 'plan') contents.plan = parcel.plan;
		else if (parcel.kind === 'failure') contents.failure = parcel.problem;
		else {
			const entry = (contents.entries[parcel.item] ??= {});
			if (parcel.kind === 'job') entry.job = parcel.job;
			else {
				entry.done ??= { items: [] };
				const { json, item } = parcel;
				const opened: INodeExecutionData = { json, pairedItem: { item } };
				if (given.binary !== undefined) opened.binary = given.binary;
				if (parcel.kind === 'item') entry.done.items.push(opened);
				else entry.done.open = opened;
			}
		}
	}
	contents.entries = Array.from(contents.entries, (entry) => entry ?? {});
	return contents;
}

/** What a suspended node shows of what it waits for: items that Image Wait and Image Task take. */
export function openEntries(entries: WaitEntry[]): INodeExecutionData[] {
	return entries.flatMap(({ job, done }) =>
		job === undefined || done !== undefined ? [] : [openItem(job)],
	);
}
