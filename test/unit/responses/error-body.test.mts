import { errorIn, isGatewayError, needsHttps } from '../../../gateway/responses/errorBody.js';
import type { HttpResponse } from '../../../gateway/protocol/outcome.js';

const response = (httpCode: number, json?: unknown, text = ''): HttpResponse => ({
	kind: 'response',
	httpCode,
	headers: {},
	text,
	json,
});
const fault = { kind: 'fault', fault: 'reset', text: '', sent: 'unknown' } as never;
const unknownTask = { error: { message: 'no such task' } };

test.each<[unknown, boolean]>([
	[unknownTask, true],
	[{ error: { message: '' } }, false],
	[{ error: 'no such task' }, false],
	[{ message: 'no such task' }, false],
	[[unknownTask], false],
])('%j is an error in the form of the gateway: %j', (json, is) => {
	expect(isGatewayError(response(404, json))).toBe(is);
});

test('a network fault is no error of the gateway, and says nothing about a task', () => {
	expect(isGatewayError(fault)).toBe(false);
	expect(isGatewayError({ ...(fault as object), json: unknownTask } as never)).toBe(false);
});

test.each<[object, string | undefined]>([
	[{ code: 402, message: 'no credit' }, '402 no credit'],
	[{ code: 599 }, '599'],
	[{ code: 600, message: 'no credit' }, 'no credit'],
	[{ code: 399, message: 'no credit' }, 'no credit'],
	[{ code: 'refused', message: 'no credit' }, 'no credit'],
	[{}, undefined],
])('the error in %j is %j', (body, said) => {
	expect(errorIn({ ...body })).toBe(said);
});

test.each([
	[400, undefined, 'Client sent an HTTP request to an HTTPS server.', true],
	[400, undefined, `${' '.repeat(2000)}HTTPS`, false],
	[400, { error: 'HTTPS' }, '{"error":"HTTPS"}', false],
	[404, undefined, 'an HTTPS server', false],
])('%i with %j and the text %j: expects https: %j', (httpCode, json, text, expects) => {
	expect(needsHttps(response(httpCode, json, text))).toBe(expects);
});
