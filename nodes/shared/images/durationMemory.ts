import { digestOf } from '../../../gateway/protocol/fingerprint';
import type { TaskType } from '../../../gateway/protocol/requestPlan';
import { Durations } from '../../../gateway/client/durations';
import type { Run } from '../run/runContext';

/** What the runs of this process have learned, so that the node that waits next polls where it helps. */
const memory = new Map<string, Durations>();

/** Of more kinds of tasks than these, the one that was not used for longest is forgotten. */
const MOST_KINDS = 200;

/**
 * How long tasks of a model take, by gateway, account, model and kind.
 *
 * @param model as the item names it; without it nothing is learned, because models differ
 */
export function durationsOf(
	run: Pick<Run, 'address'>,
	model: string | undefined,
	taskType: TaskType | 'auto',
): Durations | undefined {
	if (model === undefined) return undefined;
	// A digest: an item may name a model of any length.
	const key = digestOf([run.address.account, model, taskType]);
	const durations = memory.get(key) ?? new Durations();
	memory.delete(key);
	memory.set(key, durations);
	const [oldest] = memory.keys();
	if (memory.size > MOST_KINDS && oldest !== undefined) memory.delete(oldest);
	return durations;
}
