/** Runs candidates in turn, each time in fresh processes, and takes medians. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayOptions } from '../simulator/gateway.mjs';
import { openTarget, openWorker } from './processes/children.mjs';
import type { Report } from './processes/gateway-process.mjs';
import { builtInFolder } from './server-tree.mjs';
import type { CandidateName, Sample, Work } from './work.mjs';

export interface Trial {
	sample: Sample;
	report: Report;
}

export interface Setup {
	gateway: GatewayOptions;
	/** Tasks that are submitted before the measurement begins, by their seconds. */
	lifetimes?: number[];
	/** What each candidate does; `ids` are the tasks that were submitted. */
	work: Partial<Record<CandidateName, (ids: string[]) => Work>>;
	times: number;
	/** Requests before the measurement, or other work, so that what is measured is compiled. */
	warmUp?: number | Work;
}

export type Trials = Record<CandidateName, Trial[]>;

const WARM_UP = 10;

/** Every candidate once, then every candidate again: what disturbs one disturbs all. */
export async function compare(setup: Setup): Promise<Trials> {
	const trials: Trials = {
		package: [],
		singleNode: [],
		builtIn: [],
		axios: [],
		helper: [],
		helperWithDeadline: [],
	};
	for (let time = 0; time < setup.times; time += 1) {
		for (const [name, work] of Object.entries(setup.work)) {
			const candidate = name as CandidateName;
			if (candidate === 'builtIn' && builtInFolder() === undefined) continue;
			trials[candidate].push(await tryOnce(setup, candidate, work));
		}
	}
	return trials;
}

async function tryOnce(
	{ gateway, lifetimes = [], warmUp = WARM_UP }: Setup,
	candidate: CandidateName,
	work: (ids: string[]) => Work,
): Promise<Trial> {
	const target = await openTarget(gateway);
	try {
		const { url, key } = target;
		const worker = await openWorker({
			candidate,
			url,
			key,
			warmUp: typeof warmUp === 'number' ? { kind: 'generate', count: warmUp } : warmUp,
		});
		try {
			// What warmed it up does not count towards the gateway's limit.
			await sleep(1100);
			const ids = lifetimes.length > 0 ? await target.submit(lifetimes) : [];
			await target.reset();
			const sample = await worker.run(work(ids));
			return { sample, report: await target.report() };
		} finally {
			await worker.close();
		}
	} finally {
		await target.close();
	}
}

/** The median of what is picked from each trial; NaN where there is none. */
export function median(trials: readonly Trial[], pick: (trial: Trial) => number): number {
	const values = trials.map(pick).sort((one, other) => one - other);
	const middle = values.length >> 1;
	if (values.length === 0) return NaN;
	return values.length % 2 === 1
		? (values[middle] as number)
		: ((values[middle - 1] as number) + (values[middle] as number)) / 2;
}
