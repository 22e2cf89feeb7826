/** Why items have failed, in one line. */
import { describeReasons, reasonIn } from '../../../nodes/shared/errors/failureReasons.js';

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
	["no size '512x512' at 2k", "no size '768x512' at 4k"],
])('%j is the reason of %j', (one, other) => {
	expect(reasonIn(one)).toBe(reasonIn(other));
});

test.each([
	['refused (400)', 'invalid (400)'],
	["no model 'aurora'", "no model 'studio'"],
])('%j is another reason than %j', (one, other) => {
	expect(reasonIn(one)).not.toBe(reasonIn(other));
});

test('neither the ID of a task nor an address is a reason: the text is that of the first', () => {
	const items = ['a', 'b'].map((name) => {
		const url = `https://x/${name}`;
		return failed(`The task 1${name} failed: ${url} is gone`, { url });
	});
	expect(describeReasons(items)).toBe('The task 1a failed: https://x/a is gone');
});

const inLetters = (number: number): string =>
	String(number).replace(/\d/g, (digit) => 'abcdefghij'.charAt(Number(digit)));

test('of a thousand reasons three are told, and the others counted', () => {
	const items = Array.from({ length: 1000 }, (_, at) => failed(`reason ${inLetters(at)}`));
	const text = describeReasons([failed('common'), failed('common'), ...items]);
	expect(text).toMatch(/^2 × common, 1 × reason a, 1 × reason b, 998 × other reasons$/);
});
