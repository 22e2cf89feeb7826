import {
	additionalHeaders,
	authHeaders,
	credentialHeaders,
	skipsCertificate,
} from '../../../gateway/protocol/auth.js';
import { credentialProblem, readCredential } from '../../../gateway/protocol/credential.js';
import { textOf } from '../../../nodes/shared/errors/settingPlaces.js';

const BASE = 'https://gateway.example/api';
const fields = (headers: unknown, more: object = {}) => ({
	baseUrl: `${BASE}/v1`,
	apiKey: 'sk-abc',
	headers,
	...more,
});
const rows = (...values: unknown[]) => fields({ values });
const row = (name: unknown, value: unknown) => ({ name, value });

describe('reading additional headers', () => {
	test.each<[string, unknown]>([
		['no field', undefined],
		['an empty list', { values: [] }],
		['rows without a name', { values: [row('', ''), row('  ', 'x'), {}, null, 'x: y'] }],
		['a text from an expression', 'x-tenant: 7'],
		['names with their values from an expression', { 'x-tenant': '7' }],
		['an empty list from an expression', []],
	])('%s is no header and no problem', (_name, headers) => {
		expect(readCredential(fields(headers)).headers).toEqual([]);
		expect(credentialProblem(readCredential(fields(headers)))).toBeUndefined();
	});

	test('spaces and line ends around a name and a value are removed, a number is a text', () => {
		const given = rows(row(' x-tenant ', ' seven\r\n'), row('x-number', 7));
		expect(credentialProblem(readCredential(given))).toBeUndefined();
		expect(readCredential(given).headers).toEqual([row('x-tenant', 'seven'), row('x-number', '7')]);
	});

	test.each<[string, unknown]>([
		['a single row that is no list', { values: row('x-tenant', '7') }],
		['a list from an expression', [row('x-tenant', '7')]],
	])('%s is read', (_name, headers) => {
		expect(credentialProblem(readCredential(fields(headers)))).toBeUndefined();
		expect(readCredential(fields(headers)).headers).toEqual([row('x-tenant', '7')]);
	});
});

describe('a header that would replace another one is named, without its value', () => {
	test.each([
		...['Authorization', 'X-API-Key', 'Content-Type', 'content-length', 'Host', 'accept', 'TE'],
		...['Transfer-Encoding', 'Connection', 'X-Async', 'anthropic-version', 'Expect'],
	])('%s is already set', (name) => {
		const problem = credentialProblem(readCredential(rows(row(name, 'hidden-value'))))!;
		expect(textOf(problem)).toBe(
			`The header '${name}' is already set, by the client itself or by another field. Remove it, or give it another name. See 'Additional Headers' under 'Gateway Settings' in the Media Gateway credential.`,
		);
	});

	test('the version header by the name that the user gave it, and then no other', () => {
		const named = { ...rows(row('Vendor-Version', '1')), versionHeaderName: 'vendor-version' };
		expect(credentialProblem(readCredential(named))?.message).toMatch(
			/already set, by the client itself/,
		);
		const free = { ...rows(row('anthropic-version', '1')), versionHeaderName: 'vendor-version' };
		expect(credentialProblem(readCredential(free))).toBeUndefined();
	});
});

test.each(['authorization', 'X-Api-Key', 'Content-Type', 'anthropic-version', 'X-Tenant'])(
	'a header for the key of a payment that is none of its own is refused: %s',
	(idempotencyHeader) => {
		const given = { ...rows(row('x-tenant', '7')), idempotencyHeader };
		expect(textOf(credentialProblem(readCredential(given))!)).toMatch(
			/already set.* See 'Idempotency Header' under 'Gateway Settings'/,
		);
	},
);

test('additional headers go to the origin of the gateway, and to no other', () => {
	const given = { ...rows(row('x-tenant', '7')), mediaUrl: 'https://m.example' };
	const credential = readCredential(given);
	for (const path of ['/api/v1/messages', '/v1/media/models', '/files/one.png']) {
		const headers = additionalHeaders(`https://gateway.example${path}`, credential);
		expect(headers).toEqual({ 'x-tenant': '7' });
	}
	for (const home of [
		...['https://m.example', 'http://gateway.example', 'https://gateway.example:8443', ''],
		...['https://gateway.example.evil.test', 'https://gateway.example@evil.test'],
	]) {
		expect(credentialHeaders(`${home}/v1/media/models`, credential)).toEqual({});
	}
	const nowhere = readCredential({ ...given, baseUrl: 'gateway' });
	expect(credentialHeaders('https://gateway.example/v1/messages', nowhere)).toEqual({});
});

test('a version header that would replace the key is refused', () => {
	const given = { ...fields(undefined), versionHeaderName: 'Authorization' };
	expect(textOf(credentialProblem(readCredential(given))!)).toMatch(
		/'Version Header Name' under 'Gateway Settings'/,
	);
});

test.each<[string, unknown]>([
	['a number', 7],
	['an object without methods', Object.create(null)],
])('%s in every field is an empty field', (_name, value) => {
	const names = ['messageAuth', 'versionHeaderName', 'mediaUrl', 'asyncFlag', 'imageFieldName'];
	const given = {
		...fields(undefined),
		...Object.fromEntries(names.map((name) => [name, value])),
		allowUnauthorizedCerts: value,
	};
	expect(credentialProblem(readCredential(given))).toBeUndefined();
	const credential = readCredential(given);
	expect(Object.keys(authHeaders(`${BASE}/v1/messages`, credential))).toHaveLength(2);
	expect(skipsCertificate(`${BASE}/v1/messages`, credential)).toBe(false);
});

test.each([
	[
		{ baseUrl: 'gateway.example' },
		/^The base URL is not a web address\. It must begin with.* See 'Base URL' in/,
	],
	[{ mediaUrl: 'ftp://m.example' }, /^The media URL is not a web address.* See 'Media URL' under/],
	[{ apiKey: 'Bearer ' }, /^The API key is empty\. Enter the key.* See 'API Key' in/],
])('the problem of %j is told with what to do', (field, words) => {
	expect(textOf(credentialProblem(readCredential(fields(undefined, field)))!)).toMatch(words);
});

test('an untrusted certificate is accepted only if the user chose so, at the model list as well', () => {
	const mediaUrl = 'https://m.example';
	const at = (url: string, allowUnauthorizedCerts: unknown) =>
		skipsCertificate(url, readCredential(fields(undefined, { mediaUrl, allowUnauthorizedCerts })));
	expect(at(`${BASE}/v1/messages`, true)).toBe(true);
	expect(at(`${mediaUrl}/v1/media/models`, true)).toBe(true);
	expect(at(`${mediaUrl}/v1/media/models`, false)).toBe(false);
	expect(at('https://images.example/1.png', true)).toBe(false);
});

test('a choice that there is not is the usual one', () => {
	const given = fields(undefined, { asyncFlag: 'cookie', imageApi: ' json ', messageAuth: 7 });
	expect(readCredential(given)).toMatchObject({
		asyncFlag: 'query',
		imageApi: 'json',
		messageAuth: 'xApiKey',
	});
});
