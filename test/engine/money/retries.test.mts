/**
 * What is paid for is paid once, and comes out. Each row of the table says what happens to the
 * requests of some items, who then runs the node again, and what has changed by then.
 */
import '../fast-time.mjs';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { opened } from '../opened.mjs';
import { hostFor, NODE, sendJson, serve, TINY_PNG, workflowOf } from '../workbench.mjs';
import { until } from '../../until.mjs';
import { bench, play, type Row } from './retries.mjs';

/*
 * node     The mode of Image, or another node; the prompts are random, or all equal.
 * before   What happens to each item: it gets its image, is refused, …
 * who      Runs the node again: Retry On Fail (five tries), n8n's Retry of the failed execution, a
 *          new run of the workflow, the next round of a loop, an agent's tool with Retry On Fail.
 *          At a failure the node stops, goes on, or uses its error output; the last Retry goes on.
 * changed  What is different when it runs again: in the workflow, the credential, the files, the model
 *          list. With arrows: in one Retry after another.
 * sent     How many paid requests each item has sent in all; with arrows: until each Retry.
 * shown    What comes out for each item: its image, or the address of it where Download is off, a task,
 *          an error ("no key, task": the error names the task); `of 0`: that of the prompt of item 0.
 *          Where an error stops the run: which one, and the items that it lists as paid for.
 * charged  How often each item was charged.
 */
// prettier-ignore
const TABLE: Row[] = [
	// node              before                   who                        changed                         sent         shown                                           charged

	// Retry On Fail
	['sync',             'image, refused',        'nobody',                  'nothing',                      '1 1',       'image, refused',                               '1 0'],
	['sync',             'image, refused',        'tries',                   'nothing',                      '1 2',       'image, image',                                 '1 1'],
	['sync',             'image, no download',    'tries',                   'nothing',                      '1 1',       'image, image',                                 '1 1'],
	['sync',             'image, no response',    'tries, goes on',          'nothing',                      '1 1',       'image, unknown',                               '1 1'],
	['submit',           'image, no response',    'tries',                   'nothing',                      '1 1',       'stops: unknown; lists 0 1',                    '1 1'],
	['wait',             'image, no response',    'tries, two outputs',      'nothing',                      '1 1',       'image, unknown',                               '1 1'],
	['wait',             'image, no status once', 'tries',                   'nothing',                      '1 1',       'image, image',                                 '1 1'],
	['wait',             'fails, image, image',   'tries',                   'nothing',                      '1 1 1',     'stops: failed; lists 1 2',                     '1 1 1'],
	['wait',             'image, fails, image',   'tries, goes on',          'nothing',                      '1 1 1',     'image, failed, image',                         '1 1 1'],
	['wait',             'image, image, fails',   'tries, two outputs',      'nothing',                      '1 1 1',     'image, image, failed',                         '1 1 1'],
	['equal sync',       'refused, image, image', 'tries',                   'nothing',                      '4 0 0',     'image, image of 0, image of 0',                '3 0 0'],
	['random sync',      'refused, image',        'tries',                   'random n',                     '2 1',       'image, image',                                 '1 1'],
	['random wait',      'refused, image',        'tries',                   'random n',                     '2 1',       'image, image',                                 '1 1'],
	['random wait',      'no status, no status',  'tries, goes on',          'random n',                     '1 1',       'no status, no status',                         '1 1'],
	['sync',             'refused, image',        'tries',                   'key gone',                     '1 1',       'stops: no key; lists 1',                       '0 1'],
	['submit',           'refused, image',        'tries, goes on',          'key gone',                     '1 1',       'no key, no key, task',                         '0 1'],
	['message',          'refused, image',        'tries, goes on',          'key gone',                     '1 1',       'no key, text',                                 '0 1'],
	['sync',             'image, refused',        'tries',                   'address',                      '1 2',       'image, image',                                 '1 1'],
	['sync',             'image, image',          'nobody',                  'no list, budget',              '0 0',       'no price, no price',                           '0 0'],
	['sync',             'image, image',          'tries, goes on',          'list comes, budget',           '1 1',       'image, image',                                 '1 1'],
	['sync',             'refused, image',        'tries, goes on',          'list goes, budget',            '1 1',       'no price, image',                              '0 1'],
	['equal sync',       'refused, image, image', 'tries, goes on',          'list goes, budget',            '3 0 0',     'no price, image of 0, image of 0',             '2 0 0'],

	// The next round of a loop
	['wait',             'image, image',          'loop',                    'nothing',                      '2 2',       'image, image → image, image',                  '2 2'],
	['wait',             'image, fails',          'loop, two outputs',       'nothing',                      '2 2',       'image, failed → image, failed',                '2 2'],

	// An agent's tool
	['sync',             'status 504',            'tool of engine',          'nothing',                      '1',         'unknown',                                      '0'],
	['sync',             'no response',           'tool of engine, goes on', 'nothing',                      '1',         'unknown',                                      '1'],
	['sync',             'no response',           'tool of agent',           'nothing',                      '1',         'unknown',                                      '1'],
	['submit',           'half a response',       'tool of agent',           'nothing',                      '1',         'unknown',                                      '0'],
	['wait',             'slow',                  'tool of engine',          'short Max Wait',               '1',         'open',                                         '1'],
	['wait',             'fails',                 'tool of agent',           'nothing',                      '1',         'failed',                                       '1'],

	// A new run, and n8n's Retry
	['sync',             'image, refused',        'new run',                 'nothing',                      '2 2',       'image, image',                                 '2 1'],
	['wait',             'image, fails',          'Retry',                   'nothing',                      '1 2',       'image, failed',                                '1 2'],
	['sync',             'image, no response',    'Retry',                   'nothing',                      '1 2',       'image, image',                                 '1 2'],
	['sync',             'image, refused',        'Retry',                   'prompt field, mode wait',      '1 2',       'image, image',                                 '1 1'],
	['form',             'image, refused',        'Retry',                   'prompt field, list comes',     '1 2',       'address, address',                             '1 1'],
	['sync',             'image, refused, image', 'Retry',                   'prompts, budget',              '1 1 1',     'image of 2, over budget, image of 0',          '1 0 1'],
	['sync',             'image, refused, image', 'Retry',                   'one prompt, budget',           '1 1 1',     'over budget, over budget, image',              '1 0 1'],
	['random form',      'image, refused',        'Retry',                   'how it is stored',             '1 2',       'address, address',                             '1 1'],
	['random form',      'image, refused',        'Retry',                   'how it is written',            '1 2',       'address, address',                             '1 1'],
	['random form',      'image, refused',        'Retry',                   'the field of a parameter',     '1 2',       'address, address',                             '1 1'],
	['random form',      'image, refused',        'Retry',                   'what is not sent',             '1 2',       'image, image',                                 '1 1'],
	['random sync',      'image, refused',        'Retry',                   'mode wait',                    '1 2',       'image, image',                                 '1 1'],
	['random wait',      'image, refused',        'Retry',                   'mode submit',                  '1 2',       'task, task',                                   '1 1'],
	['random submit',    'image, refused',        'Retry',                   'mode sync',                    '1 2',       'image, image',                                 '1 1'],
	['random form',      'image, refused',        'Retry',                   'size',                         '2 2',       'address, address',                             '2 1'],
	['random form',      'image, refused',        'Retry',                   'prompt',                       '2 2',       'address, address',                             '2 1'],
	['random form',      'image, refused',        'Retry',                   'number of images',             '2 2',       'address, address',                             '2 1'],
	['random form',      'image, refused',        'Retry',                   'seed',                         '2 2',       'address, address',                             '2 1'],
	['random form',      'image, refused',        'Retry',                   'model',                        '2 2',       'address, address',                             '2 1'],
	['random edit',      'image, refused',        'Retry',                   'key renewed',                  '1 2',       'image, image',                                 '1 1'],
	['random edit',      'image, refused',        'Retry',                   'other credential',             '2 2',       'image, image',                                 '2 1'],
	['submit',           'image, refused',        'Retry',                   'key gone',                     '1 1',       'no key, task, no key',                         '1 0'],
	['random edit',      'image, refused',        'Retry',                   'file replaced',                '2 2',       'image, image',                                 '2 1'],
	['random editOfUrl', 'image, refused',        'Retry',                   'source replaced',              '1 2',       'image, image',                                 '1 1'],
	['random editOfUrl', 'image, refused',        'Retry',                   'source gone → source gone',    '1 1 → 1 1', 'stops: no source; lists 0 → image, no source', '1 0'],
	['sync',             'refused, image',        'Retry',                   'dry run → nothing',            '1 1 → 2 1', 'dry run, dry run → image, image',              '1 1'],
	['sync',             'refused, image',        'Retry',                   'bad dry run → nothing',        '1 1 → 2 1', 'stops: bad option; lists 1 → image, image',    '1 1'],
	['sync',             'refused, image',        'Retry',                   'bad dry run of one → nothing', '1 1 → 2 1', 'stops: bad option; lists 1 → image, image',    '1 1'],
];

test.each(TABLE)('%s: %s; %s, %s', async (node, before, who, changed, sent, shown, charged) => {
	expect(await play(node, before, who, changed)).toEqual([sent, shown, charged]);
});

const RETRY = { retryOnFail: true, maxTries: 2, waitBetweenTries: 1 };
const GO_ON = { onError: 'continueRegularOutput' } as const;
const RANDOM = '={{ $json.prompt }} {{ Math.random() }}';
const ITEMS = ['number 0.', 'number 1.'].map((prompt) => ({ prompt }));
const INPUT = ITEMS.map((json) => ({ json }));

test('the parameters that are told were sent, where the next try would send others', async () => {
	bench.gateway.setFaults([{ call: 'poll', kind: 'status', status: 403, times: 1 }]);
	const extraFields = '={{ Math.random() > 0.5 ? {} : { seed: Math.random() } }}';
	const items = Array.from({ length: 12 }, (_, index) => ({ prompt: `number ${index}.` }));
	const result = await bench.run(
		'imageGeneration',
		{ prompt: '={{ $json.prompt }}', download: false, mode: 'wait', options: { extraFields } },
		items,
		RETRY,
	);
	const sent = bench.gateway.requests.flatMap(({ body }) => (body ? [body as IDataObject] : []));
	const seeds = sent.map(({ prompt, seed }) => [prompt, seed && { seed }] as const);
	const told = result.json(NODE).map(({ prompt, parameters }) => [prompt, parameters] as const);
	expect(new Map(told)).toEqual(new Map(seeds));
});

test.each([
	['submit', {}, 'the first', 1],
	// The engine tries again after a Stop, too.
	['sync', RETRY, 'the first', 1],
	['sync', { ...RETRY, ...GO_ON }, 'the second', 0],
] as const)(
	'a Stop names what was paid for, and what may have been: %s with %o, in %s try',
	async (call, settings, nth, silent) => {
		const match = `number ${silent}.`;
		const second = nth === 'the second';
		bench.gateway.setFaults([
			...(second ? [{ call, kind: 'status', status: 400, match, times: 1 } as const] : []),
			{ call, kind: 'silence', match },
		]);
		const parameters = { prompt: '={{ $json.prompt }}', mode: call, download: false };
		const running = bench.host.start(workflowOf('imageGeneration', parameters, settings), {
			input: INPUT,
		});
		await until(() => bench.gateway.count(call) >= (second ? 3 : 2));
		await new Promise((wake) => setTimeout(wake, 50));
		running.stop();
		const { status, runData, data } = await running.promise;
		expect(status).toBe('canceled');
		const { description } = runData[NODE]![0]!.error as { description?: string };
		const done = {
			sync: 'Finished images:\nROW: http',
			submit: 'Image tasks that .*:\nROW: generation task ',
		};
		const row = (index: number) => `item ${index + 1} \\("number ${index}\\."\\)`;
		expect(description).toMatch(new RegExp(`^${done[call].replace('ROW', row(1 - silent))}`));
		const unknown = `may have been charged\\..*:\n${row(silent)}: the outcome of the request is unknown$`;
		expect(description).toMatch(new RegExp(unknown));
		expect(data.executionData!.contextData[`node:${NODE}`]).toMatchObject({
			mediaGatewayPaid: {
				payments: [{ itemIndex: 1 - silent }, { itemIndex: silent, result: { kind: 'unknown' } }],
			},
		});
		expect(bench.gateway.paidByPrompt[`number ${1 - silent}.`]).toBe(1);
	},
);

test.each([
	// Quoted to its end, an ID can be read from half a response.
	['{"id":"task_7","status":"que', RETRY, 'outcome of the request is unknown; .* the ID task_7$'],
	['{"id":"task_7', {}, 'request is unknown$'],
] as const)(
	'a Stop while the response arrives keeps the ID that has arrived: %j with %o',
	async (half, settings, words) => {
		const stop = new AbortController();
		const server = await serve((_, response) => {
			response.writeHead(200, { 'content-type': 'application/json' });
			response.write(half);
		});
		const hasHead = once('http.client.response.finish');
		const host = await hostFor({ baseUrl: server.url });
		const options = { mode: 'submit', options: { checkLimits: false } };
		const workflow = workflowOf('imageGeneration', { prompt: 'a fox', ...options }, settings);
		const running = host.run(workflow, { signal: stop.signal });
		await hasHead;
		// The first piece has come with the head; the node reads it in one of the next turns.
		for (let turn = 0; turn < 20; turn += 1) await new Promise((wake) => setImmediate(wake));
		stop.abort();
		const { status, runData } = await running.finally(async () => await server.close());
		expect(status).toBe('canceled');
		const { description } = Object.values(runData[NODE]!)[0]!.error as { description?: string };
		expect(description).toMatch(new RegExp(words));
		expect(server.requests).toHaveLength(1);
	},
);

/** Resolves when something is published there. */
async function once(channel: string): Promise<void> {
	await new Promise<void>((resolve) => {
		const listen = (): void => {
			unsubscribe(channel, listen);
			resolve();
		};
		subscribe(channel, listen);
	});
}

test('inline images that were paid for get the field, the file name and the input fields of this try', async () => {
	let posts = 0;
	const own = await opened(
		serve((_, response) => {
			posts += 1;
			if (posts === 2) return sendJson(response, { error: { message: 'no' } }, 400);
			const image = { b64_json: TINY_PNG.toString('base64') };
			return sendJson(response, { data: [image, image] });
		}),
	);
	const host = await hostFor({ baseUrl: own.url });
	const options = { checkLimits: false, concurrency: 1, n: 2 };
	const old = { ...options, fileName: 'old' };
	const failed = await host.run(workflowOf('imageGeneration', { prompt: RANDOM, options: old }), {
		input: INPUT.map(({ json }) => ({ json: { ...json, kept: 1 } })),
	});
	expect([failed.status, posts]).toEqual(['error', 2]);
	const change = async (now: object) => {
		const parameters = { prompt: RANDOM, options: { ...now, binaryPropertyName: 'picture' } };
		const edited = workflowOf('imageGeneration', parameters, GO_ON);
		return (await host.retry(failed, edited)).output(NODE).slice(0, 2);
	};
	const other = { fileName: '={{ "new-" + $itemIndex }}', includeInputFields: false };
	const named = await change({ ...options, ...other });
	expect(named.map(({ binary }) => binary?.picture?.fileName)).toEqual([
		'new-0.png',
		'new-0-2.png',
	]);
	expect(named.map(({ json }) => json.kept)).toEqual([undefined, undefined]);
	const plain = await change(options);
	expect(plain.map(({ binary }) => binary?.picture?.fileName)).toEqual([
		expect.stringMatching(/^number-0-0-\d+-[0-9a-f]{8}\.png$/),
		expect.stringMatching(/^number-0-0-\d+-[0-9a-f]{8}-2\.png$/),
	]);
	expect(plain.map(({ json }) => json.kept)).toEqual([1, 1]);
	const [joined, second] = await change({ ...options, oneItemPerRequest: true });
	expect(Object.keys(joined!.binary!)).toEqual(['picture', 'picture_1']);
	expect([joined!.json.images, second!.pairedItem]).toEqual([[{}, {}], { item: 1 }]);
});

test('a record that names nothing of what was paid for is an error, and sends nothing', async () => {
	bench.gateway.setFaults([
		{ call: 'sync', kind: 'status', status: 400, match: 'number 1.', times: 1 },
	]);
	const parameters = { prompt: RANDOM, download: false };
	const failed = await bench.run('imageGeneration', parameters, ITEMS);
	const context = failed.data.executionData!.contextData[`node:${NODE}`]!;
	const { payments } = context.mediaGatewayPaid as never as { payments: Array<{ result: object }> };
	payments[0]!.result = {};
	const { paid } = bench.gateway;
	const retried = await bench.host.retry(
		failed,
		workflowOf('imageGeneration', parameters, { onError: 'continueRegularOutput' }),
	);
	const [item] = retried.json(NODE);
	expect(item?.error).toMatch(/another version of this package recorded/);
	expect(bench.gateway.paid - paid).toBe(0);
});

describe('a record of payments that another version of the package wrote', () => {
	test.each<[string, (record: { version: number; payments: unknown[] }) => unknown]>([
		['a later version', (record) => ({ ...record, version: 2 })],
		['no record at all', () => 'x'],
	])('%s: nothing is paid for in the same execution, and a hint says so', async (_, rewrite) => {
		bench.gateway.setFaults([
			{ call: 'sync', kind: 'status', status: 400, match: 'number 1.', times: 1 },
		]);
		const parameters = { prompt: RANDOM, download: false };
		const failed = await bench.run('imageGeneration', parameters, ITEMS);
		expect([failed.status, bench.gateway.paid]).toEqual(['error', 1]);
		const context = failed.data.executionData!.contextData[`node:${NODE}`]!;
		const record = rewrite(context.mediaGatewayPaid as never) as never;
		const retry = async (settings: object) => {
			context.mediaGatewayPaid = structuredClone(record);
			const twice = workflowOf('imageGeneration', parameters, { ...RETRY, ...settings });
			return await bench.host.retry(failed, twice);
		};
		const continued = await retry(GO_ON);
		const unknown = { error: expect.stringContaining('another version of this package recorded') };
		expect(continued.json(NODE)).toMatchObject([unknown, unknown]);
		expect(JSON.stringify(continued.runData[NODE]![0]!.hints)).toContain('another version');
		const ended = await retry({});
		expect([ended.status, bench.gateway.paid]).toEqual(['error', 1]);
		// A person has seen it: a retry of the retry sends the requests.
		const last = await bench.host.retry(ended, workflowOf('imageGeneration', parameters));
		const url = expect.stringMatching(/^http/);
		expect(last.json(NODE)).toMatchObject([{ url }, { url }]);
		expect(bench.gateway.paid).toBe(3);
	});
});
