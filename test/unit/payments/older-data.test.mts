/**
 * Data that an earlier version has stored: a record of payments, and waits of a suspended run. Whoever
 * updates between a failed execution and its retry pays nothing twice.
 */
import { planGeneration } from '../../../gateway/protocol/requestPlan.js';
import { PaymentLog } from '../../../nodes/shared/payments/paymentLog.js';
import { fromItems, toItems } from '../../../nodes/shared/suspend/storedWaits.js';
import { readAccount } from '../../../nodes/shared/transport/nodeAccount.js';
import { identify, paymentContext } from './payment-context.mjs';
import older from './older-data.json' with { type: 'json' };

const PROMPTS = ['a fox', 'an owl', 'a hare', 'a bat'];
const node = {
	name: 'Images',
	type: 'n8n-nodes-media-gateway.imageGeneration',
	typeVersion: 1,
	parameters: {},
	credentials: { mediaGatewayApi: { id: '7', name: 'c' } },
} as never;
const FIELDS = { baseUrl: 'https://gateway.example/v1', apiKey: 'sk-another-key-by-now' };

/** The same items in another execution, as n8n's Retry runs them, or in the same one. */
async function openLog(executionId: string, choices: string[], prompts = PROMPTS) {
	const store = { mediaGatewayPaid: structuredClone(older.record) };
	const input = PROMPTS.map((prompt) => ({ json: { prompt, row: prompt.length } }));
	const context = paymentContext(executionId, store, input, { getNode: () => node });
	const log = new PaymentLog(context, choices);
	const { id } = readAccount(FIELDS as never, node);
	for (const [index, prompt] of prompts.entries()) {
		const plan = planGeneration({
			model: 'aurora',
			prompt,
			fields: { n: 1 },
			modelParameters: { size: '512x512' },
		});
		await identify(log, index, plan, id);
	}
	log.assign();
	return log;
}

/** What each item gets in place of a request: a task, an image, an unknown outcome, or nothing. */
const got = (log: PaymentLog) =>
	PROMPTS.map((_, index) => {
		try {
			const { task, images } = log.reuse(index) ?? {};
			return task?.taskId ?? images?.[0]?.url;
		} catch (error) {
			return (error as Error).message;
		}
	});

const IMAGE = 'https://images.example/owl.png';

test('the account is the same, whatever its key is now', () => {
	expect(readAccount(FIELDS as never, node).id).toBe(older.account);
});

test.each([
	['with the same choices', ['aurora', 'wait'], PROMPTS],
	['with a prompt that is random', ['aurora', 'wait'], ['1', '2', '3', '4']],
	['with other choices and the same requests', ['other'], PROMPTS],
])('in a retry %s, tasks and images are returned; what failed is sent again', async (...row) => {
	const [, choices, prompts] = row;
	expect(got(await openLog('42', choices, prompts))).toEqual([
		'task_1',
		IMAGE,
		undefined,
		undefined,
	]);
});

test('in the same execution, nothing is sent again', async () => {
	const unknown = expect.stringContaining('The outcome is unknown');
	expect(got(await openLog('41', ['aurora', 'wait']))).toEqual([
		'task_1',
		IMAGE,
		'task_3',
		unknown,
	]);
});

test('stored waits are read, and stored again, as they are', () => {
	const waits = fromItems(older.waits as never)!;
	expect(waits.entries.map(({ wait }) => wait?.task.taskId)).toEqual([
		'TASK_0',
		undefined,
		'TASK_2',
	]);
	expect(waits.entries[1]!.done!.items).toMatchObject([{ json: { url: IMAGE } }]);
	expect(JSON.parse(JSON.stringify(toItems(waits)))).toEqual(older.waits);
});
