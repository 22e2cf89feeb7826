/**
 * The states of an image task (docs/protocol.md, "Task states"): four groups, nine spellings. This is the
 * only place that knows them; a new spelling is one word here.
 */
const STATUS_GROUPS = {
	waiting: ['queued', 'pending'],
	working: ['processing', 'in_progress', 'running'],
	success: ['completed', 'succeeded', 'success'],
	unsuccessful: ['failed', 'cancelled'],
} as const;

export type StatusGroup = keyof typeof STATUS_GROUPS | 'unknown';

const groupBySpelling = new Map<string, StatusGroup>(
	Object.entries(STATUS_GROUPS).flatMap(([group, spellings]) =>
		spellings.map((spelling) => [spelling, group as StatusGroup] as const),
	),
);

/**
 * The group of a status as a gateway spells it. Case and surrounding blanks do not matter; a
 * spelling that is not in the table is `unknown`, which is neither success nor failure.
 */
export function statusGroup(status: unknown): StatusGroup {
	if (typeof status !== 'string') return 'unknown';
	return groupBySpelling.get(status.trim().toLowerCase()) ?? 'unknown';
}

/** Whether a task in this group will not change any more. */
export function isFinished(group: StatusGroup): boolean {
	return group === 'success' || group === 'unsuccessful';
}
