/** Where a task is polled, at gateways that don't have it at the protocol's path. */
import '../fast-time.mjs';
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { opened } from '../opened.mjs';
import { hostFor, NODE, sendJson, serve, workflowOf, type NodeName } from '../workbench.mjs';

const OLD = '2026-01-01T00:00:00Z';
const UNKNOWN = { error: { message: 'Invalid URL', type: 'invalid_request_error' } };
const DONE = { status: 'completed', data: [{ url: 'http://h.example/x' }] };

/** A gateway that has all tasks below one path, and the paths at which it was asked. */
async function gatewayAt(folder: string, state: object = DONE) {
	const server = await opened(
		serve((request, response) => {
			const isThere = request.url?.startsWith(`${folder}/`) === true;
			sendJson(response, isThere ? state : UNKNOWN, isThere ? 200 : 404);
		}),
	);
	const paths = () => server.requests.map(({ url }) => url);
	return { ...server, paths, wrong: () => paths().filter((path) => !path.startsWith(folder)) };
}

async function run(
	baseUrl: string,
	type: NodeName,
	items: N8n.IDataObject[],
	parameters: Record<string, unknown> = {},
) {
	const host = await hostFor({ baseUrl });
	const own = type === 'imageWait' ? { maxWait: 60, download: false } : { download: false };
	const workflow = workflowOf(
		type,
		{ ...own, ...parameters },
		{ onError: 'continueRegularOutput' },
	);
	return await host.run(workflow, { input: items.map((json) => ({ json })) });
}

/** The address of the only image in an item of Image Wait, or of Image Task. */
const urlOf = ({ url, images = [] }: N8n.IDataObject) =>
	url ?? (images as N8n.IDataObject[])[0]?.url;

test.each(['imageWait', 'imageTask'] as const)(
	'%s: the error of a task that is nowhere names its ID and four addresses',
	async (node) => {
		const gateway = await gatewayAt('/nowhere');
		const statusUrl = 'https://tasks.example/a%20b';
		const item = { taskId: 'a b', taskType: 'edit', submittedAt: OLD, statusUrl };
		const [failed] = (await run(gateway.url, node, [item])).json(NODE);
		expect(failed?.error).toBe('The gateway has no edit task a b (404)');
		expect(JSON.stringify(failed?.details)).toContain(
			"It isn't at /v1/images/edits/a%20b, /v1/images/generations/a%20b, /v1/images/tasks/a%20b, /v1/tasks/a%20b. The gateway named https://tasks.example/a%20b for it, which wasn't asked",
		);
		expect(gateway.paths()).toHaveLength(4);
	},
);

test('a status that nobody knows counts at the address in the item', async () => {
	const state = { status: 'dreaming' };
	const gateway = await gatewayAt('/v1/jobs', state);
	const item = { taskId: 't', taskType: 'edit', statusUrl: '/v1/jobs/t' };
	const [found] = (await run(gateway.url, 'imageWait', [item], { maxWait: 3 })).json(NODE);
	expect(found).toMatchObject({ details: { status: 'dreaming' } });
	// The failed item leads back to the task, which is at none of the usual paths.
	const [again] = (await run(gateway.url, 'imageTask', [found!])).json(NODE);
	expect(again).toMatchObject({ taskId: 't', status: 'dreaming' });
	expect(gateway.wrong()).toEqual([]);
});

test.each([
	[8, { url: DONE.data[0]!.url }],
	[Infinity, { error: expect.stringContaining('without an image') }],
])('a result out of reach is asked for again for a minute: %p times', async (times, expected) => {
	let asked = 0;
	const server = await opened(
		serve(({ url }, response) => {
			const response_url = '/v1/results/t';
			if (url !== response_url) return sendJson(response, { status: 'completed', response_url });
			asked += 1;
			return asked < times ? sendJson(response, {}, 503) : sendJson(response, DONE);
		}),
	);
	const item = { taskId: 't', taskType: 'edit' };
	const [found] = (await run(server.url, 'imageWait', [item], { maxWait: 600 })).json(NODE);
	expect(found).toMatchObject(expected);
});

test.each([
	['t7', 'imageWait', 'http://h.example/own'],
	['task-0123456789abcdef', 'imageTask', 'http://h.example/x'],
] as const)(
	'an ID that both kinds may have (%s) is not taken from the other kind at once',
	async (taskId, node, expected) => {
		let asked = 0;
		const server = await opened(
			serve(({ url }, response) => {
				if (url?.startsWith('/v1/images/generations/')) return sendJson(response, DONE);
				asked += 1;
				if (asked === 1) return sendJson(response, UNKNOWN, 404);
				return sendJson(response, { ...DONE, data: [{ url: 'http://h.example/own' }] });
			}),
		);
		const item = { taskId, taskType: 'edit', submittedAt: new Date().toISOString() };
		const [found] = (await run(server.url, node, [item])).json(NODE);
		expect(urlOf(found!)).toBe(expected);
	},
);

test("a task that is gone does not get the images of the other kind's task with the same ID in this run", async () => {
	const server = await opened(
		serve(({ url }, response) =>
			url?.startsWith('/v1/images/generations/')
				? sendJson(response, DONE)
				: sendJson(response, UNKNOWN, 404),
		),
	);
	const items = ['edit', 'generation'].map((taskType) => {
		return { taskId: 't7', taskType, submittedAt: OLD };
	});
	const [edit, generation] = (await run(server.url, 'imageWait', items)).json(NODE);
	expect(edit?.error).toBe('The gateway has no edit task t7 (404)');
	expect(generation?.error).toBeUndefined();
	// Alone, its kind is more likely to be wrong than the task to be gone.
	const single = await run(server.url, 'imageWait', items.slice(0, 1));
	expect(single.json(NODE)[0]?.error).toBeUndefined();
	expect(single.hints(NODE).map(({ message }) => message)).toContainEqual(
		expect.stringMatching(/no edit task t7, but one of the kind 'generation'/),
	);
});

test.each([
	['a page', '/v1/tasks/t', 404, '<html>deploying'],
	['an error in a 200', '/v1/images/edits/t', 200, '{"error": {"message": "try again"}}'],
])('%s at one of the addresses is no proof that the task is gone', async (_, at, code, body) => {
	const server = await opened(
		serve((request, response) => {
			if (request.url !== at) return sendJson(response, UNKNOWN, 404);
			return void response.writeHead(code).end(body);
		}),
	);
	await run(server.url, 'imageTask', [{ taskId: 't', submittedAt: OLD }]);
	expect(server.requests.length).toBeGreaterThan(4);
});

test("the address in an item is asked first, and isn't followed to another host", async () => {
	const elsewhere = await gatewayAt('/', DONE);
	for (const [statusUrl, isFollowed] of [
		['v1/jobs/t?full=1', true],
		['{gateway}/v1/jobs/t', true],
		[`${elsewhere.url}/v1/jobs/t`, false],
		['{gateway}.elsewhere.example/v1/jobs/t', false],
		[`/v1/jobs/${'x'.repeat(3000)}`, false],
		[{ url: '/v1/jobs/t' }, false],
	] as const) {
		const gateway = await gatewayAt(isFollowed ? '/v1/jobs' : '/v1/images/edits');
		const url =
			typeof statusUrl === 'string' ? statusUrl.replace('{gateway}', gateway.url) : statusUrl;
		const item = { taskId: 't', taskType: 'edit', statusUrl: url } as N8n.IDataObject;
		const result = await run(gateway.url, 'imageTask', [item]);
		expect(result.json(NODE)).toMatchObject([{ taskId: 't', taskType: 'edit' }]);
		expect(gateway.paths()).toHaveLength(1);
	}
	expect(elsewhere.requests).toEqual([]);
});

test('a web page at the address in an item: the task is looked for at its usual path', async () => {
	const server = await opened(
		serve(({ url }, response) => {
			if (url === '/v1/images/edits/t') return sendJson(response, DONE);
			return void response.writeHead(200).end('<html>The console');
		}),
	);
	const item = { taskId: 't', taskType: 'edit', statusUrl: '/console/t' };
	expect((await run(server.url, 'imageWait', [item])).json(NODE)).toMatchObject([{ taskId: 't' }]);
});

test('the address of another task is not used for an ID that was entered', async () => {
	const gateway = await gatewayAt('/v1/images/edits');
	const items = [{ taskId: 't', taskType: 'edit', statusUrl: '/v1/images/edits/t' }];
	await run(gateway.url, 'imageTask', items, { taskId: 'mine' });
	expect(gateway.paths()).toEqual(['/v1/images/edits/mine']);
});

test('a task that is still open has the address at which it was found, and is polled only there', async () => {
	const gateway = await gatewayAt('/v1/tasks', { status: 'running' });
	const item = { taskId: 't0', taskType: 'edit' };
	const parameters = { maxWait: 3, options: { onTimeout: 'output' } };
	const first = await run(gateway.url, 'imageWait', [item], parameters);
	const [open] = first.json(NODE, 1);
	expect(open).toMatchObject({ taskId: 't0', taskType: 'edit', statusUrl: '/v1/tasks/t0' });
	const before = gateway.wrong().length;
	const [state] = (await run(gateway.url, 'imageTask', [open!])).json(NODE);
	expect(state).toMatchObject({ statusUrl: '/v1/tasks/t0', finished: false });
	await run(gateway.url, 'imageWait', [state!], { maxWait: 3 });
	expect(gateway.wrong()).toHaveLength(before);
});

test('a status that nobody knows counts only at the path of the task', async () => {
	const gateway = await gatewayAt('/v1/tasks', { status: 'healthy' });
	const item = { taskId: 't', taskType: 'edit', submittedAt: '2026-01-01T00:00:00Z' };
	const [failed] = (await run(gateway.url, 'imageTask', [item])).json(NODE);
	expect(failed?.error).toMatch(/has no edit task t/);
});

test('a look that was refused for the rate has its tries for faults left', async () => {
	const statuses = [...Array.from({ length: 7 }, () => 429), 503];
	const server = await opened(
		serve((_, response) => {
			const status = statuses.shift();
			if (status !== undefined) return sendJson(response, { error: { message: 'busy' } }, status);
			sendJson(response, { status: 'completed', data: [{ url: 'http://h.example/x' }] });
		}),
	);
	const task = { taskId: 'abcdefghijklmnop', taskType: 'generation', submittedAt: OLD };
	const [item] = (await run(server.url, 'imageTask', [task])).json(NODE);
	expect(item).toMatchObject({ status: 'completed' });
});
