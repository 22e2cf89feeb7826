import type { INode } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { readAddress } from '../../../nodes/shared/transport/gatewayAddress.js';

const FIELDS = { baseUrl: 'https://gateway.example', apiKey: 'sk-one-two-three' };
const tenant = (value: string) => ({ headers: { values: [{ name: 'x-tenant', value }] } });
const node = { name: 'Node', credentials: { mediaGatewayApi: { id: '7', name: 'c' } } } as INode &
	object;
const address = (fields: object) => readAddress({ ...FIELDS, ...fields }, node);

test('a new key or header value is the same account: what was paid for is found again', () => {
	const before = address(tenant('tenant-before'));
	for (const fields of [{}, tenant('tenant-after'), { apiKey: 'sk-four-five-six' }]) {
		const after = address(fields);
		expect(after.account).toBe(before.account);
		expect(after.accountAndKey).not.toBe(before.accountAndKey);
	}
	expect(address({ baseUrl: 'https://other.example' }).account).not.toBe(before.account);
});

test('every secret is removed from a text, whole or in pieces', () => {
	const { withoutKey, createKeyFilter } = address(tenant('tenant-0123456789'));
	expect(withoutKey('for sk-one-two-three of tenant-0123456789')).toBe('for *** of ***');
	const filter = createKeyFilter();
	const pieces = ['a tenant-01', '23456789 b sk-one-', 'two-three c ten'].map(filter.add);
	expect(pieces.join('') + filter.rest()).toBe('a *** b *** c ten');
});

test('a public list needs no key, and it is known that there is none', () => {
	const { hasKey } = readAddress({ ...FIELDS, apiKey: '<API_KEY>' }, node, false);
	expect([hasKey, address({}).hasKey]).toEqual([false, true]);
});
