import { probeSettings } from '../../gateway/credentialProbe.js';
import type { Outcome } from '../../gateway/protocol/outcome.js';
import type { WireResponse } from '../../gateway/wire/transport.js';
import { textOf } from '../../nodes/shared/errors/settingPlaces.js';
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
	return 'problem' in said ? { problem: textOf(said.problem), asked } : { ...said, asked };
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
	return 'problem' in said ? textOf(said.problem) : undefined;
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

const CHECK = 'Check the base URL, and that this server can reach the gateway.';
const SEE = "See 'Base URL' in the Media Gateway credential.";

test.each<[string, Outcome, string]>([
	[
		'401',
		REFUSED,
		"The gateway rejected the API key (401): bad key. Check the API key. See 'API Key' in the Media Gateway credential.",
	],
	[
		'403',
		response(403, { code: 'ACCESS_DENIED', message: 'no such IP.' }),
		"The gateway doesn't allow this request (403): no such IP. Check the key's permissions in the gateway's console.",
	],
	[
		'a list',
		response(400, [{ error: { message: 'API key not valid.' } }]),
		"The gateway rejected the request (400): API key not valid. Check the parameters, the address and the key. See 'Base URL' and 'API Key' in the Media Gateway credential.",
	],
	[
		'no credit',
		response(403, { message: 'Insufficient account balance' }),
		"Insufficient quota (403): Insufficient account balance. Top up the account in the gateway's console.",
	],
	[
		'a key without quota',
		response(429, { message: 'API key 额度已用完' }),
		"Insufficient quota (429): API key 额度已用完. Top up the account in the gateway's console.",
	],
	[
		'a web page',
		page(200, '\n<!doctype html>'),
		`While testing the credential, the gateway responded with a web page instead of JSON. ${CHECK} ${SEE}`,
	],
	[
		'nothing but 404',
		OTHER_404,
		`Not found on the gateway (404): Not Found. ${CHECK} The base URL led to https://gateway.example/v1/models. ${SEE}`,
	],
	[
		'200 of something else',
		HELLO,
		`While testing the credential, the gateway responded with JSON without any of the expected fields. ${CHECK} ${SEE}`,
	],
	[
		'a header that is missing',
		response(400, { message: '1 < 2 headers' }),
		"The gateway rejected the request (400): 1 < 2 headers. If it needs another header, add it. See 'Additional Headers' under 'Gateway Settings' in the Media Gateway credential.",
	],
	[
		'a redirect to https',
		response(301, {}, { location: 'HTTPS://x/' }),
		"While testing the credential, the gateway redirected to another address (301). The API key isn't sent to other addresses. If HTTPS://x/ is your gateway's address, enter it as the base URL. See 'Base URL' in the Media Gateway credential.",
	],
	['429', response(429, {}), 'Rate limit exceeded (429). Try again later.'],
	[
		'silence',
		fault('timeout', 'ETIMEDOUT'),
		'While testing the credential, the request timed out. Try again later. (ETIMEDOUT)',
	],
	[
		'503',
		response(503, {}),
		'While testing the credential, the gateway was unavailable (503). Try again later.',
	],
	[
		'nothing there',
		fault('refused', 'ECONNREFUSED'),
		`While testing the credential, the connection to the gateway was refused. ${CHECK} (ECONNREFUSED) ${SEE}`,
	],
	[
		'http where https is spoken',
		page(400, 'Client sent an HTTP request to an HTTPS server.\n'),
		'The server uses https at this address (400): Client sent an HTTP request to an HTTPS server. Change "http://" to "https://" in the base URL. See \'Base URL\' in the Media Gateway credential.',
	],
])('%s is told in the words of all errors', async (_name, outcome, expected) => {
	expect(await verdict(outcome)).toMatchObject({ problem: expected });
});

test.each<[string, Outcome]>([
	['models', response(200, { success: true, data: { items: [{ model: 'm' }], total: 1 } })],
	['no models yet', response(200, { success: true, data: { items: [], total: 0 } })],
])('at an address that responds with %s there is a listing', async (_name, outcome) => {
	expect(await listProblem(outcome)).toBeUndefined();
});

test.each<[string, Outcome, RegExp]>([
	['nothing there', fault('refused', 'ECONNREFUSED'), /connection to the model list was refused/],
	['a web page', page(200, '<html>'), /web page instead of JSON/],
	['404', response(404, {}), /\(404\).* led to https:\/\/media.example\/v1\/media\/models/],
	['something else', HELLO, /JSON without any of the expected fields/],
	['names in place of models', NAMES, /JSON without any of the expected fields/],
])('the problem of a listing names the field to correct: %s', async (_name, outcome, expected) => {
	const message = (await listProblem(outcome)) ?? '';
	expect(message).toMatch(expected);
	expect(message).toMatch(/See 'Base URL' in .*, or 'Media URL' under 'Gateway Settings' in/);
	expect(message).toContain('Check the base URL (or the media URL, if set)');
});

test('a listing that reports a failure is quoted; one that is asked too often is there', async () => {
	const failure = response(200, { success: false, message: 'no' });
	expect(await listProblem(failure)).toMatch(/^While loading the model list, .* error: no\./);
	expect(await listProblem(response(429, {}))).toBeUndefined();
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
	['404, and 503 for names', [GATEWAY_404, page(503, '')], /unavailable \(503\)/, [USUAL, NONE]],
])('no more is asked than tells about the key: %s', async (_name, responses, said, asked) => {
	const end = await verdict(...responses);
	expect('good' in end ? end.good : end.problem).toEqual(
		typeof said === 'string' ? said : expect.stringMatching(said),
	);
	expect(end.asked).toEqual(['poll usual', ...asked]);
});
