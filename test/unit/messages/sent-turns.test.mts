import { promptOf, readMessage, type Turn } from '../../../gateway/messages/message.js';
import { withPlaces } from '../../../nodes/shared/errors/settingPlaces.js';
import { responseHint } from '../../../gateway/messages/responseHint.js';
import { withoutBlanks } from '../../../gateway/messages/sentTurns.js';

const text = (words: unknown) => ({ type: 'text', text: words });
const thinking = { type: 'thinking', thinking: '', signature: 's' };
const call = { type: 'tool_use', id: 'c', name: 'draw', input: { text: '' } };
const user = (...content: unknown[]): Turn => ({ role: 'user', content });
const assistant = (...content: unknown[]): Turn => ({ role: 'assistant', content });
const result = (content: unknown) => ({ type: 'tool_result', tool_use_id: 'c', content });

test("the prompt is the text of the user's last turn, without blanks", () => {
	const turns = [user(text('Hi')), user(text('Draw'), text(' '), text('a boat')), assistant()];
	expect(promptOf(turns)).toBe('Draw\na boat');
	expect(promptOf([user(text(' '))])).toBeUndefined();
});

describe('on the way back', () => {
	test.each<[string, Turn[], Turn[]]>([
		['a blank text', [assistant(thinking, text('\n\n'), call)], [assistant(thinking, call)]],
		['a blank text in a result', [user(result([text(' ')]))], [user(result([]))]],
		['a blank turn', [user(text('Hi')), { role: 'assistant', content: ' ' }], [user(text('Hi'))]],
		[
			'a refusal; the turns around it become one',
			[{ role: 'user', content: 'Hi' }, assistant(), user(text('Please'))],
			[user(text('Hi'), text('Please'))],
		],
		[
			'thinking alone',
			[user(text('Hi')), assistant(thinking), user(text('And?')), assistant(text('Hello'))],
			[user(text('Hi'), text('And?')), assistant(text('Hello'))],
		],
	])('is left out: %s', (_, turns, sent) => {
		const before = structuredClone(turns);
		expect(withoutBlanks(turns)).toEqual(sent);
		expect(turns).toEqual(before);
	});

	test('everything else stays as it is, two turns of a role too', () => {
		const turns = [user(text('Hi')), user(result('')), assistant(thinking, text(' Hello '))];
		expect(withoutBlanks(turns)).toEqual(turns);
	});

	test('many blank turns take no longer than as many others', () => {
		const pair = [user(text('Hi')), assistant()];
		const turns = Array.from({ length: 50_000 }, () => pair).flat();
		expect(withoutBlanks(turns)).toMatchObject([{ content: { length: 50_000 } }]);
	});
});

test.each<[string, Record<string, unknown>, unknown]>([
	['a text', { content: 'Hi' }, [text('Hi')]],
	['a blank text', { content: ' ' }, []],
	['nothing, with a stop reason', { content: null, stop_reason: 'end_turn' }, []],
	['nothing', { content: null }, undefined],
])('the content of a response may be %s in place of blocks', (_, body, blocks) => {
	expect(readMessage(body)?.content).toEqual(blocks);
});

const EXPLAINED = { type: 'refusal', explanation: 'It is about <b>some</b> pathogens.' };

test.each<[string, Record<string, unknown>, RegExp | undefined]>([
	['a refusal with its explanation', { content: [], stop_reason: 'refusal', stop_details: EXPLAINED }, /respond: It is about some pathogens\. You may have been charged/], // prettier-ignore
	['a refusal with a category', { content: [text('I can')], stop_reason: 'refusal', stop_details: { category: 'bio', explanation: null } }, /refused to respond: bio\. /], // prettier-ignore
	['a refusal in a block', { content: [{ type: 'refusal', refusal: 'No.' }], stop_reason: 'content_filter' }, /respond: No\. /], // prettier-ignore
	[
		'thinking alone',
		{ content: [thinking, text('\n')], stop_reason: 'end_turn' },
		/only thought.* See 'Thinking'/,
	],
	['nothing', { content: [], stop_reason: 'end_turn' }, /is empty/],
	['an empty text', { content: '' }, /is empty/],
	['text before a call that is missing', { content: [text('I will draw it now.')], stop_reason: 'tool_use' }, /announced a tool call that isn't in/], // prettier-ignore
	['only a missing call', { content: [thinking], stop_reason: 'tool_use' }, /no tool was called/],
	['a call', { content: [text('Gladly.'), call], stop_reason: 'tool_use' }, undefined],
	['a text', { content: [thinking, text('Here')], stop_reason: 'end_turn' }, undefined],
	[
		'a text that is cut off',
		{ content: [text('Here')], stop_reason: 'max_tokens' },
		/cut off at "max_tokens"\. Increase it\. See 'Max/,
	],
	['a text at the end of the context', { content: [text('Here')], stop_reason: 'model_context_window_exceeded' }, /all that the model can read\. Make it shorter\.$/], // prettier-ignore
	[
		'a pause',
		{ content: [text('Here')], stop_reason: 'pause_turn' },
		/has paused its turn\. Let it go on: .* See 'History'/,
	],
	['an error', { error: { message: 'Overloaded' } }, undefined],
])('a response without what was asked for has a hint, no other has one: %s', (_, body, hint) => {
	const shown = responseHint(body);
	expect(shown && withPlaces(shown)).toEqual(hint && expect.stringMatching(hint));
});
