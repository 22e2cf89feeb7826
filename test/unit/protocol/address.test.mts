import { isBelow, readApiAddress } from '../../../gateway/protocol/url.js';
import { authHeaders as headersOf } from '../../../gateway/protocol/auth.js';
import {
	cleanApiKey,
	credentialProblem,
	readCredential,
} from '../../../gateway/protocol/credential.js';

const apiKeyProblem = (apiKey: unknown) =>
	credentialProblem(readCredential({ baseUrl: 'https://gateway.example', apiKey }))?.message;

const authHeaders = (url: string, fields: Record<string, unknown>) =>
	headersOf(url, readCredential(fields));

describe('the address of a gateway', () => {
	test.each([
		['  https://gateway.example/v1/ ', 'https://gateway.example'],
		['https://gateway.example/api/v1', 'https://gateway.example/api'],
		['https://gateway.example/v1beta', 'https://gateway.example/v1beta'],
		['http://127.0.0.1:8787/v1?x=1#y', 'http://127.0.0.1:8787'],
		['HTTPS://Gateway.Example:443/', 'https://gateway.example'],
		['https://someone:secret@gateway.example/', 'https://gateway.example'],
		['https://gateway.example/v1/images/generations/task-1', 'https://gateway.example'],
		['https://gateway.example/v1/media/models/aurora', 'https://gateway.example'],
		['https://gateway.example//v1//', 'https://gateway.example'],
		['https://h.example/v1/acct/gw/openai/v1', 'https://h.example/v1/acct/gw/openai'],
		['https://h.example/v1/a/v1/images/edits/t', 'https://h.example/v1/a'],
		['https://h.example/a/../v1/b/%2e%2e/c', 'https://h.example/v1/c'],
		['https://h.example/a?next=/v1#/v1', 'https://h.example/a'],
	])('%j means %j', (typed, meant) => {
		expect(readApiAddress(typed)?.url).toBe(meant);
		expect(readApiAddress(meant)?.url).toBe(meant);
	});

	test.each(['', 'localhost:3000', 'ftp://gateway.example', 7])('%j is none', (typed) => {
		expect(readApiAddress(typed)).toBeUndefined();
	});

	test.each([
		['https://gateway.example/v1/messages', true],
		['https://gateway.example:443/v1', true],
		['http://gateway.example/v1', false],
		['https://gateway.example:8443/v1', false],
		['https://gateway.example.evil.test/v1', false],
		['https://gateway.example@evil.test/v1', false],
		['https://evil.test/https://gateway.example', false],
	])('%s lies below https://gateway.example: %s', (url, expected) => {
		expect(isBelow(url, 'https://gateway.example')).toBe(expected);
	});

	test.each([
		['https://host.example/gateway2/v1', false],
		['https://host.example/gateway/%2e%2e/other/v1', false],
		['https://host.example/gateway/v1/images/..%2f..%2F..%2fother', false],
		['https://host.example/gateway/%2e%2e%2fother/v1', false],
		['https://host.example/gateway/..%5cother/v1', false],
		['https://host.example/gateway/..%252fother/v1', false],
		['https://host.example/gateway/v1/images/edits/..%2F..%2Fmessages', true],
		['https://host.example/gateway/v1/images/edits/a%2Fb', true],
	])('%s lies below a gateway that has a path of its own: %s', (url, expected) => {
		expect(isBelow(url, 'https://host.example/gateway')).toBe(expected);
	});
});

describe('a key that was pasted', () => {
	test.each(['  sk-a1\n', "'Bearer sk-a1'", 'Bearer "sk-a1"', '\ufeffsk-a1\u200b'])(
		'%j is sk-a1',
		(pasted) => {
			expect(cleanApiKey(pasted)).toBe('sk-a1');
			expect(apiKeyProblem(pasted)).toBeUndefined();
		},
	);

	test.each(['', '""', 'Bearer ', undefined, 42])('%j is empty', (pasted) => {
		expect(apiKeyProblem(pasted)).toBe('The API key is empty');
	});

	test.each([
		...['<API_KEY>', 'Bearer <API_KEY>', '<your key>', '[API_KEY]', 'API_KEY', 'YOUR_API_KEY_HERE'],
		...['your-api-key-here', 'my key', 'paste your key here', 'insert-key-here', 'yourApiKey'],
		...['sk-your-xxxxxxxxxxxxxxxx', 'sk-proj-xxxxxxxxxxxxxxxx', '********', 'sk-********'],
		...['sk-placeholder', 'sk-example', '${API_KEY}', '{{ $json.key }}', '$API_KEY', '%API_KEY%'],
		...['<sk-abc123>', 'changeme'],
	])('%j is a placeholder', (pasted) => {
		expect(apiKeyProblem(pasted)).toMatch(/still a placeholder/);
	});

	test.each(['sk-abc 123', 'sk-abc\n123', 'sk-äöü', 'sk-абв', 'sk-a\u0000b'])(
		'%j cannot be sent',
		(pasted) => {
			expect(apiKeyProblem(pasted)).toMatch(/a space or an invalid character/);
		},
	);

	test.each([
		...['sk-proj-XXabc', 'my-own-gateway-key-17', 'k3y', 'A1b2/C3+d4==', 'sk-team', 'my-secret'],
		...['sk-my-team-9f8e7d6c5b4a39281706', 'sk-the-9f8e7d6c5b4a39281706', 'sk-api-a8Hq2LmZ0pRt'],
		...['sk-embedded-gateway-one', 'team-key-9f8e7d6c', '0123456789abcdef'],
	])('%j may be sent', (pasted) => {
		expect(apiKeyProblem(pasted)).toBeUndefined();
	});
});

describe('who gets the key', () => {
	const settings = { baseUrl: 'https://gateway.example/v1/', apiKey: ' Bearer sk-abc ' };
	const home = 'https://gateway.example';

	test.each([
		['authorization', 'sk-abc'],
		['bearer', 'Bearer sk-abc'],
	])('messages by %s, where the user says so', (messageAuth, key) => {
		const other = { ...settings, messageAuth };
		expect(authHeaders(`${home}/v1/messages`, other)).toEqual({
			Authorization: key,
			'anthropic-version': '2023-06-01',
		});
	});

	test('messages with x-api-key, and another version header where the user says so', () => {
		const version = { versionHeaderName: ' vendor-version ', versionHeaderValue: ' 2030-01-01 ' };
		expect(authHeaders(`${home}/v1/messages`, { ...settings, ...version })).toEqual({
			'x-api-key': 'sk-abc',
			'vendor-version': '2030-01-01',
		});
	});

	test.each([
		...['/v1/images/generations?async=true', '/v1/images/edits/task%2F1', '/v1/tasks/1', '/'],
		...['/v1/messagesx', '/proxy/v1/messages', '/proxy/v1/media/models'],
	])('all of the gateway but messages with Bearer: %s', (path) => {
		expect(authHeaders(home + path, settings)).toEqual({ Authorization: 'Bearer sk-abc' });
	});

	test.each([
		`${home}/v1/media/models`,
		'https://media.example/v1/media/models',
		'https://evil.example/v1/images/generations',
		'https://gateway.example.evil.example/v1/messages',
		'not an address',
	])('nobody else: %s', (url) => {
		expect(authHeaders(url, settings)).toEqual({});
	});

	test('nobody, where the address of the gateway is none', () => {
		expect(authHeaders(`${home}/v1/messages`, { ...settings, baseUrl: 'gateway' })).toEqual({});
	});

	test('a gateway with a path of its own, and nothing beside it', () => {
		const below = { ...settings, baseUrl: 'https://host.example/gateway/v1' };
		const headers = (path: string) => authHeaders(`https://host.example${path}`, below);
		expect(headers('/gateway/v1/images/edits')).toEqual({ Authorization: 'Bearer sk-abc' });
		expect(headers('/gateway/v1/messages')).toHaveProperty('x-api-key', 'sk-abc');
		expect(headers('/v1/images/edits')).toEqual({});
		expect(headers('/gateway/../v1/images/edits')).toEqual({});
		expect(headers('/gateway/v1/images/%2e%2e/%2e%2e/%2e%2e/v1/images/x')).toEqual({});
		expect(headers('/gateway/v1/images/..%2f..%2f..%2fother')).toEqual({});
		expect(headers('/gateway/%2e%2e%2fv1/images/edits')).toEqual({});
	});
});
