/** How a retried batch finds what it has paid for: counted in looks at the payments, not in time. */
import { planImages } from '../../../gateway/protocol/requestPlan.js';
import { choicesOf, type PayingField } from '../../../nodes/shared/fields/choices.js';
import { REQUEST_OPTIONS } from '../../../nodes/shared/fields/optionFields.js';
import type { ImagesResult } from '../../../nodes/shared/payments/payment.js';
import { openPaymentLog } from '../../../nodes/shared/payments/paymentLog.js';
import { builtNodes } from '../repository/built-nodes.mjs';
import { pay } from '../../../gateway/pay.js';
import { payerFor } from '../senders.mjs';
import { requestDigestOf, identify, paymentContext } from './payment-context.mjs';
import { digestOf } from '../../../util/digest.js';

const IMAGES = { kind: 'images' as const, images: [] };
const planOf = (prompt: string) => planImages('generation', { model: 'm', prompt });

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
			requestDigest: requestDigestOf(planOf(prompt)),
			inputDigest: '',
			executionId,
			runIndex: 0,
			itemIndex,
			result: result ?? { kind: 'images', images: [], created: index },
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
	const payer = payerFor(() => ({ created: 1_000_000 + (sent += 1) }));
	const context = paymentContext('2', { mediaGatewayPaid: { version: 1, payments } });
	return {
		/** What each item gets, by when it was paid. */
		pay: async (prompts: string[]): Promise<unknown[]> => {
			const paid = openPaymentLog<ImagesResult>(context, []);
			for (const [item, prompt] of prompts.entries()) await identify(paid, item, planOf(prompt));
			paid.assignment.assign();
			known = prompts.map((_, item) => paid.assignment.owned.has(item));
			const got: unknown[] = [];
			for (const [item, prompt] of prompts.entries()) {
				const { created } = await pay(payer, paid.journal, item, planOf(prompt), ({ json }) => ({
					...IMAGES,
					created: Number(json.created),
				}));
				got.push(created);
			}
			paid.journal.close();
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
	['equal requests at their places', (size) => [batch(size, (itemIndex) => ({ prompt: 'a', itemIndex })), batch(size, () => 'a')]], // prettier-ignore
	['equal requests of which half was paid for', (size) => [batch(size / 2, (itemIndex) => ({ prompt: 'a', itemIndex })), batch(size, () => 'a')]], // prettier-ignore
	['equal requests at other places', (size) => [batch(size, (index) => ({ prompt: 'a', itemIndex: size + index })), batch(size, () => 'a')]], // prettier-ignore
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
		{ prompt: 'c', itemIndex: 4, result: { kind: 'task', task: {}, end: 'failed' } },
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

/** Executions of one item that share a record, in which each request is answered and counted. */
function openExecutions() {
	const payments: object[] = [];
	let sent = 0;
	const payer = payerFor(() => ({ sent: (sent += 1) }));
	return {
		sent: () => sent,
		open: (executionId: string, choices: string) => {
			const store = { mediaGatewayPaid: { version: 1, payments } };
			const context = paymentContext(executionId, store, [{ json: {} }]);
			const paid = openPaymentLog<ImagesResult>(context, [choices]);
			const payWith = async (read: () => ImagesResult) => {
				await identify(paid, 0, planOf(choices));
				paid.assignment.assign();
				const paying = pay(payer, paid.journal, 0, planOf(choices), read);
				return await paying.finally(() => paid.journal.close());
			};
			return { pay: payWith, recover: () => paid.itemReport.recover(new Error('broken'), 0).items };
		},
	};
}

test('a response at which the reader fails was charged, and is not paid for again', async () => {
	const { open, sent } = openExecutions();
	const fail = () => {
		throw new TypeError('no number');
	};
	for (const _ of [1, 2]) {
		const paying = open('1', 'a fox').pay(fail);
		await expect(paying).rejects.toThrow("The outcome is unknown: the response can't be read");
	}
	expect(sent()).toBe(1);
});

test('an item that cannot be read gets what was paid for at its place, if nothing was chosen anew', async () => {
	const { open } = openExecutions();
	await open('1', 'a fox').pay(
		() => ({ kind: 'storedItems', items: [{ json: { url: 'fox.png' } }] }) as never,
	);
	expect(open('2', 'an owl').recover()).toBeUndefined();
	expect(open('2', 'a fox').recover()).toMatchObject([{ json: { url: 'fox.png' } }]);
});

test('inputs without JSON are not all the same input', () => {
	const circular: object[] = [];
	circular.push(circular);
	expect([digestOf(circular), digestOf([])]).toEqual(['', expect.stringMatching(/^\w{64}$/)]);
});

test.each([
	['the same file', 'one', true],
	['another file', 'two', false],
])('%s in another request of the same item: ID %s, paid for: %s', async (_, id, isPaid) => {
	const store = {};
	const at = (executionId: string, file: string) => {
		const data = { id: file, data: 'filesystem-v2', mimeType: 'image/png' };
		return openPaymentLog<ImagesResult>(
			paymentContext(executionId, store, [{ json: {}, binary: { data } }]),
			[],
		);
	};
	const [first, next] = [at('1', 'one'), at('2', id)];
	await identify(first, 0);
	await pay(
		payerFor(() => ({})),
		first.journal,
		0,
		planOf('a'),
		() => IMAGES,
	);
	first.journal.close();
	const identity = await identify(next, 0);
	expect(next.assignment.findOwnEarlier(identity) !== undefined).toBe(isPaid);
	next.assignment.assign();
	expect(next.assignment.owned.has(0)).toBe(isPaid);
});

/** Every field of a node that pays says whether it is part of the request: here stand all of them. */
const SHAPING = {
	ImageGeneration: ['model', 'modelParameters', 'prompt', 'extraFields'],
	ImageEdit: ['extraFiles', 'images'],
	Message: ['budgetTokens', 'display', 'effort', 'extraFields', 'history', 'images', 'input'],
};
SHAPING.ImageEdit.push('mask', ...SHAPING.ImageGeneration);
SHAPING.ImageGeneration.push(...REQUEST_OPTIONS.generation.map(({ name }) => name));
SHAPING.ImageEdit.push(...REQUEST_OPTIONS.edit.map(({ name }) => name));
SHAPING.Message.push('maxTokens', 'messages', 'model', 'prompt', 'system');
SHAPING.Message.push('temperature', 'thinking', 'topK', 'topP');

const OTHER = {
	ImageGeneration: [
		...['addSummary', 'binaryPropertyName', 'budget', 'checkLimits', 'concurrency', 'download'],
		...['dryRun', 'fileName', 'includeInputFields', 'maxWait', 'mode'],
		...['oneItemPerRequest', 'pollInterval', 'requestsPerSecond'],
		...['streamResponse', 'surviveRestarts', 'timeout'],
	],
	Message: [
		...['concurrency', 'outputJson', 'promptCaching'],
		...['requestsPerSecond', 'simplify', 'timeout'],
	],
};

test.each(['ImageGeneration', 'ImageEdit', 'Message'] as const)(
	'%s: an edit of a field that shapes the request tells another request, and of no other field',
	(className) => {
		const node = builtNodes().find((one) => one.className === className)!;
		const fields = node.description.properties as PayingField[];
		const all = [...node.parameters, ...node.options].filter((name) => name !== 'options');
		// Two fields may have one name, each shown where the other is not.
		const names = [...new Set(all)];
		const setTo = (name: string, value: string) =>
			JSON.stringify(
				choicesOf(
					fields,
					node.options.includes(name) ? { options: { [name]: value } } : { [name]: value },
				),
			);
		const shaping = names.filter((name) => setTo(name, 'one') !== setTo(name, 'other'));
		expect(shaping.sort()).toEqual([...SHAPING[className]].sort());
		const others = names.filter((name) => !shaping.includes(name));
		expect(others.sort()).toEqual(
			[...OTHER[className === 'Message' ? 'Message' : 'ImageGeneration']].sort(),
		);
	},
);

describe('what the editor stores about a value, and does not send, is no choice', () => {
	const fields = builtNodes().find(({ className }) => className === 'ImageEdit')!.description
		.properties as PayingField[];
	const chosen = (parameters: object) =>
		digestOf(choicesOf(fields, parameters as Record<string, unknown>));
	const form = (value: object | null, more: object = {}) => ({
		modelParameters: { mappingMode: 'defineBelow', value, ...more },
	});
	const files = (...file: object[]) => ({ options: { extraFiles: { file } } });
	const extra = (extraFields: unknown) => ({ options: { extraFields } });

	test.each<[string, object, object]>([
		[
			'the label of a model',
			{ model: { __rl: true, mode: 'list', value: 'm', cachedResultName: 'm (0.04 each)' } },
			{ model: { __rl: true, mode: 'list', value: 'm', cachedResultUrl: 'x' } },
		],
		['list or name', { model: { __rl: true, mode: 'list', value: 'm' } }, { model: { __rl: true, mode: 'name', value: ' m ' } }], // prettier-ignore
		['the schema of the form', form({ seed: 1 }), form({ seed: 1 }, { schema: [{ id: 'seed' }] })],
		['a file without a name', files({ field: 'a', binaryProperty: 'b' }, { field: '', binaryProperty: '' }), files({ field: 'a', binaryProperty: 'b' })], // prettier-ignore
		['a field taken off the screen', form({ seed: 1, size: null }), form({ seed: 1 })],
		['an empty field', form({ size: '' }), form(null)],
		['the field by which a parameter is set', form({ seed: 1 }), extra('{"seed":"1"}')],
		['a switch that is stored as text', form({ hd: 'true' }), form({ hd: true })],
		['a fixed text as an expression', { prompt: '=7.0' }, { prompt: '7.0' }],
		['the spaces in JSON', extra('{"a":{"b":1,"c":2}}'), extra('{ "a": { "c": 2, "b": 1 } }')],
		['an option that waits', { options: { maxWait: 5 } }, { mode: 'sync' }],
	])('%s', (_, one, other) => expect(chosen(one)).toBe(chosen(other)));

	test.each<[string, object, object]>([
		['another value', form({ seed: 1 }), form({ seed: 2 })],
		['false is a value', form({ hd: false }), form({})],
		['the order of files', files({ field: 'a', binaryProperty: 'b' }, { field: 'c', binaryProperty: 'd' }), files({ field: 'c', binaryProperty: 'd' }, { field: 'a', binaryProperty: 'b' })], // prettier-ignore
		['another value inside JSON', extra('{"a":[1,2]}'), extra('{"a":[2,1]}')],
		['another expression', { prompt: '={{ $json.a }}' }, { prompt: '={{ $json.b }}' }],
		['a prompt that is a number in other digits', { prompt: '7' }, { prompt: '7.0' }],
		['a prompt in quotes', { prompt: '"7"' }, { prompt: '7' }],
		['a text of the form', form({ style: '1e3' }), form({ style: '1000' })],
		['the number of images', { options: { n: 1 } }, { options: { n: 2 } }],
	])('but this is: %s', (_, one, other) => expect(chosen(one)).not.toBe(chosen(other)));
});

describe('the key of a payment', () => {
	const CONTEXT = { getNode: () => ({ name: 'Node', parameters: {} }) };
	const unknown = { message: 'The outcome is unknown', description: '' };
	const open = async (payments: object[], prompts: string[], executionId = '1') => {
		const context = paymentContext(
			executionId,
			{ mediaGatewayPaid: { version: 1, payments, token: 't' } },
			[],
			CONTEXT,
		);
		const log = openPaymentLog<ImagesResult>(context, []);
		for (const [item, prompt] of prompts.entries()) await identify(log, item, planOf(prompt));
		return log;
	};
	const lost = (prompt: string, idempotencyKey?: string) => ({
		...{ executionId: '1', runIndex: 0, itemIndex: 0, inputDigest: '', idempotencyKey },
		...{
			requestDigest: requestDigestOf(planOf(prompt)),
			result: { kind: 'unknown', problem: unknown },
		},
	});

	test('is asked for again with the same request, and with no other', async () => {
		for (const [prompt, idempotencyKey] of [
			['a', 'r'],
			['b', undefined],
		] as const) {
			const log = await open([lost('a', 'r')], [prompt]);
			log.assignment.assign();
			expect([log.journal.find(0)?.charged, log.journal.idempotencyKey(0)]).toEqual([
				'maybe',
				idempotencyKey,
			]);
		}
	});

	test('keeps a lost request from being taken for a paid one', async () => {
		const ownIn = async (earlier: object) => {
			const log = await open([earlier], []);
			return log.assignment.findOwnEarlier(await identify(log, 0, planOf('a')));
		};
		expect(await ownIn(lost('a', 'r'))).toBeUndefined();
		expect(await ownIn(lost('a'))).toBeDefined();
	});

	test('of an equal item that another try could not prepare is another one', async () => {
		const store: object[] = [];
		const first = await open(store, ['b', 'a']);
		first.assignment.assign();
		const alone = first.journal.idempotencyKey(1);
		first.journal.begin(1, () => unknown);
		first.journal.settle(1, {
			charged: 'yes',
			receipt: { kind: 'images', images: [{ url: 'u' }] },
		});
		first.journal.close();
		const second = await open(store, ['a', 'a'], '2');
		second.assignment.assign();
		expect([second.assignment.owned.has(0), second.assignment.owned.has(1)]).toEqual([false, true]);
		expect(second.journal.idempotencyKey(0)).toBeDefined();
		expect(second.journal.idempotencyKey(0)).not.toBe(alone);
	});
});

test('what was paid for is listed in the order of the items, whichever of them was paid for first', async () => {
	const log = openPaymentLog<ImagesResult>(paymentContext('1', {}), []);
	for (const item of [0, 1, 2]) await identify(log, item, planOf(`${item}`));
	log.assignment.assign();
	for (const item of [2, 0, 1]) {
		log.journal.begin(item, () => ({ message: '', description: '' }));
		const receipt = { ...IMAGES, images: [{ url: `https://host/${item}.png` }] };
		log.journal.settle(item, { charged: 'yes', receipt });
	}
	expect(log.itemReport.listUnreturned().map(({ item }) => item)).toEqual([0, 1, 2]);
});

test('an item may have been charged where the record cannot be read', () => {
	const chargeIn = (version: number) => {
		const store = { mediaGatewayPaid: { version, payments: [] } };
		const log = openPaymentLog<ImagesResult>(paymentContext('1', store, [{ json: {} }]), []);
		return [log.itemReport.chargeOf(0), log.itemReport.itemDetails(0).charged];
	};
	expect([chargeIn(1), chargeIn(2)]).toEqual([
		['no', 'no'],
		['maybe', 'maybe'],
	]);
});
