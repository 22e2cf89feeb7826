/** The number of a request, which the gateway's support asks for. */
import { readRequestId, withRequestId } from '../../../gateway/responses/requestId.js';

test('the gateway’s own before those of proxies', () => {
	const all = { 'cf-ray': 'd', 'x-litellm-call-id': 'c', 'request-id': 'b', 'x-request-id': 'a' };
	const found: unknown[] = [];
	for (const name of Object.keys(all).reverse()) {
		found.push(readRequestId(all));
		Reflect.deleteProperty(all, name);
	}
	expect(found).toEqual(['a', 'b', 'c', 'd']);
	expect(readRequestId(all)).toBeUndefined();
});

test.each([
	['a\r\nSet-Cookie: x', 'a'],
	[`req_${'x'.repeat(10_000)}\n`, `req_${'x'.repeat(124)}`],
	['<b>x</b>', '<b>x</b>'],
])('%j is %j', (value, id) => {
	expect(readRequestId({ 'x-request-id': value })).toBe(id);
});

test.each(['', ' ', '\n', 'ä', 7, {}, null, undefined])(
	'%j is none: the next one counts',
	(value) => {
		expect(readRequestId({ 'x-request-id': value, 'cf-ray': 'ray' })).toBe('ray');
	},
);

test('as the end of a text', () => {
	expect(withRequestId('Try again.', 'req_1')).toBe('Try again. (request ID req_1)');
	expect(withRequestId('Try again.')).toBe('Try again.');
});
