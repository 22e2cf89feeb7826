import { reasonIn } from '../../../gateway/responses/errorBody.js';
import { is429ForQuota } from '../../../gateway/responses/quota.js';
import { response } from '../virtual-gateway.mjs';

test.each<[object, string]>([
	[
		{ statusCode: 400, error: 'Bad Request', message: 'seed must be a number' },
		'seed must be a number',
	],
	[
		{ error: 'Bad Request', message: ['seed must be a number', 'n is too large'] },
		'seed must be a number; n is too large',
	],
	[{ title: 'Unprocessable Entity', description: 'the style is unknown' }, 'the style is unknown'],
	[{ errors: [{ title: 'Invalid', description: 'the style is unknown' }] }, 'the style is unknown'],
	[{ error: 'invalid_request', fail_reason: 'the style is unknown' }, 'the style is unknown'],
	[{ error: { message: 'Forbidden', detail: 'this key may not draw' } }, 'this key may not draw'],
	// Where nothing says more, the phrase or the word is the reason.
	[{ status: 400, error: 'Bad Request' }, 'Bad Request'],
	[{ error: { message: 'blocked', code: 'policy' } }, 'blocked'],
	// One word in a script without spaces is a sentence.
	[{ error: '余额不足', message: 'see the console' }, '余额不足'],
])('the reason in %j is %j', (body, reason) => {
	expect(reasonIn(body)).toBe(reason);
});

test('a phrase does not hide that money is missing', () => {
	const body = { statusCode: 429, error: 'Too Many Requests', message: 'Insufficient balance' };
	expect(is429ForQuota(response(429, body))).toBe(true);
	expect(is429ForQuota(response(429, { ...body, message: 'Slow down, please' }))).toBe(false);
});
