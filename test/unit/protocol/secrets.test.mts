/** What is removed from texts: the key, and what authenticates by its name or its beginning. */
import { openGateway, type GatewayError } from '../../../gateway/index.js';
import { accountOf } from '../../../gateway/protocol/account.js';
import { imagesOf } from '../responses/receipts.mjs';

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
	['sig=seven-hills-7', 'seven-hills-7', '***'],
	['code=seven-hills-7', 'seven-hills-7', '***'],
	['code=seven-hills', 'seven-hills', 'seven-hills'],
])('of the query %s of the Base URL, %s is shown as %s', (query, value, shown) => {
	const { withoutKey } = accountWith('x-tenant', '7', `https://gateway.example/api?${query}`);
	expect(withoutKey(value)).toBe(shown);
});

describe('the client, whose gateway quotes the key everywhere', () => {
	const URL_OF_IMAGE = `https://images.example/${KEY}/1.png`;

	/** By how much sleeps have moved the clocks. */
	let sleptMs = 0;
	beforeAll(() => {
		for (const clock of [Date, performance]) {
			const now = clock.now.bind(clock);
			jest.spyOn(clock, 'now').mockImplementation(() => now() + sleptMs);
		}
	});
	afterAll(() => jest.restoreAllMocks());

	/** What leaves a client with a journal. */
	async function whatLeaves(httpCode: number, json: object) {
		const left: unknown[] = [];
		const gateway = openGateway<string>(
			{ baseUrl: `https://gateway.example/${KEY}`, apiKey: KEY },
			{
				transport: async () => {
					const body = Buffer.from(JSON.stringify(json));
					return await Promise.resolve({ httpCode, headers: { 'x-request-id': KEY }, body });
				},
				sleep: async (ms) => await Promise.resolve(void (sleptMs += ms)),
				log: (line) => void left.push(line),
				journal: {
					find: () => undefined,
					begin: (_, pending) => void left.push(pending()),
					settle: (_, end) => void left.push(end.charged === 'maybe' ? end.problem : end.charged),
				},
			},
		);
		const request = { model: 'm', prompt: 'p' };
		const made = await gateway.generate(request, { key: 'a' }).catch((error: GatewayError) => {
			left.push(error.message, error.stack, error.problem);
		});
		const task = { taskId: 'task_1', taskType: 'generation' } as const;
		for (const step of [
			gateway.wait(task, 1),
			gateway.getStatus(task),
			gateway.models.readOnce('names'),
			gateway.download({ url: URL_OF_IMAGE }, async () => ({})),
		]) {
			await step.catch((error: GatewayError) => left.push(error.stack, error.problem));
		}
		gateway.end();
		return { made, left: JSON.stringify(left) };
	}

	test.each([400, 401, 404, 500, 503])('%d: no error, log or record has it', async (httpCode) => {
		const { left } = await whatLeaves(httpCode, { error: { message: `It is ${KEY}` }, id: KEY });
		expect(left).toContain('***');
		expect(left).not.toContain(KEY);
	});

	test('an image has the address that the gateway wrote, to be downloaded from', async () => {
		const { made, left } = await whatLeaves(200, { data: [{ url: URL_OF_IMAGE }] });
		expect(imagesOf(made ?? undefined)).toMatchObject([{ url: URL_OF_IMAGE }]);
		expect(left).not.toContain(KEY);
	});
});
