import { isPartial, isUnknownWord, statusGroup } from '../../../gateway/protocol/status.js';

/** Those of the protocol, and of other gateways. */
const WORDS = {
	waiting: ['queued', 'pending', 'submitted', 'not_start', 'accepted', 'created', 'in_queue'],
	working: ['processing', 'in_progress', 'running', 'generating', 'starting'],
	success: ['completed', 'succeeded', 'success', 'succeed', 'complete', 'done', 'finished', 'ok'],
	unsuccessful: ['failed', 'cancelled', 'canceled', 'fail', 'failure', 'error', 'expired'],
};
const RARER_WORDS = {
	waiting: ['scheduled', 'waiting'],
	success: ['ready'],
	unsuccessful: [
		...[
			'timeout',
			'timed_out',
			'rejected',
			'aborted',
			'terminated',
			'incomplete',
			'nsfw',
			'unsafe',
		],
		...['stopped', 'killed', 'revoked', 'invalid', 'flagged', 'deleted'],
	],
};

test.each(
	[WORDS, RARER_WORDS].flatMap((words) =>
		Object.entries(words).flatMap(([group, some]) => some.map((word) => [word, group] as const)),
	),
)('%s in any spelling is %s', (word, group) => {
	const capital = word[0]!.toUpperCase() + word.slice(1);
	const words = [word, capital, ` ${word.toUpperCase()}\n`, `TASK_STATUS_${word.toUpperCase()}`];
	const apart = [' ', '-', ''].map((between) => word.replaceAll('_', between));
	for (const status of [...words, ...apart, `task-status-${word}`]) {
		expect(statusGroup(status)).toBe(group);
	}
});

test.each([...['', 'constructor', '__proto__', null, undefined, 0], ...[true, {}, ['completed']]])(
	'%j is neither success nor failure',
	(status) => {
		expect(statusGroup(status)).toBe('unknown');
	},
);

test.each([
	['UNKNOWN', true],
	['TASK_STATUS_UNKNOWN', true],
	['unknown_error', false],
	['', false],
])('%j says that the gateway does not know the task: %j', (status, says) => {
	expect(isUnknownWord(status)).toBe(says);
	expect(statusGroup(status)).toBe('unknown');
});

test.each([
	...['Request Moderated', 'Content Moderated', 'GENERATE_FAILED', 'nsfw', 'blocked', 'terminated'],
	...['incomplete', 'policy_violation', 'access denied', 'refused', 'auto-rejected', 'failed_nsfw'],
])('%s is unsuccessful by its meaning', (word) => {
	expect(statusGroup(word)).toBe('unsuccessful');
});

test.each(['partial_success', 'Partially Completed', 'partially_failed', 'partial'])(
	'%s is a success with some of its images',
	(word) => {
		expect(statusGroup(word)).toBe('success');
		expect(isPartial(word)).toBe(true);
	},
);

test('a task that is not found is none that has failed, and a long text is no word', () => {
	expect(isUnknownWord('Task not found')).toBe(true);
	expect(statusGroup('Task not found')).toBe('unknown');
	expect(statusGroup(`${'x'.repeat(10_000)} failed`)).toBe('unknown');
	expect(isPartial('partial results of a page')).toBe(false);
});

test.each(['moderating', 'pending_moderation', 'in moderation', 'blocked_in_queue'])(
	'%s is still going on',
	(word) => expect(statusGroup(word)).toBe('unknown'),
);
