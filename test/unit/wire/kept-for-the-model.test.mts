/** What stays as it came, though the key is in it: what goes back to a model. */
import { Readable } from 'node:stream';
import { accountOf } from '../../../gateway/protocol/account.js';
import { planGeneration } from '../../../gateway/protocol/requestPlan.js';
import { planMessage } from '../../../gateway/messages/index.js';
import type { RequestPlan } from '../../../gateway/protocol/requestPlan.js';
import { Requests } from '../../../gateway/wire/inFlight.js';
import { createSendOnce } from '../../../gateway/wire/sendOnce.js';

const KEY = 'sk-0123456789';

async function jsonOf(plan: RequestPlan, body: unknown): Promise<unknown> {
	const sendOnce = createSendOnce({
		account: accountOf({ baseUrl: 'https://gateway.example', apiKey: KEY }),
		limits: { timeoutMs: 60_000 },
		requests: new Requests(),
		transport: async () => {
			const bytes = Readable.from([Buffer.from(JSON.stringify(body))]);
			return await Promise.resolve({ httpCode: 200, headers: {}, body: bytes });
		},
	});
	const outcome = await sendOnce(plan);
	return outcome.kind === 'response' ? outcome.json : outcome;
}

test('blocks of thinking and of tool calls, but not texts', async () => {
	const kept = [
		{ type: 'thinking', thinking: `It is ${KEY}`, signature: KEY },
		{ type: 'tool_use', id: 'a', name: 'send', input: { header: `Bearer ${KEY}` } },
	];
	const plan = planMessage({ model: 'm', max_tokens: 1, messages: [] } as never);
	const content = [...kept, { type: 'text', text: `It is ${KEY}` }];
	const json = await jsonOf(plan, { id: KEY, content });
	expect(json).toEqual({ id: '***', content: [...kept, { type: 'text', text: 'It is ***' }] });
});

test('a revised prompt', async () => {
	const data = [{ url: '/1.png', revised_prompt: `A sign that says ${KEY}` }];
	const plan = planGeneration({ model: 'm', prompt: 'p' });
	expect(await jsonOf(plan, { note: KEY, data })).toEqual({ note: '***', data });
});
