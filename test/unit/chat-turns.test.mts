import fc from 'fast-check';
import type { ChatTurn } from '../../gateway/chat.js';
import { keepTurn, restoreTurns, type KeptTurn } from '../../gateway/keptTurns.js';

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

describe('a turn with tool calls', () => {
	const answer = [thinking(''), text('Let me see.'), call('one'), call('two')];
	let kept: KeptTurn[];

	beforeEach(() => {
		kept = [];
		keepTurn(kept, [question], answer);
	});

	test('is put together again as it came, thinking with an empty text included', () => {
		expect(restoreTurns(kept, [question, ...takenApart(answer)])).toEqual([
			question,
			turn('assistant', ...answer),
			turn('user', result('one'), result('two')),
		]);
	});

	test('also where it came back whole', () => {
		const whole = turn('assistant', call('one'), call('two'));
		const results = turn('user', result('one'), result('two'));
		expect(restoreTurns(kept, [question, whole, results])).toEqual([
			question,
			turn('assistant', ...answer),
			results,
		]);
	});

	test('loses a call that was not answered, and nothing else', () => {
		const some = [turn('assistant', call('two')), turn('user', result('two'))];
		expect(restoreTurns(kept, [question, ...some])).toEqual([
			question,
			turn('assistant', thinking(''), text('Let me see.'), call('two')),
			turn('user', result('two')),
		]);
	});

	test('does not swallow what follows', () => {
		const more = turn('user', text('And now?'));
		expect(restoreTurns(kept, [question, ...takenApart(answer), more]).at(-1)).toEqual(
			turn('user', result('one'), result('two'), text('And now?')),
		);
	});

	test('keeps to its own calls where several turns follow each other', () => {
		const next = [thinking('More.'), call('three')];
		keepTurn(kept, [question], next);
		const turns = [question, ...takenApart(answer), ...takenApart(next)];
		expect(restoreTurns(kept, turns).map(({ content }) => content)).toEqual([
			question.content,
			answer,
			[result('one'), result('two')],
			next,
			[result('three')],
		]);
	});

	test('that nobody kept is left as it is', () => {
		const foreign = [turn('assistant', call('other')), turn('user', result('other'))];
		expect(restoreTurns(kept, [question, ...foreign])).toEqual([question, ...foreign]);
	});

	test('survives being stored', () => {
		const stored = JSON.parse(JSON.stringify(kept)) as KeptTurn[];
		expect(restoreTurns(stored, [question, ...takenApart(answer)])[1]?.content).toEqual(answer);
	});
});

describe('a turn without tool calls', () => {
	const answer = [thinking('It is a greeting.'), text('Hello.')];
	const plain = turn('assistant', text('Hello.'));
	const more = turn('user', text('Go on'));

	test('gets its thinking back by its text and what it answers', () => {
		const kept: KeptTurn[] = [];
		keepTurn(kept, [question], answer);
		expect(restoreTurns(kept, [question, plain, more])).toEqual([
			question,
			turn('assistant', ...answer),
			more,
		]);
		expect(restoreTurns(kept, [more, plain, more])[1]).toEqual(plain);
		expect(restoreTurns(kept, [question, turn('assistant', text('Hallo.')), more])[1]).toEqual(
			turn('assistant', text('Hallo.')),
		);
	});

	test('and without thinking is not kept', () => {
		const kept: KeptTurn[] = [];
		keepTurn(kept, [question], [text('Hello.')]);
		expect(kept).toEqual([]);
	});
});

test('turns of one role become one', () => {
	const turns = [question, turn('user', text('quickly')), turn('assistant', text('Yes.'))];
	expect(restoreTurns([], turns)).toEqual([
		turn('user', text('Draw a fox'), text('quickly')),
		turn('assistant', text('Yes.')),
	]);
	expect(turns[0]).toEqual(turn('user', text('Draw a fox')));
});

test('what is kept is bounded: the oldest gives way, the newest never', () => {
	const kept: KeptTurn[] = [];
	for (const id of ['one', 'two', 'three'])
		keepTurn(kept, [question], [call(id, 'x'.repeat(500))], 1300);
	expect(kept.map(({ ids }) => ids)).toEqual([['two'], ['three']]);
	keepTurn(kept, [question], [call('four', 'x'.repeat(5000))], 1300);
	expect(kept.map(({ ids }) => ids)).toEqual([['four']]);
});

test('whatever an agent does to a run of tool turns, the blocks go back unchanged', () => {
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
			const kept: KeptTurn[] = [];
			const answers = made.map(({ thoughts, says, calls }, round) => [
				...thoughts.map(thinking),
				...(says === '' ? [] : [text(says)]),
				...Array.from({ length: calls }, (_, index) => call(`${round}-${index}`)),
			]);
			let turns = [question];
			for (const answer of answers) {
				keepTurn(kept, restoreTurns(kept, turns), answer);
				const calls = answer.filter(({ type }) => type === 'tool_use');
				turns = turns.concat(
					apart
						? takenApart(answer)
						: [
								turn('assistant', ...calls),
								turn('user', ...calls.map(({ id }) => result(String(id)))),
							],
				);
			}
			const restored = restoreTurns(kept, turns);
			const spoken = restored.filter(({ role }) => role === 'assistant');
			expect(spoken.map(({ content }) => content)).toEqual(answers);
			expect(restored.map(({ role }) => role).join()).toBe(
				`user${',assistant,user'.repeat(answers.length)}`,
			);
		}),
	);
});
