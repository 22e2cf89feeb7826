/** How a retried batch finds what it has paid for: counted in looks at the payments, not in time. */
import type {
	IDataObject,
	IExecuteFunctions,
} from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { requestFingerprint } from '../../../gateway/protocol/fingerprint.js';
import { planGeneration } from '../../../gateway/protocol/requestPlan.js';
import { NOT_OF_THE_REQUEST, PaymentLog } from '../../../nodes/shared/payments/paymentLog.js';
import { builtNodes } from '../repository/built-nodes.mjs';
import type { Run } from '../../../nodes/shared/run/runContext.js';

const planOf = (prompt: string) => planGeneration({ model: 'm', prompt });

interface Earlier {
	prompt: string;
	itemIndex: number;
	executionId?: string;
	result?: object;
}

/** A run with payments of an earlier one, each look at which is counted. */
function openWith(earlier: Earlier[]) {
	let looks = 0;
	const payments = earlier.map(({ prompt, itemIndex, executionId = '1', result }, index) => {
		const payment = {
			fingerprint: requestFingerprint(planOf(prompt), 'account'),
			source: '',
			executionId,
			runIndex: 0,
			itemIndex,
			result: result ?? { created: index },
		};
		return new Proxy(payment, {
			get: (target, name) => {
				looks += 1;
				return Reflect.get(target, name) as unknown;
			},
		});
	});
	let sent = 0;
	let known: boolean[] = [];
	const run = {
		client: { send: async () => await Promise.resolve({ created: 1_000_000 + (sent += 1) }) },
	} as unknown as Run;
	const context = {
		getWorkflowDataProxy: () => ({ $runIndex: 0 }),
		getExecutionId: () => '2',
		getContext: () => ({ mediaGatewayPaid: payments }),
		getNode: () => ({ parameters: {} }),
		getInputData: () => [],
	} as unknown as IExecuteFunctions;
	return {
		/** What each item gets, by when it was paid. */
		pay: async (prompts: string[]): Promise<unknown[]> => {
			const paid = new PaymentLog(context);
			prompts.forEach((prompt, item) => paid.expect(item, planOf(prompt), 'account'));
			known = prompts.map((_, item) => paid.has(item));
			const got: unknown[] = [];
			for (const [item, prompt] of prompts.entries()) {
				const read = ({ created }: IDataObject) => ({ created }) as never;
				got.push((await paid.pay(item, planOf(prompt), run, read as never)).created);
			}
			paid.close();
			return got;
		},
		sent: () => sent,
		/** Which items were said to be paid for, before the first of them was. */
		known: () => known,
		looks: () => looks,
	};
}

const batch = <T,>(size: number, make: (index: number) => T) =>
	Array.from({ length: size }, (_, index) => make(index));

test.each<[string, (size: number) => [Earlier[], string[]]]>([
	[
		'equal requests at their places',
		(size) => [batch(size, (itemIndex) => ({ prompt: 'a', itemIndex })), batch(size, () => 'a')],
	],
	[
		'equal requests of which half was paid for',
		(size) => [
			batch(size / 2, (itemIndex) => ({ prompt: 'a', itemIndex })),
			batch(size, () => 'a'),
		],
	],
	[
		'equal requests at other places',
		(size) => [
			batch(size, (index) => ({ prompt: 'a', itemIndex: size + index })),
			batch(size, () => 'a'),
		],
	],
	[
		'requests in another order',
		(size) => [
			batch(size, (itemIndex) => ({ prompt: `p${itemIndex}`, itemIndex })),
			batch(size, (index) => `p${size - 1 - index}`),
		],
	],
	[
		'other requests at the same places',
		(size) => [
			batch(size, (itemIndex) => ({ prompt: 'a', itemIndex })),
			batch(size, (index) => `p${index}`),
		],
	],
])('%s: twice the batch is twice the looks', async (_, make) => {
	const looksOf = async (size: number) => {
		const [earlier, prompts] = make(size);
		const run = openWith(earlier);
		await run.pay(prompts);
		return run.looks() / size;
	};
	const [small, large] = [await looksOf(100), await looksOf(1600)];
	expect(large).toBeLessThan(1.5 * small);
});

test('each item gets its own first, then what nobody asks for at its place, each once', async () => {
	const run = openWith([
		{ prompt: 'b', itemIndex: 0 },
		{ prompt: 'a', itemIndex: 1 },
		{ prompt: 'a', itemIndex: 7 },
		{ prompt: 'a', itemIndex: 8 },
		{ prompt: 'c', itemIndex: 4, result: { failed: true } },
	]);
	const got = await run.pay(['a', 'a', 'a', 'a', 'c', 'd']);
	expect(got).toEqual([2, 1, 3, 1_000_001, 1_000_002, 1_000_003]);
	expect(run.sent()).toBe(3);
});

test('what was paid for once is said to be paid for by one item only', async () => {
	const run = openWith([
		{ prompt: 'a', itemIndex: 7 },
		{ prompt: 'b', itemIndex: 0 },
	]);
	const got = await run.pay(['a', 'a', 'b', 'b']);
	expect(run.known()).toEqual([true, false, true, false]);
	expect(got).toEqual([0, 1_000_001, 1, 1_000_002]);
});

test('another try of the same run: each item takes its own, also if another one asks for it now', async () => {
	const own = { executionId: '2' };
	const run = openWith([
		{ prompt: 'a', itemIndex: 0, ...own },
		{ prompt: 'b', itemIndex: 1, ...own },
		{ prompt: 'c', itemIndex: 2, ...own },
	]);
	expect(await run.pay(['b', 'c', 'd'])).toEqual([0, 1, 2]);
	expect(run.sent()).toBe(0);
});

test.each([
	['the same file', 'one', true],
	['another file', 'two', false],
])('%s in another request of the same item: digest %s, paid for: %s', async (_, digest, isPaid) => {
	const store = {};
	const at = (executionId: string) =>
		new PaymentLog({
			getWorkflowDataProxy: () => ({ $runIndex: 0 }),
			getExecutionId: () => executionId,
			getContext: () => store,
			getNode: () => ({ parameters: {} }),
			getInputData: () => [{ json: {} }],
		} as unknown as IExecuteFunctions);
	const [first, next] = [at('1'), at('2')];
	const run = { client: { send: async () => await Promise.resolve({}) } } as unknown as Run;
	first.expect(0, planOf('a'), 'account', ['one']);
	await first.pay(0, planOf('a'), run, () => ({}));
	first.close();
	next.expect(0, planOf('b'), 'account', [digest]);
	expect(next.has(0)).toBe(isPaid);
});

test('these parameters shape the request, and no other', () => {
	const paying = builtNodes().filter(({ className }) =>
		['ImageGeneration', 'ImageEdit', 'Message'].includes(className),
	);
	const names = new Set(paying.flatMap(({ parameters, options }) => [...parameters, ...options]));
	const shaping = [...names].filter((name) => !NOT_OF_THE_REQUEST.has(name));
	expect(shaping.sort()).toEqual([
		...['budgetTokens', 'display', 'effort', 'extraFields', 'extraFiles', 'history'],
		...['imageBinaryProperty', 'imageFieldName', 'imageFields', 'imageSource', 'imageUrl', 'input'],
		...[
			'mask',
			'maxTokens',
			'messages',
			'messagesJson',
			'model',
			'modelParameters',
			'n',
			'options',
			'parametersByName',
		],
		...['prompt', 'promptCaching', 'responseFormat', 'system', 'temperature', 'thinking'],
		...['topK', 'topP'],
	]);
});
