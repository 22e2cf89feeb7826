import { toolChoiceField, toolFields } from '../../../gateway/messages/toolFields.js';
import { toConversation } from '../../../gateway/messages/chat.js';
import { withOwnNames } from '../../../gateway/messages/wireNames.js';
import { objectSchema } from '../../../gateway/messages/toolSchema.js';

const text = { type: 'string' };
const count = { type: 'number' };
const object = (properties: object, ...required: string[]) => ({
	type: 'object',
	properties,
	required,
});
const circle = object({ kind: { const: 'circle' }, radius: count }, 'kind', 'radius');
const square = object({ kind: { const: 'square' }, edge: count }, 'kind', 'edge');
const $defs = { one: object({ a: { $ref: '#/$defs/two' } }, 'a'), two: text };

describe('the input of a tool', () => {
	test.each<[string, unknown, unknown]>([
		['an object', { ...object({ a: text }, 'a'), additionalProperties: false }, 'same'],
		['no type', { properties: { a: text } }, { type: 'object', properties: { a: text } }],
		['anything', true, { type: 'object' }],
		['nothing', undefined, { type: 'object' }],
		[
			'one of two, told apart by a constant',
			{ description: 'A shape', oneOf: [circle, square] },
			{
				description: 'A shape',
				...object(
					{
						kind: { anyOf: [{ const: 'circle' }, { const: 'square' }] },
						radius: count,
						edge: count,
					},
					'kind',
				),
			},
		],
		['all of two', { allOf: [object({ a: text }, 'a'), object({ b: count, a: text }, 'b')] }, object({ a: text, b: count }, 'a', 'b')], // prettier-ignore
		[
			'an object and one of two that only require something',
			{
				...object({ a: text, b: text }, 'b'),
				additionalProperties: false,
				anyOf: [{ required: ['a'] }, { required: ['b'] }],
			},
			object({ a: text, b: text }, 'b'),
		],
		[
			'references',
			{
				anyOf: [
					{ $ref: '#/$defs/one' },
					{ $ref: '#/$defs/unknown' },
					{ $ref: 'https://a.example' },
				],
				$defs,
			},
			{ ...object({}), $defs },
		],
	])('is an object without alternatives at the top: %s', (_, schema, sent) => {
		expect(objectSchema(schema)).toEqual(sent === 'same' ? schema : sent);
	});

	test.each<[string, object]>([
		['one of two texts', { anyOf: [text, { type: ['string', 'null'] }] }],
		['all of a text', { allOf: [text, object({ a: text })] }],
	])('that is no object is refused before anything is sent: %s', (_, inputSchema) => {
		expect(() => toolFields([{ name: 'draw', inputSchema }])).toThrow(
			'The input of the tool "draw" is not an object',
		);
	});

	test('may be deeper than any other', () => {
		let inputSchema: object = object({ a: text });
		for (let depth = 0; depth < 20_000; depth += 1) inputSchema = object({ a: inputSchema });
		expect(toolFields([{ name: 'draw', inputSchema }])).toMatchObject([{ name: 'draw' }]);
	});

	test('may have many alternatives, and is read in time', () => {
		const wide = Array.from({ length: 20_000 }, (_, index) => object({ [index]: text }, 'a'));
		expect(objectSchema({ oneOf: wide })).toMatchObject({ required: ['a'] });
	});
});

const named = { type: 'tool', name: 'draw' };

test.each<[unknown, unknown]>([
	[null, undefined],
	['auto', { type: 'auto' }],
	['none', { type: 'none' }],
	['any', { type: 'any' }],
	[true, { type: 'any' }],
	['draw', named],
	[named, named],
	[{ type: 'function', function: { name: 'draw' } }, named],
])('the choice of a tool, %j, is sent as %j', (choice, sent) => {
	expect(toolChoiceField(choice)).toEqual(sent);
});

test.each([{}, 7, { type: 'allowed_tools', tools: [] }])(
	'the choice of a tool, %j, is refused',
	(choice) => {
		expect(() => toolChoiceField(choice)).toThrow("The agent's choice of a tool can't be sent");
	},
);

describe('names that the endpoint refuses', () => {
	const schemaOf = (inputSchema: unknown, names = new Map<string, string>()) => ({
		names,
		schema: toolFields([{ name: 'draw', inputSchema }], names)![0]!.input_schema,
	});

	test.each<[string[]]>([
		[['Wetter.München', 'Wetter_München', 'Wetter München']],
		[['a'.repeat(65), `${'a'.repeat(64)}b`, 'b'.repeat(10_000)]],
		[Array.from({ length: 200 }, (_, index) => `github.server ${index}`)],
		[['', '.', '🐟']],
	])('of tools become plain and different, and are known again', (own) => {
		const names = new Map<string, string>();
		const given = own.map((name) => ({ name, inputSchema: { type: 'object' } }));
		const sent = toolFields(given, names)!.map(({ name }) => String(name));
		expect(sent.every((name) => /^[\w-]{1,64}$/.test(name))).toBe(true);
		expect(new Set(sent).size).toBe(own.length);
		expect(sent.map((name) => names.get(name))).toEqual(own);
		// The history and the choice of a tool have the same names.
		const calls = own.map((toolName, index) => ({
			type: 'tool-call' as const,
			toolCallId: `c${index}`,
			toolName,
			input: '{}',
		}));
		const { messages } = toConversation([{ role: 'assistant', content: calls }]);
		expect(messages[0]!.content.map(({ name }) => name)).toEqual(sent);
		const at = own.findIndex((name) => name !== '');
		expect(toolChoiceField(own[at])).toEqual({ type: 'tool', name: sent[at] });
	});

	test('of properties are changed at any depth, and mapped back in a call', () => {
		const fish = { type: 'object', properties: { 'Größe in cm': {} }, required: ['Größe in cm'] };
		const { schema, names } = schemaOf({
			type: 'object',
			properties: {
				fische: { type: 'array', items: fish },
				wie: { anyOf: [fish, { $ref: '#/properties/der dritte' }] },
				'der dritte': { enum: ['Größe in cm'], default: { 'Größe in cm': 1 } },
			},
			required: ['der dritte'],
		});
		const plain = [...names].find(([, own]) => own === 'Größe in cm')![0];
		expect(plain).toMatch(/^[\w-]+$/);
		const sent = { type: 'object', properties: { [plain]: {} }, required: [plain] };
		const third = [...names].find(([, own]) => own === 'der dritte')![0];
		expect(schema).toEqual({
			type: 'object',
			properties: {
				fische: { type: 'array', items: sent },
				wie: { anyOf: [sent, { $ref: `#/properties/${third}` }] },
				[third]: { enum: ['Größe in cm'], default: { 'Größe in cm': 1 } },
			},
			required: [third],
		});
		const called = { fische: [{ [plain]: 3 }], other: { x: 1 } };
		expect(withOwnNames(called, names)).toEqual({
			fische: [{ 'Größe in cm': 3 }],
			other: { x: 1 },
		});
	});

	test.each<[unknown, unknown]>([
		[[{ type: 'string' }, { type: 'number' }], { anyOf: [{ type: 'string' }, { type: 'number' }] }],
		[[{ type: 'string' }], { anyOf: [{ type: 'string' }] }],
		[[], {}],
	])('items one by one, %j, become alternatives', (items, alternatives) => {
		const { schema, names } = schemaOf({ properties: { pair: { type: 'array', items } } });
		expect(schema).toMatchObject({ properties: { pair: { items: alternatives } } });
		expect(names.size).toBe(0);
	});
});
