import { isFinished, statusGroup } from '../../../gateway/protocol/status.js';

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
	'canceled',
	'complete',
	'in progress',
	'in-progress',
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

test('only success and failure are final', () => {
	const groups = ['waiting', 'working', 'success', 'unsuccessful', 'unknown'] as const;
	expect(groups.filter(isFinished)).toEqual(['success', 'unsuccessful']);
});
