/** Why items have failed, in one line. */
import { describeReasons, reasonIn } from '../../../nodes/shared/run/failureReasons.js';

const failed = (error: string, details: object = {}) => [
	{ json: { error, details: { charged: 'no' as const, ...details } } },
];

test.each([
	[
		'The gateway was unavailable (503) (tried 3 times)',
		'The gateway was unavailable (503) (tried 6 times)',
	],
	['busy, try again in 3.5 s', 'busy, try again in 12 s'],
	['refused (request id: 2026abc)', 'refused (request id: 2027def)'],
	['busy until 2026-11-28T03:00:01Z', 'busy until 2026-11-28T03:00:07.25+01:00'],
	[
		'Limit 5, Used 3, Requested 1. Please try again in 12s.',
		'Limit 5, Used 5, Requested 2. Please try again in 24s.',
	],
])('%j is the reason of %j', (one, other) => {
	expect(reasonIn(one)).toBe(reasonIn(other));
});

test.each([
	['refused (400)', 'refused (401)'],
	['Limit 5, Used 5', 'Limit 50, Used 5'],
	["no model 'a-2'", "no model 'a-3'"],
])('%j is another reason than %j', (one, other) => {
	expect(reasonIn(one)).not.toBe(reasonIn(other));
});

test('the ID of a task is no reason', () => {
	const items = ['t1', 't2'].map((taskId) => failed(`The task ${taskId} failed: no`, { taskId }));
	expect(describeReasons(items)).toBe('The task … failed: no');
});

test('of a thousand reasons three are told, and the others counted', () => {
	const items = Array.from({ length: 1000 }, (_, at) => failed(`reason ${at}`));
	const text = describeReasons([failed('common'), failed('common'), ...items]);
	expect(text).toMatch(/^2 × common, 1 × reason 0, 1 × reason 1, 998 × other reasons$/);
});
