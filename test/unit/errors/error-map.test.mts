import { errorFor, gatewayMessage } from '../../../gateway/errors/errorFor.js';
import { quote } from '../../../util/text.js';
import type { HttpResponse, Outcome } from '../../../gateway/protocol/outcome.js';
import type { Fault } from '../../../gateway/protocol/networkFault.js';
import {
	planDownload,
	planImages,
	planTaskQuery,
	type RequestPlan,
} from '../../../gateway/protocol/requestPlan.js';
import { planModelList } from '../../../gateway/models/models.js';
import { planMessage } from '../../../gateway/messages/message.js';
import { withDetails } from '../../../gateway/protocol/gatewayError.js';
import { withPlaces } from '../../../nodes/shared/errors/settingPlaces.js';
import { response, fault, page, TOO_OFTEN } from '../virtual-gateway.mjs';

const request = { model: 'painter', prompt: 'a red boat' };
const sync = planImages('generation', request);
const submit = planImages('generation', request, 'query');
const path = planImages('generation', request, 'path');
const edit = planImages('edit', { ...request, files: [] }, 'query');
const poll = planTaskQuery('generation', 't1');
const message = planMessage({
	model: 'thinker',
	max_tokens: 9,
	messages: [{ role: 'user', content: 'hi' }],
});
const sampled: RequestPlan = { ...message, body: { ...message.body, temperature: 1, top_p: 0.5 } };
const asking = (body: object): RequestPlan => ({ ...message, body: { ...body } });
const continued = { messages: [{ role: 'assistant', content: [{ type: 'thinking' }] }] };
const legacy = { model: 'm-nothinking', thinking: { type: 'enabled' } };

const saying = (httpCode: number, text: string) =>
	response(httpCode, { error: { message: text, type: 'invalid_request_error' } });
const budget = { error: { message: 'Current cost: 5', type: 'budget_exceeded', code: '400' } };

const at = (path: string, outcome: Outcome): Outcome =>
	outcome.kind === 'response' ? { ...outcome, url: `https://g.example${path}` } : outcome;

/** What a person reads. */
const words = (plan: RequestPlan, outcome: Outcome, attempts?: number): string => {
	const { problem } = errorFor(plan, outcome, attempts);
	return `${problem.message} | ${withPlaces(problem)}`;
};

/** As gateways word it. */
const NO_FLAG = "Unknown parameter: 'async'.";
const NO_THINKING = 'The `content[].thinking` in the thinking mode must be passed back to the API.';
const NO_MODEL = 'The model or endpoint paint-9 does not exist or you do not have access to it.';
const NO_CHANNEL = {
	message: 'No available channel for model paint-9 under group default (distributor)',
	...{ type: 'new_api_error', code: 'model_not_found' },
};
const NO_ENDPOINT = 'No endpoints found for deepseek/deepseek-chat-v3.1:free.';
const NO_HEADER = 'Either x-config or x-provider header is required';
const ENDPOINT = '/api/v1/images/generations?async=true';
const gone = at(ENDPOINT, saying(404, `Invalid URL (POST ${ENDPOINT})`));
const moved = response(307, {}, { location: 'https://b.example/' });

test.each<[string, RequestPlan, Outcome, RegExp]>([
	['400', sync, saying(400, 'size'), /\(400\): size \| Check the model.*You weren't charged/],
	['401', sync, saying(401, 'who?'), /rejected the API key \(401\): who\? \| Check the API key/],
	['403', sync, response(403), /doesn't allow this request \(403\) \| .*console/],
	['404 of a task', poll, saying(404, 'gone'), /\(404\): gone \| .*or another account/],
	[
		'404 of a server in front, for a task',
		poll,
		page(404, '<html>'),
		/404 and .* \| This says nothing about the task\. Check .* See 'Base URL' in/,
	],
	['413', sync, response(413), /too large for the gateway \(413\) \| Shorten the text/],
	[
		'429 for haste',
		sync,
		response(429, TOO_OFTEN),
		/\| Send fewer .*charged for this request\. See 'Requests per Second' and 'Concurrency' in the options/,
	],
	// The node that lists models has no such options.
	['429 of a list', planModelList(), response(429, TOO_OFTEN), /\| Try again later\.$/],
	['429 for quota', sync, saying(429, 'insufficient quota'), /Insufficient .* \| Top up/],
	[
		'401 of a message without quota',
		message,
		saying(401, '该令牌额度已用尽'),
		/Insufficient .*\(401\)/,
	],
	['402', sync, response(402, { code: 402, msg: 'none' }), /Insufficient .*: none \| Top up/],
	['400 for a budget', sync, response(400, budget), /Insufficient .*: Current cost: 5 \| Top up/],
	[
		'400 for the flag',
		submit,
		saying(400, NO_FLAG),
		/mode \(400\): .* \| Send it synchronously.* See 'Synchronous'/,
	],
	[
		'400 for tasks',
		submit,
		saying(400, 'No asynchronous calls here'),
		/mode \(400\): .*'Synchronous'/,
	],
	[
		'404 for the flag',
		path,
		saying(404, 'Invalid URL'),
		/mode \(404\): .* See 'Synchronous' under 'Mode', or 'Asynchronous Flag' under/,
	],
	[
		'404 that echoes it',
		submit,
		gone,
		/Check the base URL.*led to https:\/\/g.example\/api\/v1\/im/,
	],
	[
		'404 of Ark for a model',
		submit,
		saying(404, NO_MODEL),
		/available to .*\(404\): .*of the model/,
	],
	['the same of an edit', edit, saying(404, NO_MODEL), /available to .*\(404\): .*of the model/],
	[
		'the same of a message',
		message,
		saying(404, NO_MODEL),
		/available to .*\(404\): .*of the model/,
	],
	[
		'503 of new-api',
		submit,
		response(503, { error: NO_CHANNEL }),
		/available to .*\(503\): No avail.*of the model/,
	],
	['404 of OpenRouter', message, saying(404, NO_ENDPOINT), /available to .*\(404\): No endp/],
	[
		'404 of an edit',
		edit,
		at('/v1/images/edits', saying(404, 'no')),
		/another image API.* See 'Image API'/,
	],
	['415 of an edit', edit, saying(415, 'no'), /doesn't take this edit \(415\): no \| /],
	['400 for a header', sync, saying(400, NO_HEADER), /\(400\): Either .*'Additional Headers'/],
	['400 for a flag not set', sync, saying(400, NO_FLAG), /rejected the request \(400\)/],
	['500 of a poll', poll, saying(500, 'oops'), /checking .*\(500\): oops \| Try again later/],
	['307', sync, moved, /\(307\) \| The API key isn't sent.*https:\/\/b.example\/ is your/],
	[
		'a web page',
		poll,
		page(200, '<html>'),
		/a web page instead of JSON \| Check the base URL.* See 'Base URL' in the Media Gateway/,
	],
	['an empty body', poll, page(200, ' '), /responded with an empty body/],
	['half a document', poll, page(200, '{"id'), /responded with a body that isn't JSON/],
	[
		'no key',
		message,
		saying(401, 'No token provided'),
		/provided \| .*another form.*See 'API Key' .*'Message Authentic/,
	],
	['a disabled key', message, saying(401, 'this key is not enabled'), /\| .*whether it is enabled/],
	[
		'a placeholder',
		message,
		saying(401, 'invalid key'),
		/\| Check the API key.* See 'API Key' in the Media Gat/,
	],
	['a key of another form', message, saying(401, 'no'), /rejected the API key.*'Authorization: B/],
	[
		'a wrong model',
		message,
		saying(400, 'Incorrect model ID'),
		/\| Check the spelling of the model/,
	],
	['sampling', sampled, saying(400, 'unsupported'), /Remove temperature, top_p and try again/],
	['sampling, without a word', sampled, response(400, {}), /Remove temperature, top_p and/],
	['sampling, but something else', sampled, saying(400, 'Too long'), /^(?!.*Remove)/],
	['no sampling', message, saying(400, 'unsupported'), /^(?!.*Remove)/],
	[
		'missing thinking',
		message,
		saying(400, NO_THINKING),
		/needs its earlier thinking.* Turn thinking off/,
	],
	['changed thinking', asking(continued), saying(400, 'Invalid signature'), /sent back unchanged/],
	['the legacy form', asking(legacy), saying(400, 'no'), /ends in "-nothinking".* legacy form/],
])('%s', (_name, plan, outcome, expected) => {
	expect(words(plan, outcome)).toMatch(expected);
	expect(errorFor(plan, outcome)).not.toMatchObject({ code: 'outcomeUnknown' });
	expect(errorFor(plan, outcome).problem.httpCode).toBe((outcome as HttpResponse).httpCode);
});

test.each<[Fault, RegExp]>([
	['refused', /connection to the gateway was refused.* \| Check the base URL/],
	['notFound', /host name of the gateway was not found.* \| Check the base URL/],
	['invalidAddress', /address is invalid.* \| Check the base URL/],
	[
		'certificate',
		/certificate isn't trusted.* \| .*allow it\. See 'Allow Self-Signed Certificates'/,
	],
	['reset', /connection was closed.* \| Try again later/],
	['timeout', /the request timed out.* \| .*increase the timeout\. See 'Timeout' in the options/],
	['tooLarge', /response is too large/],
	['other', /connection failed.* \| Try again later/],
])('the fault %s', (kind, expected) => {
	expect(words(poll, fault(kind))).toMatch(expected);
	expect(errorFor(poll, fault(kind)).problem).not.toHaveProperty('httpCode', expect.anything());
});

test('the code of a fault is told, and how often it was tried', () => {
	expect(words(poll, fault('reset', 'ECONNRESET'), 6)).toBe(
		'While checking the task status, the connection was closed before the response was complete (tried 6 times) | Try again later. (ECONNRESET)',
	);
	expect(words(poll, response(503), 6)).toMatch(/\(503\) \(tried 6 times\) \|/);
	expect(words(poll, response(503), 1)).not.toMatch(/tried/);
});

test.each<[string, Outcome]>([
	['a time-out', fault('timeout')],
	['a reset', fault('reset')],
	['500', saying(500, 'oops')],
	['an empty body', page(200, '')],
])('after %s the outcome of a paid request is unknown', (_name, outcome) => {
	for (const plan of [sync, submit, message]) {
		const error = withDetails(errorFor(plan, outcome), { taskId: 't1' });
		expect(error).toMatchObject({ code: 'outcomeUnknown' });
		expect(error.message).toMatch(/^The outcome is unknown: while \w+/);
		expect(error.problem.description).toMatch(/wasn't sent again.*usage log/);
		expect(error.message).not.toMatch(/undefined|\[object/);
		expect(error.problem).toMatchObject({ taskId: 't1', message: error.message });
	}
	expect(errorFor(poll, outcome)).not.toMatchObject({ code: 'outcomeUnknown' });
});

test.each<[Record<string, string>, string]>([
	[{ 'retry-after': '30' }, 'Retry after 30 s. Send fewer'],
	[{ 'retry-after': '7200' }, 'Retry after 2 h 0 min. '],
	[{ 'retry-after': '7500' }, 'Retry after 2 h 5 min. '],
	[{ 'retry-after': '7100' }, 'Retry after 119 min. '],
	[{ 'retry-after': '0' }, 'Send fewer'],
	[{ 'x-ratelimit-reset': '7' }, 'Send fewer'],
	[{ 'retry-after': 'soon' }, 'Send fewer'],
])('the pause that a rate limit asks for by %j: "%s …"', (headers, start) => {
	const { description } = errorFor(sync, response(429, TOO_OFTEN, headers)).problem;
	expect(description.startsWith(start)).toBe(true);
});

describe("the gateway's own words", () => {
	test.each<[unknown, string | undefined]>([
		[{ error: { message: 'a', type: 'b' } }, 'a'],
		[{ error: { message: '' }, message: 'a' }, 'a'],
		[{ detail: 'a' }, 'a'],
		[{ result: { error: { error_msg: 'a' } } }, 'a'],
		[{ error: { code: 'a' } }, 'a'],
		[{ error: { message: 'Incorrect key sk-abcDEF123456 given' } }, 'Incorrect key … given'],
		[{ error: { message: 'got "Bearer abcdefgh12345678=="' } }, 'got "Bearer …"'],
		[{ error: { message: 'task-sk1 and risk-averse' } }, 'task-sk1 and risk-averse'],
		[{ error: { message: { text: 'a' } } }, undefined],
		[{ data: 'https://images.example/1.png', output: ['a'] }, undefined],
		['a', 'a'],
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
		['<script>alert(1)</script>', 'alert(1)'],
		['<img src=x onerror=alert(1)', ''],
		['<<b>script>x', '< script>x'],
		['width < 10 and height > 5', 'width < 10 and height > 5'],
		['one\r\n\ttwo\u0000three\u001b[31m\u0085four', 'one two three [31m four'],
	])('%j is shown as %j', (text, shown) => {
		expect(quote(text)).toBe(shown);
	});

	test.each([
		[{ message: 'no', type: 'invalid_request_error' }, 'invalid_request_error'],
		[{ message: 'no', type: 'x'.repeat(5000) }, expect.stringMatching(/^x{10,600}…?$/)],
		[{ message: 'no', type: { of: 'what' } }, undefined],
		['no', undefined],
	])('the kind in %j', (error, expected) => {
		for (const plan of [submit, message]) {
			expect(errorFor(plan, response(400, { error })).problem.errorType).toEqual(expected);
		}
		const unclear = errorFor(submit, response(500, { error })).problem;
		expect(unclear).toMatchObject({ errorType: expected });
		expect(
			errorFor(planDownload('https://cdn.example/a'), response(400, { error })).problem.errorType,
		).toBeUndefined();
	});

	test('nothing of the response but its words is in an error', () => {
		const body = { error: { message: '<i>no</i>\u0007' }, secret: 'sk-123456789' };
		const outcome = response(400, body, { 'set-cookie': 'session=1' });
		const { problem } = errorFor(planDownload('https://cdn.example/a'), outcome);
		expect(JSON.stringify(problem)).not.toMatch(/sk-1|session|<|\\u0007/);
	});
});
