/** What the embedded gateway's model makes of what a person writes to an agent. */
import { nextCalls, readToolRequest } from '../../simulator/messages/tool-calls.mjs';

const schema = (...names: string[]) => ({
	type: 'object',
	required: names,
	properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
});
const TOOLS = [
	{ name: 'Generate_image', description: 'Generates an image', input_schema: schema('prompt') },
	{ name: 'Edit_image', description: 'Edits', input_schema: schema('prompt', 'imageUrl') },
];
const turn = (role: 'user' | 'assistant', text: string) => ({
	role,
	content: [{ type: 'text', text }],
});
const BEFORE = [
	turn('user', 'Draw a fox, then make it night.'),
	turn('assistant', 'Here it is:\n\n![the image](http://127.0.0.1:1/images/a.png)'),
];
const callsFor = (...turns: unknown[]) =>
	nextCalls(readToolRequest(turns as never), TOOLS as never, undefined).map(({ tool, input }) => [
		tool.name,
		input,
	]);

test.each(['Now make it winter.', 'make it winter', 'And then make it winter!'])(
	'"%s" edits the image of the conversation',
	(text) => {
		const input = { prompt: 'make it winter', imageUrl: 'http://127.0.0.1:1/images/a.png' };
		expect(callsFor(...BEFORE, turn('user', text))).toEqual([['Edit_image', input]]);
	},
);

test('without an image in the conversation there is nothing to edit', () => {
	expect(callsFor(turn('user', 'Now make it winter.'))).toEqual([]);
});

test('an image that has been made and edited before is not what a new one starts from', () => {
	expect(callsFor(...BEFORE, turn('user', 'Draw a hare.'))).toEqual([
		['Generate_image', { prompt: 'a hare' }],
	]);
});
