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
		([group, spellings]) =>
			spellings.map((spelling) => [wordOf(spelling), group as StatusGroup] as const),
	),
);

/** A status without its case, spaces, hyphens and `_`, and without a prefix of some gateways. */
function wordOf(status: string): string {
	const word = status
		.trim()
		.toLowerCase()
		.replace(/(?<=\S)[ _-](?=\S)/g, '');
	return word.replace(/^taskstatus/, '');
}

/** Whether a gateway says that it doesn't know the task, which may be too old. */
export const isUnknownWord = (status: string): boolean => wordOf(status) === 'unknown';

/** Whether a status is the word that is also used for a request that has failed. */
export const isErrorWord = (status: string): boolean => wordOf(status) === 'error';

/**
 * The group of a status as a gateway spells it, whatever its case and separators. An unknown status is
 * neither a success nor a failure.
 */
export const statusGroup = (status: unknown): StatusGroup =>
	(typeof status === 'string' ? groupBySpelling.get(wordOf(status)) : undefined) ?? 'unknown';

/** Whether a task of this group is final. */
export function isFinished(group: StatusGroup): boolean {
	return group === 'success' || group === 'unsuccessful';
}
