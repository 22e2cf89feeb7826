import fc from 'fast-check';
import type { ChatTurn } from '../../../gateway/messages/chat.js';
import { readChatResponse } from '../../../gateway/messages/chatResponse.js';
import {
	keepTurn,
	restoreTurns,
	type StoredTurn,
} from '../../../gateway/messages/thinkingHistory.js';

type Block = ChatTurn['content'][number];

const turn = (role: string, ...content: Block[]): ChatTurn => ({ role, content });
const text = (words: string): Block => ({ type: 'text', text: words });
const thinking = (words: string): Block => ({ type: 'thinking', thinking: words, signature: 's' });
const call = (id: string, prompt = 'a fox'): Block => ({
	type: 'tool_use',
	id,
	name: 'draw',
	input: { prompt },
});
const result = (id: string): Block => ({
	type: 'tool_result',
	tool_use_id: id,
	content: `made ${id}`,
});
const keep = (kept: StoredTurn[], turns: ChatTurn[], blocks: Block[], most?: number) => {
	const ids = blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => String(id));
	keepTurn(kept, { model: 'me', turns, blocks, ids }, most);
};
const restore = (kept: StoredTurn[], turns: ChatTurn[]) => restoreTurns(kept, turns, 'me');
const question = turn('user', text('Draw a fox'));

/** What an agent makes of a turn: a turn for each call, nothing else, and the input changed. */
function takenApart(blocks: Block[]): ChatTurn[] {
	return blocks
		.filter(({ type }) => type === 'tool_use')
		.flatMap(({ id, name }) => [
			turn('assistant', { type: 'tool_use', id, name, input: { prompt: 'a fox', id } }),
			turn('user', result(String(id))),
		]);
}

test('a call that was not answered is left out, and nothing else', () => {
	const response = [thinking(''), text('Let me see.'), call('one'), call('two')];
	const kept: StoredTurn[] = [];
	keep(kept, [question], response);
	const some = [turn('assistant', call('two')), turn('user', result('two'))];
	expect(restore(kept, [question, ...some])).toEqual([
		question,
		turn('assistant', thinking(''), text('Let me see.'), call('two')),
		turn('user', result('two')),
	]);
});

describe('a turn without tool calls gets its thinking back', () => {
	const plain = turn('assistant', text('OK.'));
	const more = turn('user', text('Go on'));
	const first = [thinking('first'), text('OK.')];
	const second = [thinking('second'), text('OK.')];
	let kept: StoredTurn[];

	beforeEach(() => {
		kept = [];
		keep(kept, [question], first);
		keep(kept, [question, turn('assistant', ...first), more], second);
	});

	test('by everything that went before', () => {
		expect(restore(kept, [question, plain, more, plain, more])).toEqual([
			question,
			turn('assistant', ...first),
			more,
			turn('assistant', ...second),
			more,
		]);
		expect(restore(kept, [more, plain, more])).toEqual([more, plain, more]);
	});

	test('by its text and its model, and the calls of another model get none', () => {
		const other = turn('assistant', text('Okay.'));
		expect(restore(kept, [question, other, more])).toEqual([question, other, more]);
		keep(kept, [question], [thinking('Hm.'), call('one')]);
		const turns = [question, plain, more, ...takenApart([call('one')])];
		expect(JSON.stringify(restoreTurns(kept, turns, 'another model'))).not.toContain('thinking');
	});
});

describe('IDs of tool calls', () => {
	/** Gives the calls of a response their IDs as the chat model does, and keeps the response. */
	function answered(kept: StoredTurn[], turns: ChatTurn[], blocks: Block[]) {
		const restored = restore(kept, turns);
		const seed = JSON.stringify([restored, blocks]);
		const body = { content: blocks, stop_reason: 'tool_use' };
		const { content, callIds } = readChatResponse(body, seed);
		keepTurn(kept, { model: 'me', turns: restored, blocks: content, ids: callIds });
		return callIds;
	}

	const steps = (ids: string[]): ChatTurn[] =>
		ids.flatMap((id) => [turn('assistant', call(id, 'changed')), turn('user', result(id))]);

	test('that repeat from response to response stay apart, and go back as they came', () => {
		const kept: StoredTurn[] = [];
		let turns = [question];
		const rounds = ['one', 'two', 'three'].map((words) => {
			const blocks = [thinking(words), call('call_0', words)];
			const ids = answered(kept, turns, blocks);
			turns = [...turns, ...steps(ids)];
			return { blocks, id: ids[0] as string };
		});
		expect(new Set(rounds.map(({ id }) => id)).size).toBe(3);
		const restored = restore(kept, turns);
		expect(restored).toEqual([
			question,
			...rounds.flatMap(({ blocks, id }) => [
				turn('assistant', ...blocks),
				turn('user', { ...result('call_0'), content: `made ${id}` }),
			]),
		]);
	});

	test('that are missing, repeated or odd become plain and different ones; pairs stay pairs', () => {
		const repeated = ['call_0', 'call_0', 'call_1'];
		const odd = ['call 0/ä\n', '__proto__', 'constructor', 'x'.repeat(1000)];
		const given = [null, '', ' ', ...repeated, ...odd];
		const kept: StoredTurn[] = [];
		const blocks = given.map((id, index): Block => ({ ...call('', `${index}`), id }));
		const ids = answered(kept, [question], blocks);
		expect(new Set(ids).size).toBe(given.length);
		for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9][\w-]{0,63}$/);
		const [, calls, results] = restore(kept, [question, ...steps(ids)]);
		expect(calls?.content.map(({ input }) => input)).toEqual(blocks.map(({ input }) => input));
		const sent = calls?.content.map(({ id }) => id) ?? [];
		expect(new Set(sent).size).toBe(given.length);
		for (const id of sent) expect(id).toMatch(/\S/);
		expect(results?.content).toEqual(
			sent.map((id, index) => ({ ...result('x'), tool_use_id: id, content: `made ${ids[index]}` })),
		);
	});
});

describe('calls of another model', () => {
	const ask = (kept: StoredTurn[], ...turns: ChatTurn[]) => {
		const sent = restore(kept, [question, ...turns]);
		const calls = sent.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_use'));
		const results = sent.flatMap(({ content }) => content.flatMap((one) => one.tool_use_id ?? []));
		return { ids: calls.map(({ id }) => String(id)), results };
	};

	test.each<[string, ...ChatTurn[]]>([
		[
			'malformed',
			turn('assistant', call('functions.draw:0')),
			turn('user', result('functions.draw:0')),
		],
		['long', turn('assistant', call('x'.repeat(1000))), turn('user', result('x'.repeat(1000)))],
		[
			'the same in two turns',
			turn('assistant', call('call_0')),
			turn('user', result('call_0')),
			turn('assistant', call('call_0')),
			turn('user', result('call_0')),
		],
		[
			'the same in one turn',
			turn('assistant', call('call_0'), call('call_0')),
			turn('user', result('call_0'), result('call_0')),
		],
	])('get IDs of their own where these are %s, and keep their results', (_, ...turns) => {
		// prettier-ignore
		const { ids, results } = ask([], ...turns);
		expect(ids.every((id) => /^[\w-]{1,64}$/.test(id))).toBe(true);
		expect(new Set(ids).size).toBe(ids.length);
		expect(ids.length).toBeGreaterThan(0);
		expect(results).toEqual(ids);
		// The same in the next message of the chat.
		expect(ask([], ...turns, turn('user', text('Go on'))).ids).toEqual(ids);
	});

	test('never take the ID of a kept turn', () => {
		const kept: StoredTurn[] = [];
		const own = [thinking('x'), call('toolu_1')];
		keepTurn(kept, { model: 'me', turns: [question], blocks: own, ids: ['agent_1'] });
		const { ids } = ask(
			kept,
			turn('assistant', call('agent_1')),
			turn('user', result('agent_1')),
			turn('assistant', call('toolu_1')),
			turn('user', result('toolu_1')),
			turn('assistant', call('toolu_2')),
			turn('user', result('toolu_2')),
		);
		const other = expect.stringMatching(/^call_/);
		expect(ids).toEqual(['toolu_1', other, other]);
	});
});

test('results come before the text of a turn', () => {
	const turns = [
		turn('assistant', call('a')),
		turn('user', text('And?')),
		turn('user', result('a')),
	];
	const kinds = restore([], [question, ...turns])
		.at(-1)
		?.content.map(({ type }) => type);
	expect(kinds).toEqual(['tool_result', 'text']);
});

test('a call without its result and a result without its call are left out', () => {
	const turns = [
		turn('user', result('forgotten')),
		question,
		turn('assistant', text('Gladly.'), call('lost')),
		turn('user', text('Well?')),
		turn('assistant', call('never')),
	];
	expect(restore([], turns)).toEqual([
		question,
		turn('assistant', text('Gladly.')),
		turn('user', text('Well?')),
	]);
});

describe('a conversation that begins with the assistant', () => {
	const opening = turn('user', text('…'));
	const greeting = turn('assistant', text('Hello!'));
	const made = turn('user', result('one'));
	const id = expect.stringMatching(/^call_\w{24}$/);

	test.each<[string, ChatTurn[], ChatTurn[]]>([
		['as it is', [greeting, question], [greeting, question]],
		['after a result without its call', [made, greeting, question], [greeting, question]],
		[
			'with a call',
			[turn('assistant', call('one')), made],
			[
				turn('assistant', { ...call('one'), id }),
				turn('user', { ...result('one'), tool_use_id: id }),
			],
		],
		['with half a call', [turn('assistant', call('one')), greeting], [greeting]],
	])('has a turn of the user in front: %s', (_, turns, sent) => {
		expect(restore([], turns)).toEqual([opening, ...sent]);
	});

	test('has none if nothing is left of the assistant', () => {
		expect(restore([], [turn('assistant', call('lost')), question])).toEqual([question]);
		expect(restore([], [made])).toEqual([]);
	});

	test('gets its thinking back', () => {
		const kept: StoredTurn[] = [];
		const plain = [thinking('plain'), text('A fox?')];
		const acting = [thinking('acting'), call('one')];
		keep(kept, restore(kept, [greeting, question]), plain);
		const turns = [
			greeting,
			question,
			turn('assistant', text('A fox?')),
			turn('user', text('Yes')),
		];
		keep(kept, restore(kept, turns), acting);
		expect(restore(kept, [...turns, ...takenApart(acting)])).toEqual([
			opening,
			greeting,
			question,
			turn('assistant', ...plain),
			turn('user', text('Yes')),
			turn('assistant', ...acting),
			made,
		]);
	});

	test('may have a stored call for its first turn, which keeps its thinking and its result', () => {
		const kept: StoredTurn[] = [];
		const response = [thinking('Hm.'), call('one')];
		keep(kept, [question], response);
		expect(restore(kept, takenApart(response))).toEqual([
			opening,
			turn('assistant', ...response),
			made,
		]);
	});
});

test('what is kept is bounded: the oldest gives way, the newest never, and each is written twice', () => {
	let written = 0;
	const counted = (id: string, length = 500): Block => ({
		...call(id, 'x'.repeat(length)),
		toJSON: () => {
			written += 1;
			return 'x'.repeat(length);
		},
	});
	const kept: StoredTurn[] = [];
	for (const id of ['one', 'two', 'three']) keep(kept, [question], [counted(id)], 1700);
	expect(kept.map(({ ids }) => ids)).toEqual([['two'], ['three']]);
	for (let index = 0; index < 50; index += 1) keep(kept, [question], [counted('more')]);
	written = 0;
	keep(kept, [question], [counted('four', 5000)], 1700);
	expect(kept.map(({ ids }) => ids)).toEqual([['four']]);
	expect(written).toBeLessThanOrEqual(2 * 53);
});

test('whatever an agent does to a run of tool turns, the blocks go back unchanged, but for blank texts', () => {
	const rounds = fc.array(
		fc.record({
			thoughts: fc.array(fc.string(), { maxLength: 2 }),
			says: fc.string(),
			calls: fc.integer({ min: 1, max: 4 }),
		}),
		{ minLength: 1, maxLength: 10 },
	);
	fc.assert(
		fc.property(rounds, fc.boolean(), (made, apart) => {
			const kept: StoredTurn[] = [];
			const responses = made.map(({ thoughts, says, calls }, round) => [
				...thoughts.map(thinking),
				...(says === '' ? [] : [text(says)]),
				...Array.from({ length: calls }, (_, index) => call(`${round}-${index}`)),
			]);
			let turns = [question];
			for (const response of responses) {
				keep(kept, restore(kept, turns), response);
				const calls = response.filter(({ type }) => type === 'tool_use');
				turns = turns.concat(
					apart
						? takenApart(response)
						: [
								turn('assistant', ...calls),
								turn('user', ...calls.map(({ id }) => result(String(id)))),
							],
				);
			}
			const restored = restore(kept, turns);
			const spoken = restored.filter(({ role }) => role === 'assistant');
			const isBlank = (block: Block) => block.type === 'text' && String(block.text).trim() === '';
			expect(spoken.map(({ content }) => content)).toEqual(
				responses.map((blocks) => blocks.filter((block) => !isBlank(block))),
			);
			expect(restored.map(({ role }) => role).join()).toBe(
				`user${',assistant,user'.repeat(responses.length)}`,
			);
		}),
	);
});
