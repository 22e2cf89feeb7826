import type { Gateway } from '../../simulator/gateway.mjs';
import { createDataTable, selectTable } from '../../harness/server/data-table.mjs';
import {
	itemsOf,
	readExample,
	type Credentials,
	type Workflow,
} from '../../harness/server/example-workflows.mjs';
import { serverVersions } from '../../harness/server/packed-package.mjs';
import type { Json, N8nServer } from '../../harness/server/server.mjs';
import { until } from '../../harness/wait-until.mjs';
import { spendDailyBudget } from './daily-budget.mjs';
import { killInTheMiddle, runTwiceAtOnce } from './never-pay-twice.mjs';
import { openRealServer, type RealServer } from './real-server.mjs';

/** Waits until the page of an execution shows a text. */
async function pageShows(address: string, text: string): Promise<void> {
	await until(`a page with '${text}'`, 120, async () => {
		// While the execution is on its way to the page, an answer may not come at all.
		const response = fetch(address, { signal: AbortSignal.timeout(5000) });
		return (await response.then(async (one) => await one.text()).catch(() => '')).includes(text);
	});
}

/** The examples about what is paid for, each driven by its own trigger. */
(serverVersions().includes('2') ? describe : describe.skip)('the examples about paying', () => {
	let real: RealServer;
	let server: N8nServer;
	let gateway: Gateway;
	let credentials: Credentials;

	beforeAll(async () => {
		real = await openRealServer('2', { taskSeconds: [1, 2] });
		({ server, gateway, credentials } = real);
	});
	afterAll(async () => await real?.close());
	beforeEach(() => {
		gateway.reset();
		gateway.setFaults([]);
	});

	async function store(example: string, prepare: (workflow: Workflow) => void = () => undefined) {
		const workflow = readExample(example, credentials);
		prepare(workflow);
		return (await server.createWorkflow(workflow)).id;
	}

	/** What an address answers once it is there: a webhook may need a moment after activation. */
	async function answerOf(address: string, init?: RequestInit): Promise<Response> {
		return await until(`an answer at ${address}`, 30, async () => {
			const response = await fetch(address, init);
			const text = await response.clone().text();
			return !/not registered|Problem loading form/i.test(text) && response;
		});
	}

	it('never-pay-twice is killed in the middle, and pays for each row once', async () => {
		await killInTheMiddle(server, gateway, credentials);
	});

	it('never-pay-twice is started twice at once, and pays for each row once', async () => {
		await runTwiceAtOnce(server, gateway, credentials);
	});

	it.each([
		['', false],
		[', also where an execution waits in the database', true],
	])('daily-budget spends no more than its limit%s', async (_, waits) => {
		await spendDailyBudget(server, gateway, credentials, waits);
	});

	it('daily-budget starts with its button, and writes down what that cost', async () => {
		const table = await createDataTable(server, 'daily-budget-button', {
			day: 'string',
			cost: 'number',
		});
		const id = await store('daily-budget', (workflow) => selectTable(workflow, table));
		const started = await server.runManually(id, 'When clicking ‘Execute workflow’');
		const execution = await server.settled(started);
		expect(itemsOf(execution, 'Save the images here')).toHaveLength(2);
		expect(await table.rows()).toMatchObject([{ cost: 0.08 }]);
		expect(gateway.paid).toBe(2);
	});

	it('image-api answers at once, and has the result at its second address', async () => {
		const id = await store('image-api');
		await server.activate(id);
		const ask = `${server.url}/webhook/media-gateway-image`;
		const post = async (body: object) =>
			await answerOf(ask, {
				method: 'POST',
				headers: { 'content-type': 'application/json' },
				body: JSON.stringify(body),
			});
		const accepted = await post({ prompt: 'a fox' });
		expect(accepted.status).toBe(202);
		const { taskId } = (await accepted.json()) as Json;
		expect(taskId).toEqual(expect.any(String));
		const result = `${server.url}/webhook/media-gateway-result?taskId=`;
		const found = await until('the result', 30, async () => {
			const state = (await (await answerOf(result + taskId)).json()) as Json;
			return state.finished === true && state;
		});
		expect(found).toMatchObject({ taskId, status: 'completed', images: [expect.anything()] });
		expect((await fetch(found.images[0].url)).status).toBe(200);
		const refused = await post({});
		expect([refused.status, await refused.json()]).toEqual([400, { error: "'Prompt' is empty" }]);
		expect((await answerOf(`${result}task_none`)).status).toBe(404);
		expect(gateway.paid).toBe(1);
		await server.deactivate(id);
	});

	/** Orders an image by the form of an example. @returns the page of its execution, which waits */
	async function orderByForm(example: string) {
		const id = await store(example);
		await server.activate(id);
		const { webhookId } = readExample(example).nodes.find(({ type }) =>
			type.endsWith('.formTrigger'),
		);
		const address = `${server.url}/form/${webhookId}`;
		await answerOf(address);
		const order = new FormData();
		order.append('field-0', 'a fox');
		const { formWaitingUrl } = (await (
			await fetch(address, { method: 'POST', body: order })
		).json()) as Json;
		const waiting = String(formWaitingUrl).replace('localhost', '127.0.0.1');
		return { id, waiting, shows: async (text: string) => await pageShows(waiting, text) };
	}

	it.each([
		['Yes', 'Here it is', 1],
		['No', 'Nothing was generated', 0],
	])('approve-the-price: the price, then %s', async (choice, page, paid) => {
		const { id, waiting, shows } = await orderByForm('approve-the-price');
		await shows('Estimated cost: 0.04');
		expect(gateway.paid).toBe(0);
		const approval = new FormData();
		approval.append('field-0', choice);
		await fetch(waiting, { method: 'POST', body: approval });
		await shows(page);
		expect(gateway.paid).toBe(paid);
		await server.deactivate(id);
	});

	it.each([
		['Yes', 'Published', 1],
		['No', 'Not published', 0],
	])('approve-the-image: the image, then %s', async (choice, page, published) => {
		const { id, waiting, shows } = await orderByForm('approve-the-image');
		await shows('Publish it?');
		await shows(`<img src="${gateway.url}`);
		expect(gateway.paid).toBe(1);
		const approval = new FormData();
		approval.append('field-1', choice);
		await fetch(waiting, { method: 'POST', body: approval });
		await shows(page);
		const [{ id: executionId }] = (await server.executions({ workflowId: id })) as [Json];
		// The page tells n8n that it is done.
		await fetch(waiting, { method: 'POST' });
		const execution = await server.settled(String(executionId));
		const files = published === 0 ? [] : itemsOf(execution, 'Save the images here');
		expect(files.map(({ binary }) => binary.data.mimeType)).toEqual(
			Array(published).fill('image/png'),
		);
		expect(gateway.paid).toBe(1);
		await server.deactivate(id);
	});

	it('mcp-server offers both tools, and they give addresses', async () => {
		// Each call is an execution of its own, with a budget of its own: two images would be more.
		const id = await store('mcp-server', ({ nodes }) => {
			for (const { parameters } of nodes) {
				if (parameters.options?.budget) parameters.options.budget = 0.07;
			}
		});
		await server.activate(id);
		const address = `${server.url}/mcp/media-gateway`;
		let session: string | null = null;
		let number = 0;
		const call = async (method: string, params: object, isNote = false): Promise<Json> => {
			number += 1;
			const response = await answerOf(address, {
				method: 'POST',
				headers: {
					'content-type': 'application/json',
					accept: 'application/json, text/event-stream',
					...(session === null ? {} : { 'mcp-session-id': session }),
				},
				body: JSON.stringify({
					jsonrpc: '2.0',
					method,
					params,
					...(isNote ? {} : { id: number }),
				}),
			});
			session ??= response.headers.get('mcp-session-id');
			const text = await response.text();
			return isNote ? {} : (JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text) as Json).result;
		};
		await call('initialize', {
			protocolVersion: '2025-03-26',
			capabilities: {},
			clientInfo: { name: 'test', version: '1' },
		});
		await call('notifications/initialized', {}, true);
		const { tools } = await call('tools/list', {});
		expect(tools.map(({ name }: Json) => name).sort()).toEqual(['edit_image', 'generate_image']);
		const addressIn = ({ content }: Json) => /http:[^"\\]+/.exec(JSON.stringify(content))?.[0];
		const drawn = addressIn(
			await call('tools/call', { name: 'generate_image', arguments: { prompt: 'a fox' } }),
		);
		expect((await fetch(drawn!)).status).toBe(200);
		const again = await call('tools/call', {
			name: 'generate_image',
			arguments: { prompt: 'an owl' },
		});
		expect(addressIn(again)).not.toBe(drawn);
		const edited = addressIn(
			await call('tools/call', {
				name: 'edit_image',
				arguments: { prompt: 'Make it night', imageUrl: drawn },
			}),
		);
		expect(edited).not.toBe(drawn);
		expect((await fetch(edited!)).status).toBe(200);
		expect(gateway.paidByPrompt).toEqual({ 'a fox': 1, 'an owl': 1, 'Make it night': 1 });
		await server.deactivate(id);
	});
});
