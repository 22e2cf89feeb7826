/**
 * The states of an image task (docs/protocol.md, "Task states") in four groups. This table is the
 * only place with the spellings.
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
 * The group of a status as a gateway spells it, whatever its case and surrounding spaces. An
 * unknown status is neither a success nor a failure.
 */
export function statusGroup(status: unknown): StatusGroup {
	if (typeof status !== 'string') return 'unknown';
	return groupBySpelling.get(status.trim().toLowerCase()) ?? 'unknown';
}

/** Whether a task of this group is final. */
export function isFinished(group: StatusGroup): boolean {
	return group === 'success' || group === 'unsuccessful';
}
