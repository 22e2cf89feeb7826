/** What is removed from texts: the key, and what authenticates by its name or its beginning. */
import { accountOf } from '../../../gateway/protocol/account.js';

const KEY = 'test-key-of-nobody';
const accountWith = (name: string, value: string, baseUrl = 'https://gateway.example/api') =>
	accountOf({
		baseUrl,
		apiKey: KEY,
		gatewaySettings: true,
		headers: { values: [{ name, value }] },
	});

test.each([
	['x-tenant', 'project-1234', 'project-1234'],
	['x-region', 'us-east-1', 'us-east-1'],
	['OpenAI-Organization', 'org-AbC123xyZ456', 'org-AbC123xyZ456'],
	['x-monkeys', 'seven-hills', 'seven-hills'],
	['Ocp-Apim-Subscription-Key', 'project-1234', '***'],
	['x-access-token', 'project-1234', '***'],
	['Cookie', 'project-1234', '***'],
	['x-tenant', 'sk-project-1234', '***'],
	['x-tenant', 'eyJproject1234', '***'],
	['x-tenant', 'Bearer project-1234', 'Bearer ***'],
])('a header %s: %s is shown as %s', (name, value, shown) => {
	const { withoutKey } = accountWith(name, value);
	expect(withoutKey(`At /${value}/1.png, ${KEY}`)).toBe(`At /${shown}/1.png, ***`);
});

test.each([
	['tenant=seven-hills', 'seven-hills', 'seven-hills'],
	['sig=seven-hills', 'seven-hills', '***'],
	['code=seven-hills', 'seven-hills', '***'],
])('of the query %s of the Base URL, %s is shown as %s', (query, value, shown) => {
	const { withoutKey } = accountWith('x-tenant', '7', `https://gateway.example/api?${query}`);
	expect(withoutKey(value)).toBe(shown);
});

test('the key that was removed from an address is put back at the own server only', () => {
	const { toRequest, withoutKey } = accountWith('x-tenant', '7');
	const own = `https://gateway.example/files/${KEY}/1.png?key=${KEY}`;
	expect(withoutKey(own)).toBe('https://gateway.example/files/***/1.png?key=***');
	expect(toRequest(withoutKey(own))).toBe(own);
	const foreign = 'https://images.example/***/1.png';
	expect(toRequest(foreign)).toBe(foreign);
});
