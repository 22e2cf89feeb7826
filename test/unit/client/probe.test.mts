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
		/refused the API key \(401\)\. Copy the key again/,
	],
	['401 without a body', page(401, ''), /refused the API key \(401\)/],
	['403', answer(403, { error: {} }), /refused the API key \(403\)/],
	['a web page', page(200, '\n<!doctype html>'), /web page \(200\).*not that of the console/],
	['a web page with 404', page(404, '<html>'), /web page \(404\)/],
	[
		'404 of something else',
		answer(404, { detail: 'Not Found' }),
		/\(404\), but it is no media gateway/,
	],
	['404 in plain text', page(404, 'not found'), /no media gateway/],
	['200 of something else', answer(200, { hello: 'world' }), /\(200\), but it is no media gateway/],
	['a list', answer(200, []), /no media gateway/],
	['400', answer(400, { error: { message: 'x' } }), /no media gateway/],
	['a redirect', answer(301, {}, { location: 'https://x/' }), /points to another one/],
	['429', answer(429, {}), /cannot check the API key now \(429\)/],
	['503', answer(503, { error: { message: 'x' } }), /cannot check the API key now \(503\)/],
	[
		'nothing there',
		fault('refused', 'ECONNREFUSED'),
		/Nothing answers at the address.*Check "Base URL".*ECONNREFUSED/,
	],
	[
		'no such host',
		fault('notFound'),
		/[Hh]ost name of the gateway was not found.*Check "Base URL"/,
	],
	['a certificate', fault('certificate'), /certificate.*"Allow Self-Signed Certificates"/],
	['silence', fault('timeout'), /time-out/],
])('%s is told in a sentence of its own', (_name, outcome, expected) => {
	const { ok, message } = readProbe(outcome);
	expect(ok).toBe(false);
	expect(message).toMatch(expected);
	expect(message).not.toMatch(/undefined|\[object/);
});
