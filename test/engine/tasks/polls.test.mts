import { secondsOfNodes } from '../fast-time.mjs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { hostFor, NODE, sendJson, serve, workflowOf, type NodeName } from '../workbench.mjs';

const UNKNOWN = { error: { message: "task doesn't exist", type: 'invalid_request_error' } };
const done = (name = 'x') => ({ status: 'completed', data: [{ url: `http://h.example/${name}` }] });
const ago = (seconds: number): string => new Date(Date.now() - seconds * 1000).toISOString();
const aged = (age: number | undefined): N8n.IDataObject =>
	age === undefined ? {} : { submittedAt: ago(age) };

type Reply = (response: ServerResponse, request: IncomingMessage, nth: number) => void;

/** Runs a node against a server that responds with what it likes; `nth` counts the requests to a path. */
async function run(
	reply: Reply,
	type: NodeName,
	parameters: Record<string, unknown>,
	items: N8n.IDataObject[],
) {
	const counts = new Map<string, number>();
	const server = await serve((request, response) => {
		const path = request.url ?? '';
		counts.set(path, (counts.get(path) ?? 0) + 1);
		reply(response, request, counts.get(path) ?? 0);
	});
	const before = performance.now();
	try {
		const host = await hostFor({ baseUrl: server.url });
		const result = await host.run(
			workflowOf(type, { download: false, ...parameters }, { onError: 'continueErrorOutput' }),
			{ input: items.map((json) => ({ json })) },
		);
		return {
			items: result.json(NODE, 0),
			failed: result.json(NODE, 1),
			hints: result.hints(NODE).map(({ message }) => message),
			paths: server.requests.map(({ url }) => url),
			seconds: (performance.now() - before) / 1000,
		};
	} finally {
		await server.close();
	}
}

const wait = async (reply: Reply, items: N8n.IDataObject[] = [{ taskId: 't' }], more = {}) =>
	await run(reply, 'imageWait', { maxWait: 45, ...more }, items);
const query = async (reply: Reply, items: N8n.IDataObject[] = [{ taskId: 't' }], more = {}) =>
	await run(reply, 'imageTask', more, items);

/** A 404; this one is of something in front of the gateway. */
const send404 = (response: ServerResponse, body = '<html>404 Not Found</html>') =>
	void response.writeHead(404).end(body);

/** Both nodes: what holds for a response about a task holds for each. */
const NODES = [wait, query];

/** The addresses at which a task is looked for. */
const EVERYWHERE = new Set(
	['images/generations', 'images/edits', 'images/tasks', 'tasks'].map((path) => `/v1/${path}/t`),
);

describe('a 404', () => {
	test.each([
		['of something in front of the gateway', '', 600],
		['that is an error of something in front of the gateway', '{"error":"not found"}', 600],
		['of the gateway for a young task', JSON.stringify(UNKNOWN), 0],
	])('%s passes if the task appears, as for one of unknown age', async (_, body, age) => {
		const items = [{ taskId: 't' }, { taskId: 'dated', submittedAt: ago(age) }];
		for (const ask of NODES) {
			const { items: found, failed } = await ask(
				(response, _request, nth) =>
					nth <= 3 ? send404(response, body) : sendJson(response, done()),
				items,
			);
			expect([failed, found.length]).toEqual([[], 2]);
		}
	});

	test('of something in front of the gateway that stays: Image Wait asks until the deadline, Image Task a few times', async () => {
		const items = [{ taskId: 't', taskType: 'edit' }];
		const waited = await wait((response) => send404(response), items);
		expect(waited.failed[0]?.error).toMatch(
			/still open after 45 s; .*A server in front of the gateway responded with 404/,
		);
		// It is no option of Image Wait.
		const description: unknown = expect.stringMatching(/, or 'Max Wait' of the node\.$/);
		expect(waited.failed[0]?.details).toMatchObject({ description });
		expect(waited.paths.length).toBeGreaterThan(10);
		const { failed, paths } = await query((response) => send404(response), items);
		expect(failed[0]?.error).toMatch(/in front of the gateway responded with 404.*tried 6 times/);
		expect(failed[0]?.details).toMatchObject({ taskId: 't', httpCode: 404 });
		expect(paths.filter((path) => path === '/v1/images/edits/t')).toHaveLength(6);
		// Another task may have the short ID as a generation.
		expect(new Set(paths)).toEqual(
			new Set(['/v1/images/edits/t', '/v1/images/tasks/t', '/v1/tasks/t']),
		);
	});

	test.each([
		[{ code: 401, message: 'no key' }, /API key \(401\): no key/, 1],
		[{ code: 404, msg: 'not here' }, /404/, 4],
		[{ code: 422, msg: 'not yet' }, /\(422\): not yet/, 1],
	])('in the body of a 200: %j', async (body, says, places) => {
		const known = { ...body, data: { status: 'running' } };
		for (const ask of NODES) {
			const { failed, paths } = await ask((response) => sendJson(response, body));
			expect(failed[0]).toMatchObject({ error: expect.stringMatching(says) });
			expect(failed[0]?.details).toMatchObject({ taskId: 't' });
			expect(new Set(paths).size).toBe(places);
			// Only a refusal is final at once.
			if (ask === wait) expect(paths.length === 1).toBe(body.code !== 404);
		}
		// Beside a status it is none of the request's.
		const { items } = await query((response) => sendJson(response, known));
		expect(items).toMatchObject([{ taskId: 't', finished: false }]);
	});

	test.each([
		['own', 'generations', 'generation'],
		['other', 'edits', 'auto'],
	])(
		'of the gateway for a young task passes, even if the look under its %s kind takes a minute',
		async (_, slow, taskType) => {
			const reply: Reply = (response, { url }, nth) => {
				if (nth > 2 && url?.includes('generations')) return sendJson(response, done());
				const isSlow = nth === 1 && url?.includes(slow);
				void secondsOfNodes(isSlow ? 60 : 0).then(() => sendJson(response, UNKNOWN, 404));
			};
			const item = { taskId: 't', taskType, ...aged(0) };
			const { items, failed } = await wait(reply, [item], { maxWait: 600 });
			expect([failed, items.length]).toEqual([[], 1]);
		},
	);

	test.each<[string, number | undefined, number, number]>([
		['that is old', 31, 1, 0],
		['of unknown age', undefined, 4, 5],
		['that is young', 0, 4, 29],
	])('that stays is final for a task %s', async (_, age, leastRounds, leastSeconds) => {
		for (const ask of NODES) {
			const { failed, paths, seconds } = await ask(
				(response) => sendJson(response, UNKNOWN, 404),
				[{ taskId: 't', ...aged(age) }],
			);
			expect(failed[0]?.error).toMatch(/^The gateway has no task t \(404\)$/);
			expect(new Set(paths)).toEqual(EVERYWHERE);
			if (leastSeconds === 0) expect(paths).toHaveLength(4);
			const rounds = paths.filter((path) => path === paths[0]).length;
			expect(rounds).toBeGreaterThanOrEqual(leastRounds);
			expect(rounds).toBeLessThan(20);
			expect(seconds).toBeGreaterThanOrEqual(leastSeconds);
		}
	});

	test('with auto, a gateway that knows it at one endpoint and a page at the other', async () => {
		const reply: Reply = (response, { url }) =>
			url?.includes('/edits/') ? sendJson(response, done()) : send404(response);
		for (const ask of NODES) expect((await ask(reply)).items).toHaveLength(1);
	});
});

test('a 429 about a task never ends the wait, even if it speaks of money', async () => {
	const broke = { error: { message: 'Insufficient balance', type: 'insufficient_quota' } };
	const { items, failed } = await wait((response, _, nth) =>
		nth <= 12 ? sendJson(response, broke, 429) : sendJson(response, done()),
	);
	expect([failed, items.length]).toEqual([[], 1]);
});

test('fifteen refusals in a row of the run end the looks at all of its tasks', async () => {
	const refuse = (response: ServerResponse) => sendJson(response, { error: 'slow down' }, 429);
	const items = Array.from({ length: 10 }, (_, index) => ({ taskId: `t${index}` }));
	const { failed, paths } = await query(refuse, items);
	expect(failed).toHaveLength(10);
	expect(paths.length).toBeLessThan(40);
});

test('an outage right after a 404 ends the look at a task as well', async () => {
	let asked = 0;
	const { failed, paths } = await query(
		(response) =>
			(asked += 1) > 4 ? sendJson(response, {}, 503) : send404(response, JSON.stringify(UNKNOWN)),
		[{ taskId: 't', submittedAt: new Date().toISOString() }],
	);
	expect(failed).toHaveLength(1);
	expect(paths.length).toBeLessThan(20);
});

test.each([200, 429])('Retry-After on a %d is kept to', async (status) => {
	const at: number[] = [];
	const { items } = await wait((response, __, nth) => {
		at.push(performance.now());
		if (nth > 1) return sendJson(response, done());
		response.setHeader('retry-after', '20');
		sendJson(response, { status: 'running' }, status);
	});
	expect(items).toHaveLength(1);
	expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(20_000);
});

describe('completed', () => {
	const EMPTY = { status: 'completed', data: [] };

	test('with an empty list, a task may list its image a moment later', async () => {
		for (const ask of NODES) {
			const { items, failed } = await ask((response, _, nth) =>
				sendJson(response, nth === 1 ? EMPTY : done()),
			);
			expect([failed, items.length]).toEqual([[], 1]);
		}
	});

	test('without an image for a few seconds, it fails, and the error has its response, but no files', async () => {
		// Which of two in different places is the image, nobody knows.
		const picture = 'http://h.example/elsewhere.png';
		const other = 'http://h.example/another.png';
		const result = { picture, drawing: { other }, preview: 'iVBORw0K'.repeat(400) };
		const body = { status: 'completed', result };
		for (const ask of NODES) {
			const { failed, paths, seconds } = await ask((response) => sendJson(response, body));
			const { response } = failed[0]?.details as { response: string };
			expect(response).toContain(picture);
			expect(response).not.toContain('iVBORw0KiVBORw0K');
			expect(seconds).toBeGreaterThanOrEqual(5);
			expect(paths.length).toBeLessThan(10);
		}
	});

	test('without an image at the deadline is not called open', async () => {
		const { failed } = await wait((response) => sendJson(response, EMPTY), undefined, {
			maxWait: 3,
		});
		expect(failed[0]?.error).toMatch(/but without an image/);
		expect(failed[0]?.error).not.toContain('still open');
	});
});

describe('a response that names another task', () => {
	const body = (id: string) => ({ id, ...done(id) });

	const both = [{ taskId: 't' }, { taskId: 'other' }].map((item) => ({
		...item,
		taskType: 'generation',
	}));

	test('of the same run is not taken for the one that was asked about', async () => {
		for (const ask of NODES) {
			const { items, failed } = await ask((response) => sendJson(response, body('other')), both);
			expect(items).toMatchObject([{ taskId: 'other' }]);
			expect(failed[0]?.error).toContain("The gateway's response is about task other, not task t");
			expect(failed[0]?.details).toMatchObject({ taskId: 't' });
		}
	});

	test.each([
		['that nobody asked about, with a hint: a gateway may have two IDs', {}, true],
		['beside its own', { task_id: 't' }, false],
	])('is taken %s', async (_, own, isTold) => {
		for (const ask of NODES) {
			const { items, hints } = await ask((response) =>
				sendJson(response, { ...own, ...body('upstream') }),
			);
			expect(items).toMatchObject([{ taskId: 't' }]);
			expect(hints.join().includes('task t names another task, upstream')).toBe(isTold);
		}
	});
});

test('a task that many items name is polled once for all of them', async () => {
	const items = Array.from({ length: 300 }, () => ({ taskId: 't', taskType: 'generation' }));
	const reply: Reply = (response, _, nth) =>
		sendJson(response, nth < 3 ? { status: 'queued' } : done());
	const waited = await wait(reply, items);
	expect(waited.items).toHaveLength(300);
	// Items are begun in turns: at worst one more poll for those that are begun after the last.
	expect(waited.paths.length).toBeLessThan(6);
});

test('a task that could not be checked within its time has an error that says so', async () => {
	const tasks = Array.from({ length: 40 }, (_, index) => ({
		taskId: `t${index}`,
		taskType: 'generation',
	}));
	const limits = { maxWait: 4, options: { requestsPerSecond: 1 } };
	const { items, failed } = await wait((response) => sendJson(response, done()), tasks, limits);
	expect(items.length + failed.length).toBe(40);
	expect(failed.length).toBeGreaterThan(0);
	for (const { error, details } of failed) {
		expect(error).toMatch(/^The generation task t\d+ couldn't be checked within 4 s$/);
		expect(details).toMatchObject({ taskId: expect.stringMatching(/^t\d+$/) });
	}
});
