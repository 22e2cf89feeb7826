import { isFinished, isUnknownWord, statusGroup } from '../../../gateway/protocol/status.js';

const SPELLINGS = {
	queued: 'waiting',
	pending: 'waiting',
	processing: 'working',
	in_progress: 'working',
	running: 'working',
	completed: 'success',
	succeeded: 'success',
	success: 'success',
	failed: 'unsuccessful',
	cancelled: 'unsuccessful',
};

/** Those of gateways that aren't the protocol's. */
const OTHER_SPELLINGS = {
	waiting: ['submitted', 'not_start', 'accepted', 'created', 'in_queue', 'scheduled'],
	working: ['generating', 'starting'],
	success: ['succeed', 'complete', 'done', 'finished', 'ready', 'ok'],
	unsuccessful: [
		...['canceled', 'fail', 'failure', 'error', 'expired', 'timeout', 'timed_out', 'rejected'],
		'aborted',
	],
};

describe.each(Object.entries(OTHER_SPELLINGS))(
	'other spellings in the group %s',
	(group, words) => {
		test.each(words)('%s', (word) => {
			expect(statusGroup(word)).toBe(group);
			expect(statusGroup(` ${word.toUpperCase()}\n`)).toBe(group);
			expect(statusGroup(word.replaceAll('_', ' '))).toBe(group);
			expect(statusGroup(word.replaceAll('_', '-'))).toBe(group);
			expect(statusGroup(word.replaceAll('_', ''))).toBe(group);
			expect(statusGroup(`TASK_STATUS_${word.toUpperCase()}`)).toBe(group);
			expect(statusGroup(`task-status-${word}`)).toBe(group);
		});
	},
);

describe.each(Object.entries(SPELLINGS))('the status %s', (spelling, group) => {
	test.each([
		spelling,
		spelling.toUpperCase(),
		spelling[0].toUpperCase() + spelling.slice(1),
		` ${spelling}\t`,
		`\n${spelling.toUpperCase()} `,
	])(`%j is ${group}`, (status) => {
		expect(statusGroup(status)).toBe(group);
	});
});

test.each([
	'reviewing',
	'in  progress',
	'succeeded!',
	'',
	'  ',
	'constructor',
	'__proto__',
	null,
	undefined,
	0,
	true,
	{},
	['completed'],
])('%j is neither success nor failure', (status) => {
	expect(statusGroup(status)).toBe('unknown');
});

test.each([
	['UNKNOWN', true],
	[' unknown ', true],
	['TASK_STATUS_UNKNOWN', true],
	['unknown_error', false],
	['', false],
])('%j says that the gateway does not know the task: %j', (status, says) => {
	expect(isUnknownWord(status)).toBe(says);
	expect(statusGroup(status)).toBe('unknown');
});

test('only success and failure are final', () => {
	const groups = ['waiting', 'working', 'success', 'unsuccessful', 'unknown'] as const;
	expect(groups.filter(isFinished)).toEqual(['success', 'unsuccessful']);
});
