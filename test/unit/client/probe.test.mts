import {
	listingProblem,
	planProbe,
	probeKey,
	type ProbeKey,
} from '../../../gateway/client/credentialProbe.js';
import type { Outcome } from '../../../gateway/protocol/outcome.js';
import { response, fault, page } from '../virtual-gateway.mjs';

const AT = 'https://gateway.example/v1/models';

/** What a test says where the task, the names, both in other forms of the key, get these responses. */
async function verdict(task: Outcome, names: Outcome = task, others: [Outcome?, Outcome?] = []) {
	const asked: string[] = [];
	const [withApiKey = names, withoutKey = task] = others;
	const said = await probeKey(async ({ call, paid }, key: ProbeKey) => {
		expect(paid).toBe(false);
		asked.push(`${call} ${key}`);
		if (call === 'names') return key === 'xApiKey' ? withApiKey : names;
		return key === 'none' ? withoutKey : task;
	}, AT);
	return { ...said, asked };
}

const GATEWAY_404 = response(404, {
	error: { message: 'no such task', type: 'invalid_request_error' },
});

test('the probe costs nothing', () => {
	const path = expect.stringMatching(/^\/v1\/images\/generations\/./);
	expect(planProbe()).toMatchObject({ method: 'GET', paid: false, call: 'poll', path });
});

test.each<[string, Outcome]>([
	['a task that exists after all', response(200, { id: '1', status: 'queued' })],
	['an error with 200', response(200, { error: { message: 'no such task' } })],
])('%s means a good key', async (_name, outcome) => {
	expect(await verdict(outcome)).toEqual({
		good: 'The gateway accepts the API key',
		asked: ['poll usual'],
	});
});

test.each<[string, Outcome, RegExp]>([
	[
		'401',
		response(401, { error: { message: 'bad' } }),
		/rejected the API key \(401\)\. Copy the key again/,
	],
	['403', response(403, { error: {} }), /rejected the API key \(403\)/],
	['a web page', page(200, '\n<!doctype html>'), /web page \(200\).*not of the console/],
	['a web page with 404', page(404, '<html>'), /no such API/],
	['nothing but 404', response(404, { detail: 'Not Found' }), /no such API at https:\S+ \(404\)/],
	['404 of a gateway for everything', GATEWAY_404, /no such API.*Check 'Base URL'/],
	[
		'200 of something else',
		response(200, { hello: 'world' }),
		/\(200\), but it isn't a media gateway/,
	],
	['400', response(400, { message: '1 < 2 headers' }), /\(400\): 1 < 2 headers\. Check/],
	['400 without a reason', response(400, {}), /it isn't a media gateway/],
	['a redirect', response(300, {}, { location: '/?to=https://x' }), /redirects.*'Base URL'\.$/],
	['a redirect to https', response(301, {}, { location: 'HTTPS://x/' }), /begin with https:\/\/$/],
	['429', response(429, {}), /can't check the API key now \(429\)/],
	['500', response(500, { error: { message: 'x' } }), /can't check the API key now \(500\)/],
	[
		'nothing there',
		fault('refused', 'ECONNREFUSED'),
		/The connection to the gateway was refused.*Check 'Base URL'.*\(ECONNREFUSED\)$/,
	],
	[
		'no such host',
		fault('notFound'),
		/host name of the gateway was not found.*Check 'Base URL'[^(]*\.$/,
	],
	['a certificate', fault('certificate'), /certificate.*'Allow Self-Signed Certificates'/],
	['silence', fault('timeout'), /timed out\. Try again later.*Check 'Base URL', and whether/],
	[
		'plain http where https is spoken',
		page(400, 'Client sent an HTTP request to an HTTPS server.\n'),
		/uses https at this address\. 'Base URL' must begin with https/,
	],
	['a cut connection', fault('reset'), /closed.*Check 'Base URL'/],
	[
		'https at a server of http',
		fault('invalidAddress', 'EPROTO'),
		/"http:\/\/" in 'Base URL'[^.]*\. \(EPROTO\)$/,
	],
])('%s is told in a sentence of its own', async (_name, outcome, expected) => {
	const { problem: message } = (await verdict(outcome)) as { problem?: string };
	expect(message).toMatch(expected);
	expect(message).not.toMatch(/undefined|\[object/);
});

describe('the address of the listing', () => {
	test.each<[string, Outcome]>([
		['models', response(200, { success: true, data: { items: [{ model: 'm' }], total: 1 } })],
		['no models yet', response(200, { success: true, data: { items: [], total: 0 } })],
		['too often', response(429, { success: false, message: 'slow' })],
	])('%s: it is there', (_name, outcome) => {
		expect(listingProblem(outcome)).toBeUndefined();
	});

	test.each<[string, Outcome]>([
		['nothing there', fault('refused', 'ECONNREFUSED')],
		['no such host', fault('notFound')],
		['silence', fault('timeout')],
		['no https there', fault('invalidAddress', 'EPROTO')],
		['TLS', fault('unconnected')],
		['a web page', page(200, '<html>')],
		['a redirect', response(302, {}, { location: 'https://x/' })],
		['404', response(404, { success: false, data: { items: [] } })],
		['401', response(401, {})],
		['503', page(503, '')],
		['something else', response(200, { hello: 'world' })],
		['a failure with 200', response(200, { success: false, message: 'no' })],
	])('%s: the error names the field, and no other address', (_name, outcome) => {
		const message = listingProblem(outcome) ?? '';
		expect(message).toContain("'Media URL'");
		expect(message.replace(/if the list is at 'Base URL'/, '')).not.toMatch(
			/Base URL|\{|undefined/,
		);
	});
});

test.each([
	[500, /try again in a moment/i],
	[404, /'Media URL' under 'Gateway Settings' \(404\)/],
])('a listing with %s says what to do', (httpCode, advice) => {
	expect(listingProblem(response(httpCode, {}))).toMatch(advice);
});

const OTHER_404 = response(404, { detail: 'Not Found' });
const NAMES = response(200, { object: 'list', data: [{ id: 'm' }] });
const REFUSED = response(401, { error: { message: 'bad key' } });
const LISTS = 'The gateway responds and lists its models';

describe('a response that says too little about the key', () => {
	test.each<[string, Outcome]>([
		['404 of a gateway', GATEWAY_404],
		['404 of something else', OTHER_404],
		['a web page with 404', page(404, '<html>')],
		['405', response(405, {})],
		['200 of something else', response(200, { hello: 'world' })],
		['400 with a reason', response(400, { message: 'no' })],
	])('%s: the names of models decide', async (_name, task) => {
		expect(await verdict(task, NAMES)).toMatchObject({ good: LISTS });
		const wrong = await verdict(task, REFUSED);
		expect(wrong).toMatchObject({ problem: expect.stringMatching(/rejected the API key \(401\)/) });
	});

	test('401: names that anybody gets say nothing', async () => {
		const said = await verdict(REFUSED, NAMES);
		expect(said).toMatchObject({ problem: expect.stringContaining('rejected the API key') });
		expect(said.asked).toEqual(['poll usual', 'names usual']);
	});

	test.each([REFUSED, OTHER_404])('names that need x-api-key: the key is good', async (task) => {
		const said = await verdict(task, REFUSED, [NAMES]);
		expect(said).toEqual({
			good: LISTS,
			asked: ['poll usual', 'names usual', 'names xApiKey'],
		});
	});

	test('404 without names: the key is good if none at all is refused', async () => {
		expect(await verdict(GATEWAY_404, OTHER_404, [undefined, REFUSED])).toEqual({
			good: 'The gateway accepts the API key',
			asked: ['poll usual', 'names usual', 'poll none'],
		});
	});

	test.each<[string, Outcome, RegExp]>([
		['429', response(429, {}), /can't check the API key now \(429\)/],
		['503', page(503, ''), /can't check the API key now \(503\)/],
		['a web page', page(200, '<html>'), /web page \(200\)/],
		['401 that breaks off', { ...fault('reset'), httpCode: 401 }, /closed/],
		['JSON of another form', response(200, { data: {} }), /isn't a media gateway/],
	])('404, and %s in place of names', async (_name, names, expected) => {
		expect(await verdict(GATEWAY_404, names)).toMatchObject({
			problem: expect.stringMatching(expected),
		});
	});
});
