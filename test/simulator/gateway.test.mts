import { createCanvas, loadImage } from '@napi-rs/canvas';
import { disabledKey, startGateway } from '../../simulator/gateway.mjs';
import type { Fault, Gateway, GatewayOptions } from '../../simulator/gateway.mjs';

const start = 1_800_000_000_000;

let gateway: Gateway;
let time: number;

async function open(options: GatewayOptions = {}): Promise<void> {
	await gateway?.close();
	time = start;
	gateway = await startGateway({ imageSize: 64, now: () => time, ...options });
}

beforeEach(() => open());
afterAll(() => gateway.close());

interface Init {
	body?: unknown;
	headers?: Record<string, string>;
	key?: string;
	method?: string;
}

/** A request with the first account's key, and its response as JSON of any shape. */
async function ask(path: string, { body, headers, key = gateway.keys[0], method }: Init = {}) {
	const response = await fetch(gateway.url + path, {
		method: method ?? (body === undefined ? 'GET' : 'POST'),
		headers: {
			authorization: `Bearer ${key}`,
			...(body === undefined ? {} : { 'content-type': 'application/json' }),
			...headers,
		},
		body: body === undefined ? null : JSON.stringify(body),
	});
	const text = await response.text();
	const json: any = /^[[{]/.test(text) ? JSON.parse(text) : undefined;
	return { status: response.status, headers: response.headers, json };
}

const order = (more = {}) => ({ model: 'aurora-image-1', prompt: 'a fox', ...more });

async function submit(more = {}): Promise<string> {
	const { json } = await ask('/v1/images/generations?async=true', { body: order(more) });
	return json.id;
}

describe('the key of a payment', () => {
	const ordered = async (key: string, more = {}, account = gateway.keys[0]) =>
		await ask('/v1/images/generations', {
			body: order(more),
			key: account,
			headers: { 'Idempotency-Key': key },
		});

	test('the same key is the same image, charged once, until it is forgotten', async () => {
		const first = await ordered('one');
		const second = await ordered('one');
		expect(second.json).toEqual(first.json);
		expect([first, second].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([
			null,
			'true',
		]);
		await ordered('two');
		await ordered('one', {}, gateway.keys[1]);
		expect(gateway.paid).toBe(3);
		time += 86_400_000;
		await ordered('one');
		expect(gateway.paid).toBe(4);
	});

	test('another request with it is refused, and a refusal does not use it up', async () => {
		expect((await ordered('one', { prompt: '[refuse]' })).status).toBe(400);
		expect((await ordered('one')).status).toBe(200);
		const { status, json } = await ordered('one', { prompt: 'an owl' });
		expect([status, json.error.message]).toEqual([422, expect.stringMatching(/different request/)]);
		expect(gateway.paid).toBe(1);
	});

	test('two at once: one is charged, the other waits; a response that is lost is kept', async () => {
		await open({ syncMs: 30 });
		gateway.setFaults([{ call: 'sync', kind: 'cutAfter', times: 1 }]);
		await expect(ordered('lost')).rejects.toThrow();
		expect((await ordered('lost')).headers.get('idempotent-replayed')).toBe('true');
		const both = await Promise.all([ordered('one'), ordered('one')]);
		expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
		expect(gateway.paid).toBe(2);
	});

	test('a streamed response is kept whole', async () => {
		const stream = async () => {
			const headers = { authorization: `Bearer ${gateway.keys[0]}`, 'Idempotency-Key': 'one' };
			const body = JSON.stringify(order({ stream: true }));
			const type = { 'content-type': 'application/json' };
			const url = `${gateway.url}/v1/images/generations`;
			const response = await fetch(url, { method: 'POST', headers: { ...headers, ...type }, body });
			return await response.text();
		};
		expect(await stream()).toBe(await stream());
		expect(gateway.paid).toBe(1);
	});

	test('can be ignored', async () => {
		await open({ idempotencySeconds: 0 });
		await ordered('one');
		await ordered('one');
		expect(gateway.paid).toBe(2);
	});
});

describe('tasks', () => {
	test.each([
		['the query', '?async=true', {}, {}],
		['the header', '', { 'X-Async': 'true' }, {}],
		['the body', '', {}, { async: true }],
	])('%s asks for a generation task', async (_, query, headers, more) => {
		const body = order(more);
		const { json } = await ask(`/v1/images/generations${query}`, { body, headers });
		expect(json).toEqual({ id: expect.any(String), status: 'queued' });
		expect(gateway.count('submit')).toBe(1);
	});

	test('walk through the spellings and end with images', async () => {
		const statuses = ['queued', 'PENDING', ' running '];
		await open({ taskSeconds: 4, statuses, finalStatus: 'Succeeded' });
		const id = await submit({ n: 3 });
		const seen = [];
		for (const seconds of [0, 2, 3, 4]) {
			time = start + seconds * 1000;
			seen.push((await ask(`/v1/images/generations/${id}`)).json);
		}
		expect(seen.map(({ status }) => status)).toEqual([...statuses, 'Succeeded']);
		expect(seen[2]).not.toHaveProperty('data');
		expect(seen[3].data).toHaveLength(3);
		expect(seen[3].created).toBe(start / 1000 + 4);
	});

	test('are there for their own kind and their own account only', async () => {
		const id = await submit();
		const error = { message: `task ${id} does not exist`, type: 'invalid_request_error' };
		const own = `/v1/images/generations/${id}`;
		for (const [path, key] of [
			[`/v1/images/edits/${id}`, gateway.keys[0]],
			[own, gateway.keys[1]],
		]) {
			expect(await ask(path!, { key })).toMatchObject({ status: 404, json: { error } });
		}
		expect((await ask(own)).status).toBe(200);
	});
});

/** How much of a PNG one sees through in its corner, from 0 (all) to 255 (nothing). */
async function cornerOf(png: Buffer): Promise<number> {
	const context = createCanvas(64, 64).getContext('2d');
	context.drawImage(await loadImage(png), 0, 0);
	return context.getImageData(1, 1, 1, 1).data[3]!;
}

test('"remove the background" knows a picture of an earlier start', async () => {
	const pictureAt = async (json: any) =>
		Buffer.from(await (await fetch(json.data[0].url)).arrayBuffer());
	const { json } = await ask('/v1/images/generations', { body: order() });
	const picture = await pictureAt(json);
	await open();
	const edited = async (prompt: string) => {
		const form = new FormData();
		form.set('model', 'aurora-image-1');
		form.set('prompt', prompt);
		form.set('image', new Blob([new Uint8Array(picture)], { type: 'image/png' }), 'fox.png');
		const response = await fetch(`${gateway.url}/v1/images/edits`, {
			method: 'POST',
			headers: { authorization: `Bearer ${gateway.keys[0]}` },
			body: form,
		});
		return await pictureAt(await response.json());
	};
	expect(await cornerOf(await edited('remove the background'))).toBe(0);
	expect(await cornerOf(await edited('at night'))).toBe(255);
});

describe('refusals', () => {
	test.each([
		['no model', { prompt: 'a fox' }, /model is required/],
		['an unknown model', order({ model: 'nothing' }), /unknown model/],
		['an asynchronous model', order({ model: 'aurora-studio' }), /not support sync/],
		['too many images', order({ n: 5 }), /n of aurora-image-1/],
		['an unknown size', order({ size: '1x1' }), /size of aurora-image-1/],
	])('%s', async (_, body, message) => {
		const { status, json } = await ask('/v1/images/generations', { body });
		const error = { message: expect.stringMatching(message), type: 'invalid_request_error' };
		expect([status, json]).toEqual([400, { error }]);
		expect(gateway.paid).toBe(0);
	});

	test('keys', async () => {
		const path = '/v1/images/generations/none';
		for (const authorization of ['', 'Bearer <API_KEY>', gateway.keys[0]]) {
			const { status, json } = await ask(path, { headers: { authorization } });
			expect([status, json.error.type]).toEqual([401, 'invalid_request_error']);
		}
		expect((await ask(path)).status).toBe(404);
	});

	test('more requests in a second than allowed', async () => {
		await open({ requestsPerSecond: 2 });
		const statuses = [];
		for (const at of [0, 500, 900, 1000, 1400, 1500]) {
			time = start + at;
			statuses.push((await ask('/v1/media/models')).status);
		}
		expect(statuses).toEqual([200, 200, 429, 200, 429, 200]);
	});
});

describe('messages', () => {
	const question = { role: 'user', content: 'Why is the sky blue?' };
	const send = (more = {}, headers: Record<string, string> = {}) => {
		const body = { model: 'reason-large', max_tokens: 400, messages: [question], ...more };
		const sent = { authorization: gateway.keys[0], 'anthropic-version': '2023-06-01', ...headers };
		return ask('/v1/messages', { body, headers: sent });
	};

	test.each([
		['', 'No token provided'],
		['<API_KEY>', 'invalid key'],
		['Bearer sk-embedded-gateway-one', 'invalid key'],
		[disabledKey, 'this key is not enabled'],
	])('refuse the key %p', async (authorization, message) => {
		const { status, json } = await send({}, { authorization });
		expect([status, json.error.message]).toEqual([401, expect.stringMatching(`^${message}`)]);
	});

	test.each([
		[{}, 200],
		[{ authorization: '', 'x-api-key': 'sk-embedded-gateway-one' }, 200],
		[{ 'anthropic-version': '', 'any-version': '2023-06-01' }, 200],
		[{ 'anthropic-version': '2020-01-01' }, 400],
	])("take the key alone, in either header, and any vendor's version: %j", async (headers, is) => {
		expect((await send({}, { ...headers })).status).toBe(is);
	});

	const source = { type: 'base64', media_type: 'image/png', data: 'AAAA' };
	const saying = (block: object) => ({ messages: [{ role: 'user', content: [block] }] });
	test.each([
		[{ model: 'gpt' }, 'Incorrect model ID'],
		[{ model: 'reason-next', temperature: 1 }, 'temperature'],
		[saying({ type: 'text', text: '\n' }), 'non-empty'],
		[saying({ type: 'image', source }), 'appears to be'],
		[{ tools: [{ name: 'a', input_schema: { type: 'object', oneOf: [] } }] }, 'at the top level'],
		[{ thinking: { type: 'adaptive' }, tool_choice: { type: 'any' } }, 'forces tool use'],
	])('refuse %j', async (more, message) => {
		const { status, json } = await send(more);
		expect([status, json.error.message]).toEqual([400, expect.stringContaining(message)]);
		expect(gateway.paid).toBe(0);
	});

	const thinks = expect.stringMatching(/./) as unknown;
	const legacy = { thinking: { type: 'enabled', budget_tokens: 50 }, model: 'reason-small' };
	test.each([
		[{}, undefined],
		[{ thinking: { type: 'adaptive' } }, thinks],
		[{ thinking: { type: 'adaptive', display: 'omitted' } }, ''],
		[legacy, thinks],
		[{ model: 'reason-large-thinking' }, thinks],
	])('think as %j says', async (more, thinking) => {
		const { json } = await send(more);
		expect(json.content[0].thinking).toEqual(thinking);
		expect(json.usage.output_tokens_details !== undefined).toBe(thinking !== undefined);
	});

	test.each(['summarized', 'omitted'])('want %s thinking back unchanged', async (display) => {
		const thinking = { type: 'adaptive', display };
		const { json } = await send({ thinking });
		const [block, text] = json.content;
		const again = (first: unknown) => {
			const assistant = { role: 'assistant', content: [first, text] };
			return send({ thinking, messages: [question, assistant, { role: 'user', content: 'On' }] });
		};
		expect((await again(block)).status).toBe(200);
		const { signature, ...unsigned } = block;
		const flipped = signature.replace(/^./, signature.startsWith('A') ? 'B' : 'A');
		const longer = { ...block, thinking: `${block.thinking} ` };
		for (const changed of [unsigned, longer, { ...block, signature: flipped }]) {
			const { status, json: refused } = await again(changed);
			expect(status).toBe(400);
			expect(refused.error.message).toContain('messages.1.content.0');
		}
	});
});

describe('faults', () => {
	const strike = async (fault: Omit<Fault, 'call'>) => {
		gateway.setFaults([{ call: 'sync', ...fault }]);
		return await ask('/v1/images/generations', { body: order() }).catch(() => undefined);
	};

	test('refuse, with Retry-After in both forms', async () => {
		const seconds = await strike({ kind: 'status', status: 429, retryAfter: 7 });
		expect([seconds?.status, seconds?.headers.get('retry-after')]).toEqual([429, '7']);
		const date = await strike({ kind: 'status', status: 503, retryAfter: 'date:60' });
		expect(Date.parse(date!.headers.get('retry-after')!)).toBe(start + 60_000);
		expect(gateway.paid).toBe(0);
	});

	test('cut the connection before or after the payment', async () => {
		expect(await strike({ kind: 'cut' })).toBeUndefined();
		expect(gateway.paid).toBe(0);
		expect(await strike({ kind: 'cutAfter' })).toBeUndefined();
		expect(gateway.paid).toBe(1);
		expect(gateway.paidByPrompt).toEqual({ 'a fox': 1 });
	});
});

test('the admin endpoints count, set faults and start over', async () => {
	await ask('/v1/images/generations', { body: order() });
	const stats = async () => (await ask('/__admin/stats')).json;
	const counted = { counts: { sync: 1 }, paid: 1, paidByPrompt: { 'a fox': 1 }, maxInFlight: 1 };
	expect(await stats()).toMatchObject(counted);
	const [first] = (await ask('/__admin/requests')).json;
	expect(first).toMatchObject({ call: 'sync', account: 'one', status: 200, paid: true, at: start });
	await ask('/__admin/faults', { body: [{ call: 'any', kind: 'status', status: 418 }] });
	expect((await ask('/v1/media/models')).status).toBe(418);
	await ask('/__admin/reset', { method: 'POST' });
	expect(await stats()).toMatchObject({ requests: 0, paid: 0, maxInFlight: 0 });
	expect((await ask('/v1/media/models')).status).toBe(200);
});
