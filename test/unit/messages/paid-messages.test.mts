/** What the chat model notes of the messages that it has paid for. */
import type { IExecuteFunctions } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { UnknownOutcomeError } from '../../../gateway/util/gatewayError.js';
import { openPaidMessages } from '../../../nodes/LmChatMediaGateway/paidMessages.js';

const problem = { message: 'The outcome is unknown', description: "wasn't sent again." };

interface Place {
	execution?: string;
	root?: string;
	parent?: string;
	run?: number;
}

/** A node's context that lasts as long as the execution's data. */
function storage() {
	const data: { node: Record<string, unknown> } = { node: {} };
	const open = ({ execution = '1', root = 'Agent', parent = 'Agent', run = 0 }: Place = {}) =>
		openPaidMessages({
			getContext: () => data.node,
			getExecutionId: () => execution,
			getExecuteData: () => ({ node: { name: root } }),
			getWorkflowDataProxy: () => ({ $runIndex: run }),
			parentNode: { name: parent },
		} as unknown as IExecuteFunctions);
	const restart = () => {
		data.node = JSON.parse(JSON.stringify(data.node)) as Record<string, unknown>;
	};
	return { open, restart };
}

const bodyOf = (paid: ReturnType<ReturnType<typeof storage>['open']>, fingerprint = 'a') =>
	paid.take(fingerprint)?.body;

describe('an unknown outcome', () => {
	test('stays one in the same execution, whoever asks, and after a restart', () => {
		const { open, restart } = storage();
		open().refuse('a', problem);
		for (const place of [{}, { run: 7 }, { root: 'Other', parent: 'Other' }]) {
			const paid = open(place);
			expect(() => paid.take('a')).toThrow(UnknownOutcomeError);
			expect(paid.take('b')).toBeUndefined();
			restart();
		}
	});

	test('is none any more in another execution: a person has decided', () => {
		const { open } = storage();
		open().refuse('a', problem);
		expect(open({ execution: '2' }).take('a')).toBeUndefined();
	});
});

describe('a response', () => {
	test('is handed out once in each later try of the run, in the same order', () => {
		const { open } = storage();
		const first = open();
		first.keep('a', { id: 1 }, ['x']);
		first.keep('a', { id: 2 }, []);
		expect(bodyOf(first)).toBeUndefined();
		first.close();
		for (let count = 0; count < 2; count += 1) {
			const later = open();
			expect(later.take('a')).toMatchObject({ body: { id: 1 }, callIds: ['x'] });
			expect([bodyOf(later), bodyOf(later), bodyOf(later, 'b')]).toEqual([
				{ id: 2 },
				undefined,
				undefined,
			]);
			later.close();
			later.close();
		}
	});

	test('is not handed out while a model of the same try is open', () => {
		const { open } = storage();
		const [one, other] = [open(), open()];
		one.keep('a', {}, []);
		one.close();
		one.close();
		expect(bodyOf(other)).toBeUndefined();
		expect(bodyOf(open())).toBeUndefined();
	});

	test.each<[string, Place]>([
		['another run', { run: 1 }],
		['another root node', { root: 'Other', parent: 'Other' }],
		['an agent that is a tool', { parent: 'Other' }],
		['another execution', { execution: '2' }],
	])('is not handed out to %s', (_, place) => {
		const { open } = storage();
		const first = open();
		first.keep('a', {}, []);
		first.close();
		expect(bodyOf(open(place))).toBeUndefined();
	});

	test('is handed out after a restart, and after a tool has used the same model', () => {
		const { open, restart } = storage();
		const first = open();
		first.keep('a', { id: 1 }, []);
		const tool = open({ parent: 'Tool' });
		tool.keep('a', { id: 2 }, []);
		open({ parent: 'Tool', run: 1 }).close();
		restart();
		expect(bodyOf(open())).toEqual({ id: 1 });
	});

	test('that had to give way was paid all the same', () => {
		const { open } = storage();
		const first = open();
		first.keep('a', { text: 'x'.repeat(5_000_000) }, []);
		first.keep('b', { text: 'x'.repeat(5_000_000) }, []);
		first.close();
		const later = open();
		expect(() => later.take('a')).toThrow(UnknownOutcomeError);
		expect(() => later.take('a')).toThrow(UnknownOutcomeError);
		expect(bodyOf(later, 'b')).toBeDefined();
	});
});

test('notes that are none are passed over', () => {
	for (const note of [null, 'x', [], { executionId: '1' }, { executionId: '1', unknown: 7 }]) {
		const context = {
			getContext: () => ({ mediaGatewayPaidMessages: note }),
			getExecutionId: () => '1',
			getExecuteData: () => ({ node: { name: 'Agent' } }),
			getWorkflowDataProxy: () => ({}),
		};
		const paid = openPaidMessages(context as unknown as IExecuteFunctions);
		expect(paid.take('a')).toBeUndefined();
	}
});
