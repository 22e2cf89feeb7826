import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Gateway } from '../../simulator/gateway.mjs';
import {
	itemsOf,
	readExample,
	readWorkflow,
	type Credentials,
	type Workflow,
} from '../../harness/server/example-workflows.mjs';
import { createDataTable, selectTable } from '../../harness/server/data-table.mjs';
import { serverVersions } from '../../harness/server/packed-package.mjs';
import type { Json, N8nServer } from '../../harness/server/server.mjs';
import { until } from '../../harness/wait-until.mjs';
import { openMailbox } from './mailbox.mjs';
import { openRealServer, type RealServer } from './real-server.mjs';

/** What the examples promise beyond running through: each is driven by its own trigger. */
describe.each(serverVersions())('what the examples promise, on n8n %s', (version) => {
	let real: RealServer;
	let server: N8nServer;
	let gateway: Gateway;
	let credentials: Credentials;

	beforeAll(async () => {
		real = await openRealServer(version, { taskSeconds: [1, 2] });
		({ server, gateway, credentials } = real);
	});

	afterAll(async () => await real?.close());

	beforeEach(() => gateway.reset());

	async function store(example: string, prepare: (workflow: Workflow) => void = () => undefined) {
		const workflow = readExample(example, credentials);
		prepare(workflow);
		return (await server.createWorkflow(workflow)).id;
	}

	const run = async (id: string, trigger?: string) =>
		await server.settled(await server.runManually(id, trigger));

	/** Sends a photo by the form of the example; the execution then waits for its last page. */
	async function sendForm(instructions: string) {
		const id = await store('edit-by-form');
		await server.activate(id);
		const { webhookId } = readExample('edit-by-form').nodes.find(({ type }) =>
			type.endsWith('.formTrigger'),
		);
		const address = `${server.url}/form/${webhookId}`;
		await until('the form', 30, async () => (await fetch(address)).status !== 404);
		const form = new FormData();
		const drawn = (await (
			await fetch(`${gateway.url}/v1/images/generations`, {
				method: 'POST',
				headers: {
					authorization: `Bearer ${gateway.keys[0]}`,
					'content-type': 'application/json',
				},
				body: JSON.stringify({ model: 'aurora-image-1', prompt: 'a house' }),
			})
		).json()) as Json;
		const photo = await (await fetch(drawn.data[0].url)).blob();
		gateway.reset();
		form.append('field-0', photo, 'house.png');
		form.append('field-1', instructions);
		const { formWaitingUrl } = (await (
			await fetch(address, { method: 'POST', body: form })
		).json()) as Json;
		const [{ id: executionId }] = (await server.executions({ workflowId: id })) as [Json];
		await server.until(executionId, (status) => status === 'waiting');

		const waiting = formWaitingUrl.replace('localhost', '127.0.0.1');
		const page = await (await fetch(waiting)).text();
		return { id, executionId, page, waiting };
	}

	it('edit-by-form takes a photo and shows the edited one', async () => {
		const { id, executionId, page, waiting } = await sendForm('Make it night');
		expect(page).toContain('Here it is');
		// The page tells n8n that it is done.
		await fetch(waiting, { method: 'POST' });
		const execution = await server.settled(executionId);
		expect(execution.status).toBe('success');
		const [edited] = itemsOf(execution, 'Edit the photo');
		expect(edited.json).toMatchObject({ taskType: 'edit', prompt: 'Make it night' });
		const { data } = edited.binary;
		const shown = /<img [^>]*src="data:image\/png;base64,([^"]+)"/.exec(page)?.[1] ?? '';
		expect(Buffer.from(shown, 'base64')).toEqual(await server.binary(data));
		expect(page).toContain(`download="${data.fileName}"`);
		expect(gateway.paidByPrompt).toEqual({ 'Make it night': 1 });
		await server.deactivate(id);
	});

	it('edit-by-form says what went wrong, so that nobody pays a second time', async () => {
		const { id, executionId, page, waiting } = await sendForm('Make it night [fail]');
		expect(page).toContain('That did not work');
		expect(page).toContain('The photo could not be edited');
		expect(page).toContain('Please do not send the form again: you may have been charged');
		await fetch(waiting, { method: 'POST' });
		expect((await server.settled(executionId)).status).toBe('success');
		expect(gateway.paid).toBe(1);
		await server.deactivate(id);
	});

	it('nightly-batch makes what it can, and lists what it cannot with its own columns', async () => {
		const execution = await run(await store('nightly-batch'), 'Every night at two');
		expect(execution.status).toBe('success');
		expect(itemsOf(execution, 'Save the images here').map(({ json }) => json.sku)).toEqual([
			'A-100',
			'A-101',
			'A-102',
		]);
		expect(itemsOf(execution, 'To look at in the morning').map(({ json }) => json)).toEqual([
			{ sku: 'A-103', reason: expect.stringContaining('9999x9999'), taskId: '' },
		]);
		expect(gateway.paid).toBe(3);
		const [{ json: report }] = itemsOf(execution, 'Report') as [Json];
		expect(report).toMatchObject({ images: 3, failed: 1, cost: 0.12 });
		expect(report.reasons).toMatch(/^1 × .*9999x9999/);
	});

	it('nightly-batch mails and keeps its report, also if all rows fail', async () => {
		const mailbox = await openMailbox();
		const smtp = await server.createCredential({
			type: 'smtp',
			name: 'Mailbox',
			data: { host: '127.0.0.1', port: mailbox.port, secure: false, disableStartTls: true },
		});
		const table = await createDataTable(server, `reports ${version}`, {
			night: 'string',
			images: 'number',
			failed: 'number',
			cost: 'number',
			reasons: 'string',
		});
		gateway.setFaults([{ call: 'submit', kind: 'status', status: 400 }]);
		const id = await store('nightly-batch', (workflow) => {
			selectTable(workflow, table);
			for (const node of workflow.nodes) {
				delete node.disabled;
				if (node.name === 'Mail the report') node.credentials = { smtp };
			}
		});
		const execution = await run(id, 'Every night at two').finally(() => gateway.setFaults([]));
		expect(execution.status).toBe('success');
		const [{ json: report }] = itemsOf(execution, 'Report') as [Json];
		expect(report).toMatchObject({ images: 0, failed: 4, cost: null });
		expect(report.html.match(/<td>A-10\d<\/td>/g)).toHaveLength(4);
		expect(report.html.match(/<td>no<\/td>/g)).toHaveLength(4);
		expect(await table.rows()).toMatchObject([{ images: 0, failed: 4, reasons: report.reasons }]);
		expect(mailbox.mails()).toEqual([expect.stringContaining('Subject: 0 images, 4 failed rows')]);
		await mailbox.close();
		expect(gateway.paid).toBe(0);
	});

	it('submit-now-collect-later collects what was submitted before a crash', async () => {
		const columns = ['taskId', 'taskType', 'prompt', 'state', 'url'];
		const types = Object.fromEntries(columns.map((name) => [name, 'string']));
		const table = await createDataTable(server, 'tasks', types);
		const id = await store('submit-now-collect-later', (workflow) => selectTable(workflow, table));
		expect((await run(id, 'Every evening at eight')).status).toBe('success');
		await server.restart('SIGKILL');
		await sleep(1000);

		const execution = await run(id, 'Every five minutes');
		expect(execution.status).toBe('success');
		expect(
			itemsOf(execution, 'Save the images here').map(({ binary }) => binary.data.mimeType),
		).toEqual(['image/png', 'image/png']);
		expect(itemsOf(execution, 'Mark as done').map(({ json }) => json.state)).toEqual([
			'completed',
			'completed',
		]);
		expect(itemsOf(await run(id, 'Every five minutes'), 'Open tasks')).toEqual([]);
		expect(gateway.paid).toBe(2);
	});

	it('collect-these-tasks gets the images of the list that a Stop leaves, and of IDs alone', async () => {
		const prompts = ['a lamp [slow 6]', 'a stool [slow 6]'];
		const batch = await store('submit-and-collect', ({ nodes }) => {
			const { parameters } = nodes.find(({ name }) => name === 'Prompts');
			parameters.jsonOutput = JSON.stringify({ prompts });
		});
		const stopped = await server.runManually(batch);
		await until('polls', 60, () => gateway.count('poll') >= prompts.length);
		await server.rest('POST', `/executions/${stopped}/stop`);
		const list = await until('the list of the stopped run', 60, async () => {
			const all = await server.executions({ workflowId: batch });
			return all.find(({ id, status }) => id !== stopped && status === 'success');
		});
		const left = itemsOf(await server.execution(list.id), 'Image Tasks of the Stopped Run');
		const tasks = left.map(({ json }) => json);
		const ids = tasks.map(({ taskId }) => taskId as string);
		expect(ids).toHaveLength(prompts.length);
		const collect = async (pasted: Json[]) => {
			const id = await store('collect-these-tasks', ({ nodes }) => {
				const { parameters } = nodes.find(({ name }) => name === 'Tasks');
				parameters.jsonOutput = parameters.jsonOutput.replace('[]', JSON.stringify(pasted));
			});
			const execution = await run(id);
			expect(execution.status).toBe('success');
			const failed = itemsOf(execution, 'To look at');
			return { images: itemsOf(execution, 'Save the images here'), failed };
		};
		const unknown = { item: 7, outcome: 'unknown' };
		const { images, failed } = await collect([...tasks, unknown]);
		expect(images.map(({ json }) => json.taskId)).toEqual(ids);
		expect(images.map(({ json }) => json.prompt)).toEqual(prompts);
		expect(failed.map(({ json }) => json.error)).toEqual([
			expect.stringContaining("'Task ID' is empty"),
		]);
		const finished = { item: 0, url: images[0].json.url };
		for (const pasted of [tasks, ids, [...ids.slice(1), finished]]) {
			const files = (await collect(pasted)).images.map(({ binary }) => binary.data.mimeType);
			expect(files).toEqual(['image/png', 'image/png']);
		}
		expect(gateway.paid).toBe(prompts.length);
	});

	it('moving: after returns in one node the images of before, a loop of four', async () => {
		const imagesOf = async (file: string, node: string) => {
			gateway.reset();
			const workflow = readWorkflow(`docs/moving/${file}.json`, credentials, gateway.url);
			const execution = await run((await server.createWorkflow(workflow)).id);
			expect(execution.status).toBe('success');
			// A task that takes longer leaves the loop in a later round.
			const rounds: Json[] = execution.data.resultData.runData[node];
			const files = rounds
				.flatMap(({ data }) => data.main[0] ?? [])
				.map(({ binary }) => binary.data);
			const images = await Promise.all(files.map(async (one) => await server.binary(one)));
			const hashes = images.map((bytes) => createHash('sha256').update(bytes).digest('hex'));
			return { images: hashes.sort(), paidByPrompt: gateway.paidByPrompt };
		};
		const before = await imagesOf('before', 'Download');
		expect(new Set(before.images).size).toBe(2);
		expect(Object.values(before.paidByPrompt)).toEqual([1, 1]);
		expect(await imagesOf('after', 'Media Gateway Image')).toEqual(before);
	});

	it('images-for-a-spreadsheet writes a file for each row, named after its sku', async () => {
		const folder = join(server.userFolder, '.n8n-files');
		writeFileSync(join(folder, 'products.csv'), 'sku,prompt\nA-100,a lamp\nA-101,a teapot\n');
		const execution = await run(await store('images-for-a-spreadsheet'));
		expect(execution.status).toBe('success');
		const items = itemsOf(execution, 'Save the images here');
		expect(items.map(({ json }) => [json.sku, json.prompt])).toEqual([
			['A-100', 'a lamp'],
			['A-101', 'a teapot'],
		]);
		for (const { json, binary } of items) {
			const file = readFileSync(join(folder, `${json.sku}.png`));
			expect(file).toEqual(await server.binary(binary.data));
		}
		expect(gateway.paid).toBe(2);
	});

	it('image-as-a-response responds with the file, or with the reason', async () => {
		const id = await store('image-as-a-response');
		await server.activate(id);
		const post = async (prompt: string) =>
			await until('an answer', 30, async () => {
				const response = await fetch(`${server.url}/webhook/media-gateway-picture`, {
					method: 'POST',
					headers: { 'content-type': 'application/json' },
					body: JSON.stringify({ prompt }),
				});
				return response.status !== 404 && response;
			});
		const image = await post('a fox');
		expect([image.status, image.headers.get('content-type')]).toEqual([200, 'image/png']);
		expect((await image.arrayBuffer()).byteLength).toBeGreaterThan(1000);
		const failed = await post('a fox [fail]');
		expect([failed.status, await failed.json()]).toEqual([502, { error: expect.any(String) }]);
		expect(gateway.paid).toBe(2);
		await server.deactivate(id);
	});

	it('compare-models shows each model with its price, and one that fails with the reason', async () => {
		const names = ['aurora-image-1', 'aurora-studio', 'plain-image', 'no-such-model'];
		const id = await store('compare-models', ({ nodes }) => {
			const { parameters } = nodes.find(({ name }) => name === 'Prompt and models');
			parameters.jsonOutput = JSON.stringify({ prompt: 'A lighthouse', models: names });
		});
		const execution = await run(id);
		expect(execution.status).toBe('success');
		const [{ json }] = itemsOf(execution, 'Side by side') as [Json];
		const cards = json.html.match(/<figure>.*?<\/figure>/gs) as string[];
		expect(cards.map((card) => /<b>(.*?)<\/b>/.exec(card)?.[1])).toEqual(names);
		expect(cards.map((card) => /(cost [\d.]+|price not published)/.exec(card)?.[1])).toEqual([
			'cost 0.04',
			'cost 0.12',
			'price not published',
			undefined,
		]);
		expect(cards[3]).toContain('unknown model');
		expect(json.html).toContain('Published prices together: 0.16');
		expect(gateway.paid).toBe(3);
	});
});
