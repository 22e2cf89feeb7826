import {
	isUnclear,
	listingProblem,
	namesProblem,
	planProbe,
	probeProblem,
} from '../../../gateway/client/credentialProbe.js';
import type { Outcome } from '../../../gateway/protocol/outcome.js';
import { response, fault, page } from '../virtual-gateway.mjs';

const GATEWAY_404 = response(404, {
	error: { message: 'no such task', type: 'invalid_request_error' },
});

test('the probe costs nothing', () => {
	const path = expect.stringMatching(/^\/v1\/images\/generations\/./);
	expect(planProbe()).toMatchObject({ method: 'GET', paid: false, call: 'poll', path });
});

test.each<[string, Outcome]>([
	['404 of a gateway', GATEWAY_404],
	['a task that exists after all', response(200, { id: '1', status: 'queued' })],
])('%s means a good key', (_name, outcome) => {
	expect(probeProblem(outcome)).toBeUndefined();
});

test.each<[string, Outcome, RegExp]>([
	[
		'401',
		response(401, { error: { message: 'bad' } }),
		/rejected the API key \(401\)\. Copy the key again/,
	],
	['401 without a body', page(401, ''), /rejected the API key \(401\)/],
	['403', response(403, { error: {} }), /rejected the API key \(403\)/],
	['a web page', page(200, '\n<!doctype html>'), /web page \(200\).*not of the console/],
	['a web page with 404', page(404, '<html>'), /web page \(404\)/],
	[
		'404 of something else',
		response(404, { detail: 'Not Found' }),
		/\(404\), but it isn't a media gateway/,
	],
	['404 in plain text', page(404, 'not found'), /it isn't a media gateway/],
	[
		'200 of something else',
		response(200, { hello: 'world' }),
		/\(200\), but it isn't a media gateway/,
	],
	['a list', response(200, []), /it isn't a media gateway/],
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
])('%s is told in a sentence of its own', (_name, outcome, expected) => {
	const message = probeProblem(outcome);
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
		['a cut connection', fault('reset')],
		['silence', fault('timeout')],
		['an odd fault', fault('other')],
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
	[404, /Check 'Media URL'/],
])('a listing with %s says what to do', (httpCode, advice) => {
	expect(listingProblem(response(httpCode, {}))).toMatch(advice);
});

describe('a gateway that has no path for tasks', () => {
	test.each<[string, Outcome, boolean]>([
		['404 of something else', response(404, { detail: 'Not Found' }), true],
		['a web page with 404', page(404, '<html>'), true],
		['405', response(405, {}), true],
		['200 of something else', response(200, { hello: 'world' }), true],
		['400 with a reason', response(400, { message: 'no' }), true],
		['404 of a gateway', GATEWAY_404, false],
		['401', response(401, {}), false],
		['429', response(429, {}), false],
		['500', page(500, ''), false],
		['a redirect', response(302, {}, { location: 'https://x/' }), false],
		['nothing there', fault('refused'), false],
	])('%s leaves it open: %s', (_name, outcome, expected) => {
		expect(isUnclear(outcome)).toBe(expected);
	});

	test.each<[string, Outcome, string | RegExp | undefined]>([
		['names', response(200, { object: 'list', data: [{ id: 'm' }] }), undefined],
		['401', response(401, {}), /rejected the API key \(401\)/],
		['403', response(403, {}), /rejected the API key \(403\)/],
		['404', response(404, { data: [] }), 'as before'],
		['401 that breaks off', { ...fault('reset'), httpCode: 401 }, 'as before'],
		['JSON of another form', response(200, { data: {} }), 'as before'],
		['nothing', fault('reset'), 'as before'],
	])('its names of models decide: %s', (_name, outcome, expected) => {
		const problem = namesProblem(outcome, 'as before');
		if (expected instanceof RegExp) expect(problem).toMatch(expected);
		else expect(problem).toBe(expected);
	});
});
