/**
 * The states of an image task in four groups, as the protocol spells them (docs/protocol.md, "Task
 * states").
 */
const STATUS_GROUPS = {
	waiting: ['queued', 'pending'],
	working: ['processing', 'in_progress', 'running'],
	success: ['completed', 'succeeded', 'success'],
	unsuccessful: ['failed', 'cancelled'],
} as const;

/** Spellings of other gateways (docs/gateways.md). */
const OTHER_SPELLINGS: Record<keyof typeof STATUS_GROUPS, readonly string[]> = {
	waiting: ['submitted', 'not_start', 'accepted', 'created', 'in_queue', 'scheduled', 'waiting'],
	working: ['generating', 'starting'],
	success: ['succeed', 'complete', 'done', 'finished', 'ready', 'ok'],
	// prettier-ignore
	unsuccessful: [
		'canceled', 'fail', 'failure', 'error', 'expired', 'timeout', 'timed_out', 'rejected', 'aborted',
	],
};

export type StatusGroup = keyof typeof STATUS_GROUPS | 'unknown';

const groupBySpelling = new Map(
	[...Object.entries(STATUS_GROUPS), ...Object.entries(OTHER_SPELLINGS)].flatMap(
		([group, spellings]) => spellings.map((spelling) => [spelling, group as StatusGroup] as const),
	),
);

/**
 * The group of a status as a gateway spells it, whatever its case and surrounding spaces, and with
 * spaces or hyphens in place of `_`. An unknown status is neither a success nor a failure.
 */
export function statusGroup(status: unknown): StatusGroup {
	if (typeof status !== 'string') return 'unknown';
	const spelling = status.trim().toLowerCase().replace(/[ -]/g, '_');
	return groupBySpelling.get(spelling) ?? 'unknown';
}

/** Whether a task of this group is final. */
export function isFinished(group: StatusGroup): boolean {
	return group === 'success' || group === 'unsuccessful';
}
