import { probeSettings } from '../../gateway/credentialProbe.js';
import type { Outcome } from '../../gateway/protocol/outcome.js';
import type { WireResponse } from '../../gateway/wire/transport.js';
import { response, fault, page } from './virtual-gateway.mjs';

const SETTINGS = { baseUrl: 'https://gateway.example', apiKey: 'sk-a1' };

/** An outcome as the network has it. */
function arriving(outcome: Outcome): WireResponse {
	if (outcome.kind === 'fault') {
		throw Object.assign(new Error(outcome.detail), { code: outcome.detail });
	}
	return { ...outcome, body: Buffer.from(outcome.text) };
}

/** What a test says where the task, the names, both in other forms of the key, get these responses. */
async function verdict(task: Outcome, names: Outcome = task, others: [Outcome?, Outcome?] = []) {
	const asked: string[] = [];
	const [withApiKey = names, withoutKey = task] = others;
	const said = await probeSettings(SETTINGS, async ({ method, url, headers }) => {
		const { pathname } = new URL(url);
		const key = 'x-api-key' in headers ? 'xApiKey' : 'Authorization' in headers ? 'usual' : 'none';
		const isNames = pathname === '/v1/models';
		asked.push(`${isNames ? 'names' : 'poll'} ${key}`);
		// Neither costs anything.
		const path = isNames ? /^/ : /^\/v1\/images\/generations\/./;
		expect([method, pathname]).toEqual(['GET', expect.stringMatching(path)]);
		const other = isNames ? withApiKey : withoutKey;
		return await Promise.resolve(arriving(key === 'usual' ? (isNames ? names : task) : other));
	});
	return { ...said, asked };
}

/** The problem of the model list at an address of its own, where the key is accepted. */
async function listProblem(outcome: Outcome): Promise<string | undefined> {
	const mediaUrl = 'https://media.example';
	const said = await probeSettings(
		{ ...SETTINGS, mediaUrl },
		async ({ url }) =>
			await Promise.resolve(
				arriving(url.startsWith(mediaUrl) ? outcome : response(200, { status: 'queued' })),
			),
	);
	return 'problem' in said ? said.problem : undefined;
}

const ACCEPTED = 'The gateway accepts the API key';
const LISTS = 'The gateway responds and lists its models';
const GATEWAY_404 = response(404, {
	error: { message: 'no such task', type: 'invalid_request_error' },
});
const OTHER_404 = response(404, { detail: 'Not Found' });
const NAMES = response(200, { object: 'list', data: [{ id: 'm' }] });
const REFUSED = response(401, { error: { message: 'bad key' } });
const HELLO = response(200, { hello: 'world' });

test.each<[string, Outcome, RegExp]>([
	['401', REFUSED, /rejected the API key \(401\): bad key\. Check the key/],
	['403', response(403, { code: 'ACCESS_DENIED', message: 'no such IP' }), /\(403\): no such IP\./],
	[
		'a list',
		response(400, [{ error: { message: 'API key not valid.' } }]),
		/\(400\): API key not valid\. Check 'API/,
	],
	[
		'no credit',
		response(403, { message: 'Insufficient account balance' }),
		/quota \(403\): .*Top up/,
	],
	[
		'a key without quota',
		response(429, { message: 'API key 额度已用完' }),
		/quota \(429\): .*Top up/,
	],
	['a web page', page(200, '\n<!doctype html>'), /web page \(200\).*not of the console/],
	['nothing but 404', OTHER_404, /no such API at https:\S+ \(404\).*Check 'Base URL'/],
	['200 of something else', HELLO, /\(200\), but it isn't a media gateway/],
	['400', response(400, { message: '1 < 2 headers' }), /\(400\): 1 < 2 headers\. Check/],
	['a redirect to https', response(301, {}, { location: 'HTTPS://x/' }), /begin with https:\/\/$/],
	['429', response(429, {}), /can't check the API key now \(429\)/],
	['nothing there', fault('refused', 'ECONNREFUSED'), /was refused.*'Base URL'.*\(ECONNREFUSED\)$/],
	['http where https is spoken', page(400, 'Client sent an HTTP request to an HTTPS server.\n'), /must begin with https/], // prettier-ignore
])('%s is told in a sentence of its own', async (_name, outcome, expected) => {
	const { problem: message } = (await verdict(outcome)) as { problem?: string };
	expect(message).toMatch(expected);
	expect(message).not.toMatch(/undefined|\[object/);
});

test.each<[string, Outcome]>([
	['models', response(200, { success: true, data: { items: [{ model: 'm' }], total: 1 } })],
	['no models yet', response(200, { success: true, data: { items: [], total: 0 } })],
])('at an address that responds with %s there is a listing', async (_name, outcome) => {
	expect(await listProblem(outcome)).toBeUndefined();
});

test.each<[string, Outcome]>([
	['nothing there', fault('refused', 'ECONNREFUSED')],
	['a web page', page(200, '<html>')],
	['404', response(404, { success: false, data: { items: [] } })],
	['something else', HELLO],
	['a failure with 200', response(200, { success: false, message: 'no' })],
])('the problem of a listing names its field, and no other address: %s', async (_name, outcome) => {
	const message = (await listProblem(outcome)) ?? '';
	expect(message).toContain("'Media URL'");
	expect(message.replace(/if the list is at 'Base URL'/, '')).not.toMatch(/Base URL|\{|undefined/);
});

const [USUAL, KEYED, NONE] = ['names usual', 'names xApiKey', 'poll none'];

test.each<[string, Parameters<typeof verdict>, string | RegExp, string[]]>([
	['a task that exists after all', [response(200, { status: 'queued' }), REFUSED], ACCEPTED, []],
	['404 of a gateway, and names', [GATEWAY_404, NAMES], LISTS, [USUAL]],
	['a web page with 404, and names', [page(404, '<html>'), NAMES], LISTS, [USUAL]],
	['something else, and no names', [HELLO, REFUSED], /rejected .* \(401\)/, [USUAL, KEYED]],
	['401, and names that anybody gets', [REFUSED, NAMES], /rejected the API key/, [USUAL]],
	['401, and names by x-api-key', [REFUSED, REFUSED, [NAMES]], LISTS, [USUAL, KEYED]],
	['404, and names by x-api-key', [OTHER_404, REFUSED, [NAMES]], LISTS, [USUAL, KEYED]],
	['404, which no key turns into 401', [GATEWAY_404, OTHER_404, [undefined, REFUSED]], ACCEPTED, [USUAL, NONE]], // prettier-ignore
	['404, and 503 for names', [GATEWAY_404, page(503, '')], /now \(503\)/, [USUAL, NONE]],
])('no more is asked than tells about the key: %s', async (_name, responses, said, asked) => {
	const end = await verdict(...responses);
	expect('good' in end ? end.good : end.problem).toEqual(
		typeof said === 'string' ? said : expect.stringMatching(said),
	);
	expect(end.asked).toEqual(['poll usual', ...asked]);
});
