/** What the chat model notes of the messages that it has paid for. */
import type { IExecuteFunctions } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { JsonObject } from '../../../util/json.js';
import { ChatPaymentLog } from '../../../nodes/LmChatMediaGateway/chatPaymentLog.js';

const problem = { message: 'The outcome is unknown', description: "wasn't sent again." };

interface Place {
	execution?: string;
	root?: string;
	parent?: string;
	run?: number;
	retryOnFail?: boolean;
	/** The tool that the engine has run for the agent before. */
	after?: string;
}

/** A node's context that lasts as long as the execution's data. */
function storage() {
	const data: { node: Record<string, unknown> } = { node: {} };
	const open = ({
		execution = '1',
		root = 'Agent',
		parent = 'Agent',
		run = 0,
		retryOnFail = true,
		after,
	}: Place = {}) =>
		new ChatPaymentLog({
			getContext: () => data.node,
			getExecutionId: () => execution,
			getExecuteData: () => ({
				node: { name: root, retryOnFail },
				metadata: { subNodeExecutionData: after && { actions: [after] } },
			}),
			getWorkflowDataProxy: () => ({ $runIndex: run }),
			parentNode: { name: parent },
		} as unknown as IExecuteFunctions);
	const restart = () => {
		data.node = JSON.parse(JSON.stringify(data.node)) as Record<string, unknown>;
	};
	return { open, restart };
}

/** A message that gets no response. */
const fail = async (paid: ChatPaymentLog) =>
	await paid.during(async () => await Promise.reject(new Error('no'))).catch(() => undefined);

const messageOf = (paid: ReturnType<ReturnType<typeof storage>['open']>, fingerprint = 'a') =>
	paid.take(fingerprint);

describe('an unknown outcome', () => {
	test('stays one in the same execution, whoever asks, and after a restart', () => {
		const { open, restart } = storage();
		open().add('a', { unknown: problem });
		for (const place of [{}, { run: 7 }, { root: 'Other', parent: 'Other' }]) {
			const paid = open(place);
			expect(() => paid.take('a')).toThrow(expect.objectContaining({ code: 'outcomeUnknown' }));
			expect(paid.take('b')).toBeUndefined();
			restart();
		}
	});

	test('is none any more in another execution: a person has decided', () => {
		const { open } = storage();
		open().add('a', { unknown: problem });
		expect(open({ execution: '2' }).take('a')).toBeUndefined();
	});
});

describe('a response', () => {
	test('is handed out once in each later try of the run, in the same order', async () => {
		const { open } = storage();
		const first = open();
		first.add('a', { message: { id: 1 } });
		first.add('a', { message: { id: 2 } });
		expect(messageOf(first)).toBeUndefined();
		await fail(first);
		first.close();
		for (let count = 0; count < 2; count += 1) {
			const later = open();
			expect(later.take('a')).toEqual({ id: 1 });
			expect([messageOf(later), messageOf(later), messageOf(later, 'b')]).toEqual([
				{ id: 2 },
				undefined,
				undefined,
			]);
			await fail(later);
			later.close();
			later.close();
		}
	});

	test('is not handed out while a model of the same try is open', () => {
		const { open } = storage();
		const [one, other] = [open(), open()];
		one.add('a', { message: {} });
		one.close();
		one.close();
		expect(messageOf(other)).toBeUndefined();
		expect(messageOf(open())).toBeUndefined();
	});

	const call = (name: string) => ({ content: [{ type: 'tool_use', name }] });

	test.each<[string, Place, JsonObject, boolean]>([
		['the last one of a try', {}, { id: 2 }, false],
		['the fields for an output parser', {}, call('format_final_json_response'), false],
		['the call of a tool, which was paid for as well', {}, call('draw'), true],
		["the answer to an agent's other item, at its next step", { after: 'draw' }, { id: 2 }, true],
	])('is asked for again or not: %s', (_, place, message, isReused) => {
		const { open } = storage();
		const [first, other] = [open(), open()];
		first.add('a', { message: { id: 1 } });
		other.add('b', { message });
		first.close();
		other.close();
		const second = open(place);
		expect(second.take('a')).toEqual({ id: 1 });
		expect(second.take('b') !== undefined).toBe(isReused);
	});

	test('is used again where two were under way at once: nobody knows which one did not fit', async () => {
		const { open } = storage();
		const first = open();
		const answer = async () => await Promise.resolve();
		await Promise.all([first.during(answer), first.during(answer)]);
		first.add('a', { message: { id: 1 } });
		first.close();
		expect(messageOf(open())).toEqual({ id: 1 });
	});

	test.each<[string, Place]>([
		['another run', { run: 1 }],
		['another root node', { root: 'Other', parent: 'Other' }],
		['an agent that is a tool', { parent: 'Other' }],
		['another execution', { execution: '2' }],
	])('is not handed out to %s', async (_, place) => {
		const { open } = storage();
		const first = open();
		first.add('a', { message: {} });
		await fail(first);
		first.close();
		expect(messageOf(open(place))).toBeUndefined();
	});

	test('is handed out after a restart, and after a tool has used the same model', () => {
		const { open, restart } = storage();
		const first = open();
		first.add('a', { message: { id: 1 } });
		const tool = open({ parent: 'Tool' });
		tool.add('a', { message: { id: 2 } });
		open({ parent: 'Tool', run: 1 }).close();
		restart();
		expect(messageOf(open())).toEqual({ id: 1 });
	});

	test('is not recorded where the node that asks is not run again', () => {
		const { open, restart } = storage();
		const first = open({ retryOnFail: false });
		first.add('a', { message: { id: 1 } });
		first.add('b', { unknown: problem });
		first.close();
		restart();
		const later = open({ retryOnFail: false });
		expect(messageOf(later)).toBeUndefined();
		expect(() => later.take('b')).toThrow(expect.objectContaining({ code: 'outcomeUnknown' }));
	});
});

test('with a record of another version no message is sent in the same execution', () => {
	for (const stored of [null, 'x', [], { payments: [] }, { version: 2, payments: [] }]) {
		const store = { mediaGatewayPaid: stored };
		let executionId = '1';
		const context = {
			getContext: () => store,
			getExecutionId: () => executionId,
			getExecuteData: () => ({ node: { name: 'Agent' } }),
			getWorkflowDataProxy: () => ({}),
		};
		const open = () => new ChatPaymentLog(context as unknown as IExecuteFunctions);
		expect(() => open().take('a')).toThrow(expect.objectContaining({ code: 'outcomeUnknown' }));
		expect(() => open().take('a')).toThrow(expect.objectContaining({ code: 'outcomeUnknown' }));
		executionId = '2';
		expect(open().take('a')).toBeUndefined();
	}
});
