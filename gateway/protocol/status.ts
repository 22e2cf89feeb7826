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

/** Spellings of other gateways. */
const OTHER_SPELLINGS: Record<keyof typeof STATUS_GROUPS, readonly string[]> = {
	waiting: ['submitted', 'not_start', 'accepted', 'created', 'in_queue', 'scheduled', 'waiting'],
	working: ['generating', 'starting'],
	success: ['succeed', 'complete', 'done', 'finished', 'ready', 'ok'],
	// prettier-ignore
	unsuccessful: [
		'canceled', 'error', 'expired', 'timeout', 'timed_out', 'aborted', 'terminated', 'incomplete', 'nsfw', 'stopped',
		'killed', 'revoked', 'invalid', 'flagged', 'unsafe', 'deleted',
	],
};

/** In characters: the longest status that is read as a word. */
const LONGEST_STATUS = 100;

export type StatusGroup = keyof typeof STATUS_GROUPS | 'unknown';

const groupBySpelling = new Map(
	[...Object.entries(STATUS_GROUPS), ...Object.entries(OTHER_SPELLINGS)].flatMap(
		([group, spellings]) =>
			spellings.map((spelling) => [wordOf(spelling), group as StatusGroup] as const),
	),
);

/** Parts of words that mean a success with some of the images, and a failure, in this order. */
const PARTIAL = /^partial(ly)?(success(ful)?|succeeded|completed?|finished|done|failed|failure)?$/;
const FAILURE = /fail|moderat|reject|block|refus|violat|denied/;
/** What is still going on, such as `moderating`: in doubt, a task is open. */
const GOING_ON = /ing$|pending|queue|await|progress|^(in|under)moderation$/;

/** A status without its case, spaces, hyphens and `_`, and without a prefix of some gateways. */
function wordOf(status: string): string {
	const word = status
		.trim()
		.slice(0, LONGEST_STATUS)
		.toLowerCase()
		.replace(/(?<=\S)[ _-](?=\S)/g, '');
	return word.replace(/^taskstatus/, '');
}

/** Whether a gateway says that it doesn't know the task, which may be too old. */
export const isUnknownWord = (status: string): boolean =>
	['unknown', 'tasknotfound', 'notfound'].includes(wordOf(status));

/** Whether a status says that some of the images are missing. */
export const isPartial = (status: string): boolean => PARTIAL.test(wordOf(status));

/** Whether a status is the word that is also used for a request that has failed. */
export const isErrorWord = (status: string): boolean => wordOf(status) === 'error';

/**
 * The group of a status as a gateway spells it, whatever its case and separators: by the whole word, else
 * by a part that tells its meaning. Any other status is neither a success nor a failure.
 */
export function statusGroup(status: unknown): StatusGroup {
	if (typeof status !== 'string') return 'unknown';
	const word = wordOf(status);
	const group = groupBySpelling.get(word);
	if (group !== undefined) return group;
	if (PARTIAL.test(word)) return 'success';
	return FAILURE.test(word) && !GOING_ON.test(word) ? 'unsuccessful' : 'unknown';
}

/** Whether a task of this group is final. */
export function isFinished(group: StatusGroup): boolean {
	return group === 'success' || group === 'unsuccessful';
}
