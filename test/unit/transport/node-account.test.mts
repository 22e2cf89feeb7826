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

test('every secret is removed from a text, whole or in pieces', () => {
	const { withoutKey, createKeyFilter } = address(tenant('tenant-0123456789'));
	expect(withoutKey('for sk-one-two-three of tenant-0123456789')).toBe('for *** of ***');
	const filter = createKeyFilter();
	const pieces = ['a tenant-01', '23456789 b sk-one-', 'two-three c ten'].map(filter.add);
	expect(pieces.join('') + filter.rest()).toBe('a *** b *** c ten');
});

test('what a model has written keeps words, dates and versions that are no secrets', () => {
	const text = 'Is there anything else on 2024-10-21 in v1.2.3456 of acme-images?';
	for (const value of ['2024-10-21', 'v1.2.3456', 'acme-images']) {
		const { withoutKey, withoutKeyInContent } = address({ apiKey: 'anything', ...tenant(value) });
		expect(withoutKeyInContent(text)).toBe(text);
		expect(withoutKey(text)).not.toContain('anything');
	}
	for (const secret of ['0123456789abcdef', '12345678', 'v20481024hunter']) {
		for (const fields of [{ apiKey: secret }, tenant(secret)]) {
			expect(address(fields).withoutKeyInContent(`It is ${secret}.`)).toBe('It is ***.');
		}
	}
	for (const apiKey of ['sk-one-two-three', 'Kq#vR!xZ_bTw']) {
		expect(address({ apiKey }).withoutKeyInContent(`It is ${apiKey}.`)).toBe('It is ***.');
	}
});

test('a public list needs no key, and it is known that there is none', () => {
	const { hasKey } = readAccount({ ...FIELDS, apiKey: '<API_KEY>' }, node, false);
	expect([hasKey, address({}).hasKey]).toEqual([false, true]);
});
