import type { INode } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { readAccount } from '../../../nodes/shared/transport/nodeAccount.js';

const FIELDS = { baseUrl: 'https://gateway.example', apiKey: 'sk-one-two-three' };
const tenant = (value: string) => ({ headers: { values: [{ name: 'x-tenant', value }] } });
const node = { name: 'Node', credentials: { mediaGatewayApi: { id: '7', name: 'c' } } } as INode &
	object;
const address = (fields: object) => readAccount({ ...FIELDS, ...fields }, node);

test('a new key or header value is the same account: what was paid for is found again', () => {
	const before = address(tenant('tenant-before'));
	for (const fields of [{}, tenant('tenant-after'), { apiKey: 'sk-four-five-six' }]) {
		const after = address(fields);
		expect(after.id).toBe(before.id);
		expect(after.idWithKey).not.toBe(before.idWithKey);
	}
	expect(address({ baseUrl: 'https://other.example' }).id).not.toBe(before.id);
});

test('every secret is removed from a text', () => {
	const headers = { values: [{ name: 'x-team-token', value: 'tenant-0123456789' }] };
	const { withoutKey } = address({ headers });
	expect(withoutKey('for sk-one-two-three of tenant-0123456789')).toBe('for *** of ***');
});

describe('what authenticates', () => {
	const VALUE = 'team-0123456789';
	const erased = (fields: object, text: string) => address(fields).withoutKey(text);
	const header = (name: string, value = VALUE) => ({ headers: { values: [{ name, value }] } });
	const query = (name: string) => ({ baseUrl: `https://g.example/v1?${name}=${VALUE}` });

	test.each([
		...['x-tenant', 'OpenAI-Organization', 'x-region', 'x-client-id', 'x-author', 'x-keyspace'],
	])('is no header %s', (name) => expect(erased(header(name), VALUE)).toBe(VALUE));

	test.each([
		...['Ocp-Apim-Subscription-Key', 'cf-aig-authorization', 'X-Auth', 'apikey', 'X-Csrf-Token'],
		...['cf-access-client-secret', 'Cookie', 'x-goog-signature', 'proxy-password', 'app_jwt'],
	])('is a header %s', (name) => expect(erased(header(name), `a ${VALUE}`)).toBe('a ***'));

	test.each(['sk-0123456789', 'pk_0123456789', 'eyJhbGciOi.e30', 'Basic dXNlcjpwYXNz'])(
		'is a value that begins like %s',
		(value) => {
			const said = value.split(' ').at(-1)!;
			expect(erased(header('x-route', value), `a ${said}`)).toBe('a ***');
		},
	);

	test.each([
		['api-version', VALUE],
		['tenant', VALUE],
		['key', '***'],
		['subscription-key', '***'],
		['sig', '***'],
		['code', '***'],
	])('in the query of an address, by its name: %s', (name, shown) => {
		expect(erased(query(name), VALUE)).toBe(shown);
	});
});

test('a key that is a word, for a server that needs none, stays in texts', () => {
	const { withoutKey } = address({ apiKey: 'anything' });
	expect(withoutKey('Is there anything else?')).toBe('Is there anything else?');
});

test.each(['sk-one-two-three', 'Kq#vR!xZ_bTw', '12345678'])('but not the key %s', (apiKey) => {
	expect(address({ apiKey }).withoutKey(`It is ${apiKey}.`)).toBe('It is ***.');
});

test('a public list needs no key, and it is known that there is none', () => {
	const { hasKey } = readAccount({ ...FIELDS, apiKey: '<API_KEY>' }, node, false);
	expect([hasKey, address({}).hasKey]).toEqual([false, true]);
});
