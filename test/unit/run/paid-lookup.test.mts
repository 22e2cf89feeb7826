/** How a retried batch finds what it has paid for: counted in looks at the notes, not in time. */
import { requestFingerprint } from '../../../gateway/protocol/fingerprint.js';
import { planGeneration } from '../../../gateway/protocol/requestPlan.js';
import { openPaidRequests } from '../../../nodes/shared/run/paidRequests.js';
import type { Run } from '../../../nodes/shared/run/runContext.js';

const planOf = (prompt: string) => planGeneration({ model: 'm', prompt }, 'query');

interface Earlier {
	prompt: string;
	itemIndex: number;
	executionId?: string;
	paid?: object;
}

/** A run with notes of an earlier one, each look at which is counted. */
function openWith(earlier: Earlier[]) {
	let looks = 0;
	const notes = earlier.map(({ prompt, itemIndex, executionId = '1', paid }, index) => {
		const note = {
			fingerprint: requestFingerprint(planOf(prompt), 'account'),
			source: '',
			executionId,
			runIndex: 0,
			itemIndex,
			paid: paid ?? { created: index },
		};
		return new Proxy(note, {
			get: (target, name) => {
				looks += 1;
				return Reflect.get(target, name) as unknown;
			},
		});
	});
	let sent = 0;
	const run = {
		isTool: false,
		address: { account: 'account' },
		sendOnce: async () => await Promise.reject(new Error('not called')),
		client: { send: async () => await Promise.resolve({ created: 1_000_000 + (sent += 1) }) },
		context: {
			getWorkflowDataProxy: () => ({ $runIndex: 0 }),
			getExecutionId: () => '2',
			getContext: () => ({ mediaGatewayPaid: notes }),
			getNode: () => ({ parameters: {} }),
			getInputData: () => [],
		},
	} as unknown as Run;
	return {
		/** What each item gets, by when it was paid. */
		pay: async (prompts: string[]): Promise<unknown[]> => {
			const paid = openPaidRequests(run);
			const requests = prompts.map((prompt, item) => paid.expect(item, planOf(prompt)));
			requests.forEach((request) => paid.has(request));
			const got: unknown[] = [];
			for (const [item, request] of requests.entries()) {
				const plan = planOf(prompts[item] as string);
				got.push(
					(await paid.payOnce(request, plan, ({ created }) => ({ created }) as never)).created,
				);
			}
			paid.close();
			return got;
		},
		sent: () => sent,
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
		{ prompt: 'c', itemIndex: 4, paid: { failed: true } },
	]);
	const got = await run.pay(['a', 'a', 'a', 'a', 'c', 'd']);
	expect(got).toEqual([2, 1, 3, 1_000_001, 1_000_002, 1_000_003]);
	expect(run.sent()).toBe(3);
});
