/** What a run that ends early says of what it leaves behind: only what is true, a line each. */
import '../fast-time.mjs';
import { listPayments, type PaymentResult } from '../../../nodes/shared/payments/payment.js';
import { describeUnreturned } from '../../../nodes/shared/errors/nodeErrors.js';
import { errorOf } from '../one-node.mjs';
import { sharedBench } from '../opened.mjs';
import { NODE, workflowOf } from '../workbench.mjs';

const bench = sharedBench();

const PROMPT = '={{ $json.prompt }}';
const items = (...prompts: string[]) => prompts.map((prompt) => ({ prompt }));

test('Image Wait: not the task that has failed, nor one that the gateway does not know', async () => {
	const [good, failing] = await bench.submit('a fox', 'an owl [fail]');
	const result = await bench.run(
		'imageWait',
		{ taskId: '={{ $json.id }}', download: false, maxWait: 60 },
		[{ id: good }, { id: failing }],
	);
	const { description, messages } = errorOf(result);
	expect(description).toMatch(
		/^1 paid request is recorded with this execution\. Run the node again, or give the IDs to/m,
	);
	expect(messages).toEqual([`Item 1: image task ${good}`]);
	const unknown = await bench.run('imageWait', { taskId: 'task_of_nobody', maxWait: 60 }, [
		{ submittedAt: '2026-01-01T00:00:00Z' },
	]);
	expect(unknown.error?.message).toMatch(/has no task task_of_nobody/);
	expect(unknown.error?.description).not.toMatch(/recorded/);
	expect(unknown.error).toMatchObject({ messages: [] });
});

test('Image Wait: a task that has an address is listed with it', async () => {
	const [good, failing] = await bench.submit('a fox', 'an owl [fail]');
	const statusUrl = `/v1/images/generations/${good}`;
	const parameters = { taskId: '={{ $json.taskId }}', download: false, maxWait: 60 };
	const tasks = [{ taskId: good, statusUrl }, { taskId: failing }];
	const { details } = errorOf(await bench.run('imageWait', parameters, tasks));
	expect(details).toMatchObject({ paid: [{ item: 0, taskId: good, statusUrl }] });
});

test('a task that the gateway did not know is listed once another try asks for it', async () => {
	const away = { call: 'poll', kind: 'status', match: 'owl', status: 503 } as const;
	bench.gateway.setFaults([{ ...away, match: 'fox', status: 404 }, away]);
	const parameters = { prompt: PROMPT, mode: 'wait', options: { pollInterval: 1 } };
	const prompts = items('a fox [slow 99]', 'an owl [fail]');
	const failed = await bench.run('imageGeneration', parameters, prompts);
	expect(errorOf(failed).messages).toEqual([expect.stringMatching(/^Item 2 /)]);
	bench.gateway.setFaults([]);
	const { message, messages } = errorOf(await bench.host.retry(failed));
	expect(message).toMatch(/ended with the status/);
	expect(messages).toEqual([expect.stringMatching(/^Item 1 .*: generation task /)]);
	expect(bench.gateway.paid).toBe(2);
});

describe('one refused prompt in a batch', () => {
	const prompts = items('a fox', 'an owl', 'a hen', 'a hare');
	const parameters = { prompt: PROMPT, mode: 'wait', options: { pollInterval: 1 } };
	const fail = async () => {
		bench.gateway.setFaults([{ call: 'submit', kind: 'status', status: 400, match: 'owl' }]);
		const failed = await bench.run('imageGeneration', parameters, prompts);
		expect(bench.gateway.paid).toBe(3);
		return failed;
	};

	test('the error has its reason, what to click, and the list as lines and as data', async () => {
		// As an error workflow reads it, after n8n has stored it.
		const stored = { error: JSON.parse(JSON.stringify((await fail()).error)) };
		const { message, description, messages, context, details } = errorOf(stored);
		expect(message).toBe('The gateway rejected the request (400): invalid request parameters');
		const [paid, advice, ...others] = description.split('\n');
		expect(advice).toMatch(/^Check the model/);
		expect(paid).toMatch(
			/^3 paid requests are recorded with this execution\. Correct what failed in this node \(a retry gets the same input items\), save, and/,
		);
		expect(paid).toContain("'Retry with currently saved workflow'");
		expect(paid).toContain("'Execute step' pays for all items again");
		expect(others).toEqual([]);
		// The editor shows it as HTML: a break for each line.
		expect(String(context.descriptionTemplate).split('<br>')).toHaveLength(2);
		const tasks = details.paid as Array<Record<string, unknown>>;
		expect(tasks).toEqual(
			[0, 2, 3].map((item) => ({ item, taskId: expect.any(String), taskType: 'generation' })),
		);
		expect(messages).toEqual(
			tasks.map(({ item, taskId }) => {
				const row = new RegExp(`^Item ${Number(item) + 1} .*: generation task ${String(taskId)}$`);
				return expect.stringMatching(row) as unknown;
			}),
		);
		expect(context.details).not.toHaveProperty('outcome');
	});

	test('in a sub-workflow it is the own execution that a person retries', async () => {
		bench.gateway.setFaults([{ call: 'submit', kind: 'status', status: 400, match: 'owl' }]);
		const workflow = workflowOf('imageGeneration', parameters);
		const input = prompts.map((json) => ({ json }));
		const { error, executionId } = await bench.host.run(workflow, { input, mode: 'integrated' });
		expect(error?.description).toContain(`the sub-workflow's own execution (${executionId})`);
		expect(error?.description).not.toContain('currently saved');
	});

	test('who follows it gets the other images, and pays for the failed item at most', async () => {
		const failed = await fail();
		bench.gateway.setFaults([]);
		const goOn = { onError: 'continueRegularOutput' } as const;
		const rescued = await bench.host.retry(failed, workflowOf('imageGeneration', parameters, goOn));
		expect(rescued.json(NODE).map(({ prompt }) => ({ prompt }))).toEqual(prompts);
		expect(bench.gateway.paid).toBe(4);
	});

	test('the error says that a retry sends a request of unknown outcome again, as it does', async () => {
		const cut = { call: 'submit', kind: 'status', status: 500, match: 'owl' } as const;
		bench.gateway.setFaults([cut]);
		const failed = await bench.run('imageGeneration', parameters, prompts);
		const { description } = errorOf(failed);
		expect(description).toContain('1 request may have been charged, and a retry sends it again');
		const before = bench.gateway.count('submit');
		bench.gateway.setFaults([]);
		await bench.host.retry(failed, failed.workflow);
		expect(bench.gateway.count('submit')).toBe(before + 1);
	});

	test('a request of unknown outcome alone is nothing to rescue', async () => {
		bench.gateway.setFaults([{ call: 'submit', kind: 'status', status: 500, match: 'owl' }]);
		const { error } = await bench.run('imageGeneration', parameters, items('an owl'));
		expect(errorOf({ error }).details).toMatchObject({
			outcome: 'unknown',
			paid: [{ item: 0, outcome: 'unknown' }],
		});
		expect(error?.description).toContain('1 request may have been charged');
		expect(error?.description).not.toContain('Executions');
	});
});

test('a task, images and unknown outcomes stand under a heading each, in the order of the items', () => {
	const task = (taskId: string) => ({
		taskId,
		taskType: 'edit' as const,
		status: 'queued',
		submittedAt: '',
	});
	const url = (nth: number) => ({ url: `https://images.example/${nth}.png?a=1&copy=2` });
	const payments: Array<{ itemIndex: number; result: PaymentResult }> = [
		{ itemIndex: 6, result: { kind: 'images', task: task('t6'), images: [url(1), url(2)] } },
		{ itemIndex: 4, result: { kind: 'task', task: task('t4'), end: 'failed' } },
		{ itemIndex: 3, result: { kind: 'task', task: task('t3'), end: 'lost' } },
		{ itemIndex: 2, result: { kind: 'task', task: task('t2') } },
		{
			itemIndex: 1,
			result: { kind: 'unknown', problem: { message: '', description: '', taskId: 't1' } },
		},
		{ itemIndex: 0, result: { kind: 'images', images: [{ url: 'data:image/png;base64,AAAA' }] } },
		{ itemIndex: 7, result: { kind: 'message', message: { content: [] }, turns: [] } },
	];
	expect(describeUnreturned(listPayments(payments)).split('\n')).toEqual([
		"Image tasks that have finished or are still running. Image Wait gets their images, as in the example 'Collect these tasks':",
		'item 3: edit task t2',
		'Finished images:',
		'item 7: https://images.example/1.png?a=1&copy=2',
		'item 7: https://images.example/2.png?a=1&copy=2',
		'Results that a retry of this execution returns:',
		'item 1: an image inside the response',
		'item 8: the response to a message',
		"Requests that may have been charged. Check the usage log in the gateway's console:",
		'item 2: the outcome of the request is unknown; its response contains the ID t1',
	]);
	expect(
		listPayments([{ itemIndex: 0, result: { kind: 'task', task: task('t'), end: 'failed' } }]),
	).toEqual([]);
});

test('what looks like HTML in it is shown as it is', async () => {
	const own = '<b>bold</b>&copy=1 %%PARAMETER%%';
	const failed = await bench.run('imageGeneration', { prompt: 'a fox', options: { n: own } });
	const { description, context } = errorOf(failed);
	expect(description).toContain(own);
	expect(context.descriptionTemplate ?? '').not.toMatch(/<b>|&copy|%%PARAMETER/);
});
