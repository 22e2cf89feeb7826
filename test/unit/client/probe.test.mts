import { planProbe, readProbe } from '../../../gateway/client/credentialProbe.js';
import type { Outcome } from '../../../gateway/protocol/outcome.js';
import { answer, fault, page } from '../virtual-gateway.mjs';

const GATEWAY_404 = answer(404, {
	error: { message: 'no such task', type: 'invalid_request_error' },
});

test('the probe costs nothing', () => {
	expect(planProbe()).toMatchObject({ method: 'GET', paid: false, call: 'poll' });
});

test.each<[string, Outcome]>([
	['404 of a gateway', GATEWAY_404],
	['a task that exists after all', answer(200, { id: '1', status: 'queued' })],
])('%s means a good key', (_name, outcome) => {
	expect(readProbe(outcome)).toEqual({ ok: true, message: 'The gateway accepts the API key' });
});

test.each<[string, Outcome, RegExp]>([
	[
		'401',
		answer(401, { error: { message: 'bad' } }),
		/rejected the API key \(401\)\. Copy the key again/,
	],
	['401 without a body', page(401, ''), /rejected the API key \(401\)/],
	['403', answer(403, { error: {} }), /rejected the API key \(403\)/],
	['a web page', page(200, '\n<!doctype html>'), /web page \(200\).*not of the console/],
	['a web page with 404', page(404, '<html>'), /web page \(404\)/],
	[
		'404 of something else',
		answer(404, { detail: 'Not Found' }),
		/\(404\), but it isn't a media gateway/,
	],
	['404 in plain text', page(404, 'not found'), /it isn't a media gateway/],
	[
		'200 of something else',
		answer(200, { hello: 'world' }),
		/\(200\), but it isn't a media gateway/,
	],
	['a list', answer(200, []), /it isn't a media gateway/],
	['400', answer(400, { error: { message: 'x' } }), /it isn't a media gateway/],
	['a redirect', answer(301, {}, { location: 'https://x/' }), /redirects to another one/],
	['429', answer(429, {}), /can't check the API key now \(429\)/],
	['503', answer(503, { error: { message: 'x' } }), /can't check the API key now \(503\)/],
	[
		'nothing there',
		fault('refused', 'ECONNREFUSED'),
		/The gateway's address refused the connection.*Check 'Base URL'.*ECONNREFUSED/,
	],
	['no such host', fault('notFound'), /gateway's host name was not found.*Check 'Base URL'/],
	['a certificate', fault('certificate'), /certificate.*'Allow Self-Signed Certificates'/],
	['silence', fault('timeout'), /timed out/],
])('%s is told in a sentence of its own', (_name, outcome, expected) => {
	const { ok, message } = readProbe(outcome);
	expect(ok).toBe(false);
	expect(message).toMatch(expected);
	expect(message).not.toMatch(/undefined|\[object/);
});
