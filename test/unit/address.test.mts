import { isBelow, normaliseAddress } from '../../gateway/address.js';
import { apiKeyProblem, authHeaders, cleanApiKey } from '../../gateway/auth.js';

describe('the address of a gateway', () => {
	test.each([
		['https://gateway.example', 'https://gateway.example'],
		['https://gateway.example/', 'https://gateway.example'],
		['https://gateway.example/v1', 'https://gateway.example'],
		['  https://gateway.example/v1/ ', 'https://gateway.example'],
		['https://gateway.example/v1/images/generations', 'https://gateway.example'],
		['https://gateway.example/api/', 'https://gateway.example/api'],
		['https://gateway.example/api/v1', 'https://gateway.example/api'],
		['https://gateway.example/v1beta', 'https://gateway.example/v1beta'],
		['http://127.0.0.1:8787/v1?x=1#y', 'http://127.0.0.1:8787'],
		['HTTPS://Gateway.Example:443/', 'https://gateway.example'],
		['https://someone:secret@gateway.example/', 'https://gateway.example'],
	])('%j means %j', (typed, meant) => {
		expect(normaliseAddress(typed)).toBe(meant);
		expect(normaliseAddress(meant)).toBe(meant);
	});

	test.each([
		'',
		'gateway.example',
		'localhost:3000',
		'ftp://gateway.example',
		'https://',
		null,
		7,
	])('%j is none', (typed) => {
		expect(normaliseAddress(typed)).toBeUndefined();
	});

	test.each([
		['https://gateway.example/v1/messages', true],
		['https://gateway.example', true],
		['https://gateway.example:443/v1', true],
		['http://gateway.example/v1', false],
		['https://gateway.example:8443/v1', false],
		['https://gateway.example.evil.test/v1', false],
		['https://gateway.example@evil.test/v1', false],
		['https://evil.test/https://gateway.example', false],
		['no address', false],
	])('%s lies below https://gateway.example: %s', (url, expected) => {
		expect(isBelow(url, 'https://gateway.example')).toBe(expected);
	});

	test.each([
		['https://host.example/gateway', true],
		['https://host.example/gateway/v1', true],
		['https://host.example/gateway2/v1', false],
		['https://host.example/gateway/../other/v1', false],
		['https://host.example/gateway/%2e%2e/other/v1', false],
		['https://host.example/', false],
	])('%s lies below a gateway that has a path of its own: %s', (url, expected) => {
		expect(isBelow(url, 'https://host.example/gateway')).toBe(expected);
	});
});

describe('a key that was pasted', () => {
	test.each([
		'sk-abc123',
		'  sk-abc123\n',
		'Bearer sk-abc123',
		'bearer   sk-abc123',
		'Bearer Bearer sk-abc123',
		'Authorization: Bearer sk-abc123',
		'"sk-abc123"',
		"'Bearer sk-abc123'",
		'Bearer "sk-abc123"',
		'\ufeffsk-abc123\u200b',
	])('%j is sk-abc123', (pasted) => {
		expect(cleanApiKey(pasted)).toBe('sk-abc123');
		expect(apiKeyProblem(pasted)).toBeUndefined();
	});

	test.each(['', '   ', '""', 'Bearer', 'Bearer ', undefined, null, 42])(
		'%j is empty',
		(pasted) => {
			expect(apiKeyProblem(pasted)).toMatch(/^The API key is empty\./);
		},
	);

	test.each([
		'<API_KEY>',
		'Bearer <API_KEY>',
		'<your key>',
		'${API_KEY}',
		'{{API_KEY}}',
		'[API_KEY]',
		'API_KEY',
		'YOUR_API_KEY',
		'your-api-key-here',
		'my key',
		'sk-xxxxxxxx',
		'sk-...',
		'sk-…',
		'sk-your-key',
		'********',
	])('%j is a placeholder', (pasted) => {
		expect(apiKeyProblem(pasted)).toMatch(/still a placeholder/);
	});

	test.each(['sk-abc 123', 'sk-abc\n123', 'sk-äöü', 'sk-абв', 'sk-a\u0000b'])(
		'%j cannot be sent',
		(pasted) => {
			expect(apiKeyProblem(pasted)).toMatch(/a blank or a character that no key has/);
		},
	);

	test.each(['sk-abc123', 'sk-proj-XXabc', 'my-own-gateway-key-17', 'k3y', 'A1b2/C3+d4=='])(
		'%j may be sent',
		(pasted) => {
			expect(apiKeyProblem(pasted)).toBeUndefined();
		},
	);
});

describe('who gets the key', () => {
	const settings = { baseUrl: 'https://gateway.example/v1/', apiKey: ' Bearer sk-abc ' };
	const home = 'https://gateway.example';

	test.each([
		'/v1/images/generations',
		'/v1/images/generations?async=true',
		'/v1/images/generations/task-1',
		'/v1/images/edits',
		'/v1/images/edits/task%2F1',
	])('images with Bearer: %s', (path) => {
		expect(authHeaders(home + path, settings)).toEqual({ Authorization: 'Bearer sk-abc' });
	});

	test('messages with the bare key and the version', () => {
		expect(authHeaders(`${home}/v1/messages`, settings)).toEqual({
			Authorization: 'sk-abc',
			'anthropic-version': '2023-06-01',
		});
	});

	test('messages with x-api-key and another version header, where the user says so', () => {
		const other = {
			...settings,
			messageAuth: 'xApiKey' as const,
			versionHeaderName: ' vendor-version ',
			versionHeaderValue: ' 2030-01-01 ',
		};
		expect(authHeaders(`${home}/v1/messages`, other)).toEqual({
			'x-api-key': 'sk-abc',
			'vendor-version': '2030-01-01',
		});
	});

	test.each([
		`${home}/v1/media/models`,
		`${home}/v1/media/models/v1/messages`,
		`${home}/`,
		`${home}/v1/messages/batches`,
		'https://media.example/v1/media/models',
		'https://evil.example/v1/images/generations',
		'http://gateway.example/v1/images/generations',
		'https://gateway.example:8443/v1/images/generations',
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
		expect(headers('/gateway/v1/messages')).toHaveProperty('Authorization', 'sk-abc');
		expect(headers('/v1/images/edits')).toEqual({});
		expect(headers('/gateway/../v1/images/edits')).toEqual({});
	});
});
