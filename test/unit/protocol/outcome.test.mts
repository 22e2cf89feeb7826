import { errorFor } from '../../../gateway/errors/errorFor.js';
import { faultOf, type Connection, type Fault } from '../../../gateway/protocol/networkFault.js';
import {
	isGood,
	chargedAfter,
	withLocationAsBody,
	type Outcome,
} from '../../../gateway/protocol/outcome.js';
import {
	planImages,
	type FormFile,
	type RequestPlan,
} from '../../../gateway/protocol/requestPlan.js';
import { hasCode } from '../../../gateway/protocol/gatewayError.js';
import { keyConflict, withIdempotencyKey } from '../../../gateway/protocol/idempotency.js';
import { decideRetry, isTransient } from '../../../gateway/pace/retryPolicy.js';
import { Requests } from '../../../gateway/wire/inFlight.js';
import { accountOf } from '../../../gateway/protocol/account.js';
import type { Transport } from '../../../gateway/wire/transport.js';
import { response, fault, FIRST_ATTEMPT, page } from '../virtual-gateway.mjs';
import { createSendOnce } from '../../../gateway/wire/sendOnce.js';
import { faultFrom } from '../../../gateway/wire/faultFrom.js';

const submit = planImages('generation', { model: 'm', prompt: 'p' }, 'query');

/** As Node.js words what OpenSSL says. */
const eproto = (reason: string): string =>
	`write EPROTO 809C2FEF707F0000:error:0A000410:SSL routines:ssl3_read_bytes:${reason}:../deps/openssl/openssl/ssl/record/rec_layer_s3.c:1601:SSL alert number 40`;

const NO_TLS = 'Client network socket disconnected before secure TLS connection was established';

describe('what fails before the first byte is sent', () => {
	test.each<[string, string, Fault]>([
		['EAI_FAIL', 'getaddrinfo EAI_FAIL x', 'notFound'],
		['ETIMEDOUT', 'connect ETIMEDOUT 10.0.0.1:443', 'connectTimeout'],
		['EMFILE', 'connect EMFILE 10.0.0.1:443', 'unconnected'],
		['ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:3128', 'refused'],
		['', 'Proxy connection ended before receiving CONNECT response', 'unconnected'],
		['ECONNRESET', NO_TLS, 'unconnected'],
		['EPROTO', eproto('sslv3 alert handshake failure'), 'unconnected'],
		['EPROTO', eproto('wrong version number'), 'invalidAddress'],
		['EPROTO', eproto('certificate verify failed'), 'certificate'],
		['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', '', 'unconnected'],
		['CERT_REVOKED', '', 'certificate'],
		['INVALID_CA', '', 'certificate'],
		['ERR_INVALID_CHAR', 'Invalid character in header content ["x"]', 'invalidHeader'],
		['', 'Invalid value "undefined" for header "x-y"', 'invalidHeader'],
		['ERR_UNESCAPED_CHARACTERS', '', 'invalidAddress'],
		['', "SSL Issue: consider using the 'Ignore SSL issues' option", 'certificate'],
		['', 'The request was blocked because it resolves to a restricted IP address', 'blocked'],
		['', 'Domain not allowed: This credential is restricted from accessing x', 'blocked'],
	])('%s %s', (code, message, expected) => {
		const kind = faultOf(code || undefined, message);
		expect(kind).toBe(expected);
		expect(chargedAfter(fault(kind))).toBe('no');
		const error = errorFor(submit, fault(kind, code));
		expect(error).not.toMatchObject({ code: 'outcomeUnknown' });
		expect(`${error.message} ${error.problem.description}`).toMatch(/you weren't charged/i);
		const { again } = decideRetry({ ...FIRST_ATTEMPT, plan: submit, outcome: fault(kind) });
		expect(again).toBe(['refused', 'notFound', 'unconnected'].includes(kind));
	});

	test.each<[string, string]>([
		['ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC', ''],
		['ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', ''],
		['EPROTO', eproto('tlsv1 alert internal error')],
		['ECONNRESET', 'read ECONNRESET'],
		['ECONNRESET', 'socket hang up'],
		['ETIMEDOUT', 'read ETIMEDOUT'],
		['ECONNREFUSED', 'read ECONNREFUSED'],
		['HPE_INVALID_CONSTANT', 'Parse Error: Expected HTTP/'],
		['', 'The header was cut'],
		// A code that only contains a known one.
		['XECONNREFUSED', ''],
		['ENOTFOUNDX', ''],
		['XINVALID_CA', ''],
	])('may have come later, and stays unknown: %s %s', (code, message) => {
		const kind = faultOf(code || undefined, message);
		expect(chargedAfter(fault(kind))).toBe('maybe');
		expect(errorFor(submit, fault(kind))).toMatchObject({ code: 'outcomeUnknown' });
	});

	test.each<[string, string, Connection, Fault]>([
		['ECONNRESET', 'read ECONNRESET', 'pending', 'unconnected'],
		['ETIMEDOUT', 'read ETIMEDOUT', 'pending', 'connectTimeout'],
		['EPROTO', eproto('tlsv1 alert internal error'), 'pending', 'unconnected'],
		['EPROTO', eproto('tlsv1 alert protocol version'), 'open', 'other'],
		['ERR_CANCELED', 'canceled', 'pending', 'unconnected'],
		['ERR_SSL_WRONG_VERSION_NUMBER', '', 'pending', 'invalidAddress'],
		['ERR_SSL_WRONG_VERSION_NUMBER', '', 'open', 'other'],
	])('%s %s on a connection that is %s', (code, message, connection, expected) => {
		expect(faultOf(code, message, connection)).toBe(expected);
	});

	test('the socket of a request tells whether its connection was made', () => {
		const reset = (socket: object): Fault => {
			const cause = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
			return faultFrom(new Error('n8n', { cause: Object.assign(cause, { request: { socket } }) }))
				.fault;
		};
		expect(reset({ secureConnecting: true })).toBe('unconnected');
		expect(reset({ connecting: true })).toBe('unconnected');
		expect(reset({ connecting: false, _pendingData: 'POST /' })).toBe('unconnected');
		expect(reset({ connecting: false, _pendingData: null })).toBe('reset');
		expect(reset({})).toBe('reset');
	});
});

test('a full disk is not the network: nothing is asked for again', () => {
	const full = faultOf('ENOSPC', 'ENOSPC: no space left on device, write');
	expect([full, isTransient(fault(full))]).toEqual(['diskFull', false]);
});

test.each<[number, string, 'no' | 'maybe', string | undefined]>([
	[409, 'Idempotency key in use by another request', 'maybe', 'inProgress'],
	[409, 'another in-progress request using this Idempotency Key', 'maybe', 'inProgress'],
	[409, '{"code":"idempotency_key_in_use"}', 'maybe', 'inProgress'],
	[409, 'A request is outstanding for this Idempotency-Key', 'maybe', 'inProgress'],
	[409, 'a concurrent request has this idempotency key', 'maybe', 'inProgress'],
	[409, 'A request with this idempotency key is currently processing', 'maybe', 'inProgress'],
	[409, 'Idempotency key is locked', 'maybe', 'inProgress'],
	[409, 'the idempotent request has not finished', 'maybe', 'inProgress'],
	[
		409,
		'The request with this key has not yet been completed: still running',
		'maybe',
		'inProgress',
	],
	[422, 'idempotency: this request is still being processed', 'maybe', 'inProgress'],
	[425, 'the request with the same key is being processed', 'maybe', 'inProgress'],
	[429, 'the same key is in progress', 'maybe', 'inProgress'],
	[400, 'Idempotency-Key: already processing', 'maybe', 'inProgress'],
	[409, 'This key was already used with different parameters', 'maybe', 'used'],
	[409, 'The request with this Idempotency-Key was already processed', 'maybe', 'used'],
	[409, 'Idempotency-Key: request already completed', 'maybe', 'used'],
	[409, 'a request with the same key has been completed', 'maybe', 'used'],
	[425, 'idempotency conflict', 'maybe', 'used'],
	[429, 'Idempotency-Key was already used', 'maybe', 'used'],
	[422, 'Idempotency-Key reused with another payload', 'maybe', 'used'],
	[422, 'duplicate idempotency key', 'maybe', 'used'],
	[400, 'idempotency_key_mismatch', 'maybe', 'used'],
	[422, 'Keys for idempotent requests can only be used with the same parameters', 'maybe', 'used'],
	[409, '', 'no', undefined],
	[409, 'You have reached the maximum of 2 running generations', 'no', undefined],
	[409, 'Another generation is already running', 'no', undefined],
	[409, 'The model is being processed', 'no', undefined],
	[422, 'Idempotency-Key is missing', 'no', undefined],
	[425, 'Too Early', 'no', undefined],
	[429, 'Too many concurrent requests for this key', 'no', undefined],
	[429, 'Too many requests in progress for your API key', 'no', undefined],
	[400, 'Idempotency-Key is too long', 'no', undefined],
	[400, 'Idempotency-Key must match ^[A-Za-z0-9-]{1,36}$', 'no', undefined],
	[422, 'another size is needed', 'no', undefined],
	[401, 'Idempotency-Key of another account', 'no', undefined],
	[403, 'this Idempotency-Key is in use', 'no', undefined],
])('%i "%s" about the key of a payment: charged is %s', (httpCode, text, charged, conflict) => {
	const outcome = page(httpCode, text);
	expect(keyConflict(outcome as never)).toBe(conflict);
	expect([chargedAfter(outcome, 'sync', true), chargedAfter(outcome)]).toEqual([charged, 'no']);
});

const MODEL_GONE = '当前分组 default 下对于模型 x 无可用渠道 (request id: 1)';
test.each<[number, object, boolean]>([
	[503, { message: MODEL_GONE, type: 'one_api_error' }, true],
	[503, { message: 'No available channel for model x under group default', code: null }, true],
	[503, { message: 'no available channels for x', type: 'new_api_error' }, true],
	[503, { message: 'x', code: 'model_not_found' }, true],
	[500, { message: 'model x ratio or price not set', code: 'model_price_error' }, true],
	[500, { message: '模型 x 倍率或价格未配置' }, true],
	[500, { message: 'x', code: 'sensitive_words_detected' }, true],
	[500, { message: 'x', code: 'invalid_request' }, true],
	[500, { message: 'x', code: 'get_channel_failed' }, false],
	[500, { message: 'x', code: 'convert_request_failed' }, false],
	[500, { message: 'upstream timeout; 无可用渠道（retry）', code: 'get_channel_failed' }, false],
	[500, { message: 'no available channels for x', code: 'convert_request_failed' }, false],
	[500, { message: 'upstream timeout; no available channel for retry' }, false],
	[500, { message: 'x', type: 'invalid_request' }, false],
	[500, { message: 'the message invalid_request of another' }, false],
	[503, { message: 'upstream error' }, false],
	[503, { message: `${'x'.repeat(2000)} 无可用渠道` }, false],
])('a %i with %j says that it is a refusal: %s', (httpCode, error, refused) => {
	const outcome = response(httpCode, { error } as never);
	expect(chargedAfter(outcome) === 'no').toBe(refused);
	const problem = errorFor(submit, outcome);
	expect(hasCode(problem, 'outcomeUnknown')).toBe(!refused);
	if (refused) expect(problem.problem.description).toMatch(/charged|may use it/);
	if (refused) expect(problem.problem.description).not.toMatch(/Try again later/);
});

test('a page or a text that quotes such words is no refusal', () => {
	for (const text of [`<html>${MODEL_GONE}</html>`, MODEL_GONE, `"${MODEL_GONE}"`]) {
		expect(chargedAfter(page(503, text))).toBe('maybe');
	}
});

test.each<[string, object, RegExp]>([
	['content', { message: 'Rejected by our safety system' }, /refused the content \(403\)/],
	[
		'content by its code',
		{ message: 'no', code: 'content_policy_violation' },
		/refused the content/,
	],
	['content, in Chinese', { message: '提示词包含敏感词' }, /refused the content/],
	['money', { message: '预扣费额度失败, 用户剩余额度: ＄0.1' }, /Insufficient quota \(403\)/],
	['permissions', { message: 'No access to this group' }, /doesn't allow this request \(403\)/],
])('a 403 about %s says so', (_, error, message) => {
	expect(errorFor(submit, response(403, { error } as never)).message).toMatch(message);
});

test('a 429 that names a long time says when, and gives no advice about the rate', () => {
	const told = (message: string) => errorFor(submit, response(429, { error: { message } })).problem;
	const long = told('Your quota will reset after 27h41m36s');
	expect(long.description).toMatch(/^Retry after 27 h 42 min\. You weren't charged/);
	expect(told('try again in 6s').description).toMatch(/^Retry after 6 s\. Send fewer/);
	expect(told('too many').description).toMatch(/^Send fewer/);
});

test('the key of a payment has only what all gateways take, and nothing of it can be read', () => {
	const [key, other] = [0, 1].map(
		(item) => withIdempotencyKey(submit, 'key', `["Node","größer — 👾",${item}]`).headers.key,
	);
	expect(key).toMatch(/^[\da-f]{64}$/);
	expect(other).not.toBe(key);
});

describe('a redirect after a paid request', () => {
	const RESET = { kind: 'fault', fault: 'reset', detail: '' } as const;

	test.each([
		[300, '/v1/elsewhere', true],
		[301, 'https://gateway.example/v1/images/generations', true],
		[302, '/v1/images/generations/task_1', false],
		[302, 'https://x.example/api/v1/images/edits/task_1?x', false],
		[303, '/v1/images/generations/task_1', false],
		[303, undefined, false],
		[304, undefined, true],
		[307, '/v1/images/generations?async=true', true],
		[308, 'https://x.example/v1/images/generations/', true],
		[307, '/v1/messages/msg_1', false],
		[302, '/v1/jobs/42', false],
		[302, '/login?next=/v1/images/generations', true],
		[302, '/login?next=/files/x.png', true],
		[301, '/files/x.png', false],
		[302, 'https://x.example/files/x.PNG?signature=a', false],
		[307, '/files/x.webp#now', false],
		[302, '/files/x.png.html', true],
		[302, '/static/maintenance.svg', true],
		[302, '/favicon.ico', true],
		[400, '/v1/images/tasks/task_1', true],
		[500, undefined, false],
	])('%s to %s: refused is %s', (httpCode, location, refused) => {
		const outcome = response(httpCode, {}, location === undefined ? {} : { location });
		expect(chargedAfter(outcome) === 'no').toBe(refused);
		const error = errorFor(submit, outcome);
		expect(hasCode(error, 'outcomeUnknown')).toBe(!refused);
		if (!refused && location !== undefined) expect(error.message).toContain(location);
		// The head decides, whether the body came to its end or not.
		const headers: Record<string, string> = location === undefined ? {} : { location };
		const cut: Outcome = { ...RESET, httpCode, headers, received: '' };
		expect(chargedAfter(cut) === 'no').toBe(refused);
		if (location?.includes('/task_1') !== true || refused) return;
		expect(errorFor(submit, cut).problem.taskId).toBe('task_1');
	});
});

test('only a success with an object is a response to work with', () => {
	const ends = [199, 200, 201, 299, 300, 400].map((code) => isGood(response(code, { id: 't1' })));
	expect(ends).toEqual([false, true, true, true, false, false]);
	for (const json of [[], null, 'done', 7]) expect(isGood(response(200, json))).toBe(false);
	for (const end of [page(200, '<html>'), fault('reset'), { ...fault('reset'), httpCode: 200 }]) {
		expect(isGood(end)).toBe(false);
	}
});

describe('a redirect to the image of a request', () => {
	const at = (httpCode: number, location: string, url?: string) =>
		withLocationAsBody({
			...page(httpCode, '<html>'),
			headers: { location, age: '1' },
			url,
		} as never);

	test.each([
		[303, '/files/x.png', 'https://g.example/files/x.png'],
		[302, 'x.jpg?a=1', 'https://g.example/api/v1/images/x.jpg?a=1'],
		[301, 'https://h.example/x.webp', 'https://h.example/x.webp'],
	])('is a response with its address: %s to %s', (httpCode, location, url) => {
		const asked = 'https://g.example/api/v1/images/generations';
		const outcome = at(httpCode, location, asked);
		expect(outcome).toMatchObject({
			httpCode: 200,
			headers: { age: '1' },
			json: { data: [{ url }] },
		});
		expect([isGood(outcome), outcome.headers]).toEqual([true, { age: '1' }]);
	});

	test.each([
		[307, '/files/x.png'],
		[302, '/login'],
	])('is not another one: %s to %s', (httpCode, location) => {
		expect(at(httpCode, location)).toMatchObject({ httpCode, headers: { location } });
	});

	test('keeps its own JSON, which may have more images and the bill', () => {
		const headers = { location: '/files/x.png' };
		const json = { data: [{ url: 'a' }, { url: 'b' }], cost: 1 };
		const outcome = { kind: 'response', httpCode: 303, headers, text: '', json } as never;
		expect(withLocationAsBody(outcome)).toBe(outcome);
	});
});

describe('an accepted task without a body, whose address is in Location', () => {
	const empty = (httpCode: number, text: string, location?: string): Outcome => {
		const headers = { server: 'x', ...(location === undefined ? {} : { location }) };
		return { kind: 'response', httpCode, headers, text, json: undefined };
	};
	const at = '/v1/images/tasks/task_1';

	test.each([201, 202])('is read like one with an empty object: %s', (httpCode) => {
		const outcome = empty(httpCode, ' \r\n', at);
		expect(withLocationAsBody(outcome)).toEqual({ ...outcome, json: {} });
	});

	test.each<[string, Outcome]>([
		['another success', empty(200, '', at)],
		['a redirect', empty(302, '', at)],
		['an error', empty(500, '', at)],
		['nothing that tells where the task is', empty(202, '')],
		['a web page', empty(202, '<html>', at)],
		['a body', response(202, { id: 'task_1' }, { location: at })],
		['a response that breaks off behind its head', { ...fault('reset'), httpCode: 202 }],
	])('is not found in %s', (_name, outcome) => {
		expect(withLocationAsBody(outcome)).toBe(outcome);
	});
});

test('a response that breaks off behind its head is judged by its status', () => {
	const refused = [200, 201, 303, 400, 401, 408, 422, 429, 500, 503].filter(
		(httpCode) => chargedAfter({ ...fault('reset'), httpCode } as Outcome) === 'no',
	);
	expect(refused).toEqual([400, 401, 422, 429]);
});

test('the form of an edit leaves out what has no value, at any depth', () => {
	const fields = (extraFields: Record<string, unknown>) =>
		planImages('edit', { model: 'm', prompt: 'p', files: [], extraFields }).form?.fields.slice(2);
	const nothing = { a: undefined, b: null, c: () => 1, d: NaN, e: Symbol('x') };
	const at = new Date(0);
	expect(fields({ ...nothing, deep: { ...nothing, f: 1 }, text: '', zero: 0, at })).toEqual([
		['deep', '{"b":null,"d":null,"f":1}'],
		['text', ''],
		['zero', '0'],
		['at', '1970-01-01T00:00:00.000Z'],
	]);
});

describe('a body that cannot be built', () => {
	const send = async (plan: RequestPlan): Promise<[Outcome, number]> => {
		let called = 0;
		const transport: Transport = async ({ body }) => {
			called += 1;
			JSON.stringify(body);
			return await Promise.reject(new Error('socket hang up'));
		};
		const sendOnce = createSendOnce({
			account: accountOf({ baseUrl: 'https://gateway.example', apiKey: 'sk-0123456789' }),
			limits: { timeoutMs: 1000 },
			requests: new Requests(),
			transport,
		});
		return [await sendOnce(plan), called];
	};

	test('because it is a circle was not sent', async () => {
		const circle: Record<string, unknown> = {};
		circle.self = circle;
		const plan = planImages('generation', { model: 'm', prompt: 'p', extraFields: { circle } });
		expect(await send(plan)).toEqual([fault('invalidBody'), 1]);
		expect(chargedAfter(fault('invalidBody'))).toBe('no');
		const [outcome] = await send(planImages('generation', { model: 'm', prompt: 'p' }));
		expect(outcome).toEqual(fault('reset'));
	});

	test('because a file is gone was not sent, and the other files are closed', async () => {
		let closed = 0;
		const file = (open: FormFile['open']): FormFile => {
			return { name: 'image', fileName: 'a.png', mimeType: 'image/png', size: 1, digest: '', open };
		};
		const whole = file(async function* () {
			try {
				yield new Uint8Array(1);
			} finally {
				closed += 1;
			}
		});
		const gone = file(async function* () {
			yield await Promise.reject(new Error('ENOENT'));
		});
		const plan = planImages('edit', { model: 'm', prompt: 'p', files: [whole, gone] });
		expect(await send(plan)).toEqual([fault('invalidBody'), 0]);
		expect(closed).toBe(1);
	});
});
