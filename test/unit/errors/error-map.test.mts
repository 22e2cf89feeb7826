import { errorFor, gatewayMessage } from '../../../gateway/errors/errorMessages.js';
import { quote } from '../../../gateway/util/text.js';
import type { HttpResponse, Outcome } from '../../../gateway/protocol/outcome.js';
import type { Fault } from '../../../gateway/protocol/networkFault.js';
import {
	planDownload,
	planEdit,
	planGeneration,
	planTaskQuery,
	type RequestPlan,
} from '../../../gateway/protocol/requestPlan.js';
import { planMessage } from '../../../gateway/messages/message.js';
import { UnknownOutcomeError, withDetails } from '../../../gateway/util/gatewayError.js';
import { response, fault, page, TOO_OFTEN } from '../virtual-gateway.mjs';

const request = { model: 'painter', prompt: 'a red boat' };
const sync = planGeneration(request);
const submit = planGeneration(request, 'query');
const poll = planTaskQuery('generation', 't1');
const message = planMessage({
	model: 'thinker',
	max_tokens: 9,
	messages: [{ role: 'user', content: 'hi' }],
});
const sampled: RequestPlan = { ...message, body: { ...message.body, temperature: 1, top_p: 0.5 } };

const saying = (httpCode: number, text: string) =>
	response(httpCode, { error: { message: text, type: 'invalid_request_error' } });

const at = (url: string, outcome: Outcome): Outcome =>
	outcome.kind === 'response' ? { ...outcome, url } : outcome;

/** What a person reads. */
const words = (plan: RequestPlan, outcome: Outcome, attempts?: number): string => {
	const { problem } = errorFor(plan, outcome, attempts);
	return `${problem.message} | ${problem.description}`;
};

describe('the statuses of the protocol', () => {
	test.each<[string, RequestPlan, Outcome, RegExp]>([
		['400', sync, saying(400, 'bad size'), /rejected the request \(400\): bad size \| Check the model.*You weren't charged/], // prettier-ignore
		['401', sync, saying(401, 'who?'), /rejected the API key \(401\): who\? \| Check the API key/],
		['403', sync, response(403), /doesn't allow this request \(403\) \| .*console/],
		['404 of a task', poll, saying(404, 'gone'), /\(404\): gone \| The gateway no longer has the task, or another account submitted it/], // prettier-ignore
		['413', sync, response(413), /too large for the gateway \(413\) \| Shorten the text/],
		['429 for haste', sync, response(429, TOO_OFTEN), /Rate limit exceeded \(429\).* \| Lower 'Requests per Second'.*weren't charged/], // prettier-ignore
		['429 for quota', sync, saying(429, 'insufficient quota'), /Insufficient quota \(429\): insufficient quota \| Top up/], // prettier-ignore
		['402', sync, response(402, { code: 402, msg: 'no credits' }), /Insufficient quota \(402\): no credits \| Top up.*weren't charged/], // prettier-ignore
		[
			'400 for a budget',
			sync,
			response(400, {
				error: { message: 'Current cost: 5', type: 'budget_exceeded', code: '400' },
			}),
			/Insufficient quota \(400\): Current cost: 5 \| Top up/,
		],
		[
			'400 for the asynchronous flag',
			submit,
			saying(400, "Unknown parameter: 'async'."),
			/rejected the asynchronous mode \(400\): Unknown parameter: 'async'\. \| Set 'Mode' to 'Synchronous', .*weren't charged/,
		],
		[
			'404 at the path for tasks',
			planGeneration(request, 'path'),
			saying(404, 'Invalid URL'),
			/rejected the asynchronous mode \(404\): Invalid URL \| .*another 'Asynchronous Flag'/,
		],
		[
			'404 that echoes the address with the flag',
			submit,
			at(
				'https://g.example/api/v1/images/generations?async=true',
				saying(404, 'Invalid URL (POST /api/v1/images/generations?async=true)'),
			),
			/Not found .*\(404\).* \| Check 'Base URL' .*led to https:\/\/g\.example\/api\/v1\/images\/gen/,
		],
		...[404, 415].map((code): [string, RequestPlan, Outcome, RegExp] => [
			`${code} of an edit`,
			planEdit({ ...request, files: [] }, 'query'),
			at('https://g.example/v1/images/edits', saying(code, 'no')),
			/doesn't take this edit \(\d+\): no \| Choose another 'Edit Format' under 'Gateway Settings'/,
		]),
		[
			'400 for a header that is missing',
			sync,
			saying(400, 'Either x-config or x-provider header is required'),
			/\(400\): Either .* \| If it needs another header, add it as 'Additional Headers'/,
		],
		['400 for the flag in a synchronous request', sync, saying(400, "Unknown parameter: 'async'."), /rejected the request \(400\)/], // prettier-ignore
		['500 of a poll', poll, saying(500, 'oops'), /while checking the task status, .*unavailable \(500\): oops \| Try again later/i], // prettier-ignore
		[
			'307',
			sync,
			response(307, {}, { location: 'https://new.example/' }),
			/redirected to another address \(307\) \| The API key isn't sent.*https:\/\/new\.example\/ is your/,
		],
		['a web page', poll, page(200, '<html>'), /responded with a web page instead of JSON \| Check 'Base URL'/], // prettier-ignore
		['an empty body', poll, page(200, ' '), /responded with an empty body/],
		['half a document', poll, page(200, '{"id'), /responded with a body that isn't JSON/],
	])('%s', (_name, plan, outcome, expected) => {
		expect(words(plan, outcome)).toMatch(expected);
		expect(errorFor(plan, outcome)).not.toBeInstanceOf(UnknownOutcomeError);
		expect(errorFor(plan, outcome).problem.httpCode).toBe((outcome as HttpResponse).httpCode);
	});
});

describe('the cases of the message endpoint', () => {
	test.each<[string, RequestPlan, Outcome, RegExp]>([
		['no key sent', message, saying(401, 'No token provided'), /received no API key.*\(401\): No token provided \| Change 'Message Authentication'/], // prettier-ignore
		['a disabled key', message, saying(401, 'this key is not enabled'), /disabled, expired or out of quota \(401\): this key is not enabled \| Enable, renew or top up/], // prettier-ignore
		['a wrong model', message, saying(400, 'Incorrect model ID'), /model isn't available.*\(400\): Incorrect model ID \| Check the spelling of 'Model'/], // prettier-ignore
		['sampling parameters', sampled, saying(400, 'unsupported'), /rejected the request \(400\): unsupported \| .*Remove temperature, top_p from the options/], // prettier-ignore
		[
			'changed thinking blocks',
			{
				...message,
				body: { messages: [{ role: 'assistant', content: [{ type: 'thinking' }] }] },
			},
			saying(400, 'Invalid signature'),
			/\(400\): Invalid signature \| Thinking blocks must be sent back unchanged/,
		],
		[
			'thinking that the name contradicts, in the legacy form',
			{ ...message, body: { model: 'm-nothinking', thinking: { type: 'enabled' } } },
			saying(400, 'no'),
			/\(400\): no \| The model name ends in "-nothinking".* legacy form/,
		],
		[
			'another 401, which may mean that the key was sent in the wrong form',
			message,
			saying(401, 'no'),
			/rejected the API key \(401\): no \| .*change 'Message Authentication'.*'Authorization: Bearer'/,
		],
	])('%s', (_name, plan, outcome, expected) => {
		expect(words(plan, outcome)).toMatch(expected);
	});
});

describe('faults', () => {
	test.each<[Fault, RegExp]>([
		['refused', /connection to the gateway was refused.* \| Check 'Base URL'/],
		['notFound', /host name of the gateway was not found.* \| Check 'Base URL'/],
		['invalidAddress', /address is invalid.* \| Check 'Base URL'/],
		['certificate', /the server's certificate isn't trusted.* \| .*'Allow Self-Signed Certificates'/], // prettier-ignore
		['reset', /connection was closed.* \| Try again later/],
		['timeout', /the request timed out.* \| .*increase 'Timeout'/],
		['tooLarge', /response is too large/],
		['other', /connection failed.* \| Try again later/],
	])('%s', (kind, expected) => {
		expect(words(poll, fault(kind))).toMatch(expected);
		expect(errorFor(poll, fault(kind)).problem).not.toHaveProperty('httpCode', expect.anything());
	});

	test('the code is told, and how often it was tried', () => {
		expect(words(poll, fault('reset', 'ECONNRESET'), 6)).toBe(
			'While checking the task status, the connection was closed before the response was complete (tried 6 times) | Try again later. (ECONNRESET)',
		);
		expect(words(poll, response(503), 6)).toMatch(/\(503\) \(tried 6 times\) \|/);
		expect(words(poll, response(503), 1)).not.toMatch(/tried/);
	});
});

describe('a paid request whose outcome is unknown', () => {
	const unknown: Array<[string, Outcome]> = [
		['a time-out', fault('timeout')],
		['a reset', fault('reset')],
		['500', saying(500, 'oops')],
		['an empty body', page(200, '')],
	];

	test.each(unknown)('%s', (_name, outcome) => {
		for (const plan of [sync, submit, message]) {
			const error = errorFor(plan, outcome);
			expect(error).toBeInstanceOf(UnknownOutcomeError);
			expect(error.message).toMatch(/^The outcome is unknown: while \w+/);
			expect(error.problem.description).toMatch(/wasn't sent again.*usage log/);
			expect(error.message).not.toMatch(/undefined|\[object/);
		}
		expect(errorFor(poll, outcome)).not.toBeInstanceOf(UnknownOutcomeError);
	});

	test('stays what it is when more is known about it', () => {
		const error = withDetails(errorFor(submit, fault('reset')), { taskId: 't1' });
		expect(error).toBeInstanceOf(UnknownOutcomeError);
		expect(error.problem).toMatchObject({ taskId: 't1', message: error.message });
	});
});

describe('the pause that a rate limit asks for', () => {
	const advice = (headers: Record<string, string>): string =>
		errorFor(sync, { ...response(429, TOO_OFTEN), headers } as Outcome).problem.description;

	test.each<[string, Record<string, string>, string]>([
		['in seconds', { 'retry-after': '30' }, 'Retry after 30 s. Lower'],
		['of none', { 'retry-after': '0' }, 'Lower'],
		['in the header of a reset', { 'x-ratelimit-reset': '7' }, 'Retry after 7 s. Lower'],
		['unreadable', { 'retry-after': 'soon' }, 'Lower'],
	])('%s', (_, headers, start) => {
		expect(advice(headers).startsWith(start)).toBe(true);
	});
});

describe("the gateway's own words", () => {
	test.each<[unknown, string | undefined]>([
		[{ error: { message: 'a', type: 'b' } }, 'a'],
		[{ error: { message: '' }, message: 'a' }, 'a'],
		[{ detail: 'a' }, 'a'],
		[{ result: { error: { error_msg: 'a' } } }, 'a'],
		[{ error: { code: 'a' } }, 'a'],
		['a', 'a'],
		[{ error: { message: { text: 'a' } } }, undefined],
		[{ data: 'https://images.example/1.png', output: ['a'] }, undefined],
		[{}, undefined],
	])('in %j', (body, expected) => {
		expect(gatewayMessage(response(400, body) as HttpResponse)).toBe(expected);
	});

	test.each([
		['Bad Gateway\n', 'Bad Gateway'],
		['<html>Bad Gateway</html>', undefined],
		['', undefined],
	])('in a body that is no JSON: %j', (text, expected) => {
		expect(gatewayMessage(page(502, text) as HttpResponse)).toBe(expected);
	});

	test.each([
		['plain words', 'plain words'],
		['<script>alert(1)</script>', 'alert(1)'],
		['<img src=x onerror=alert(1)', ''],
		['<<b>script>x', '< script>x'],
		['width < 10 and height > 5', 'width < 10 and height > 5'],
		['one\r\n\ttwo\u0000three\u001b[31m\u0085four', 'one two three [31m four'],
	])('%j is shown as %j', (text, shown) => {
		expect(quote(text)).toBe(shown);
	});

	test.each([
		['Incorrect key sk-abcDEF123456 given', 'Incorrect key … given'],
		['got "Bearer abcdefgh12345678=="', 'got "Bearer …"'],
		['task-sk1 and risk-averse-people', 'task-sk1 and risk-averse-people'],
	])('show no key: %j', (text, shown) => {
		expect(gatewayMessage(saying(401, text) as HttpResponse)).toBe(shown);
	});

	test('nothing of the response but its words is in an error', () => {
		const outcome = response(
			400,
			{ error: { message: '<i>no</i>\u0007' }, secret: 'sk-123456789' },
			{
				'set-cookie': 'session=1',
			},
		);
		expect(
			JSON.stringify(errorFor(planDownload('https://cdn.example/a'), outcome).problem),
		).not.toMatch(/sk-1|session|<|\\u0007/);
	});
});
