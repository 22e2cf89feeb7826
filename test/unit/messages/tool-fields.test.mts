import { toolChoiceField, toolFields } from '../../../gateway/messages/toolFields.js';
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
			{ ...object({ a: { $ref: '#/$defs/two' } }), $defs },
		],
	])('is an object without alternatives at the top: %s', (_, schema, sent) => {
		expect(objectSchema(schema)).toEqual(sent === 'same' ? schema : sent);
	});

	test.each<[string, object]>([
		['one of two texts', { anyOf: [text, { type: ['string', 'null'] }] }],
		['a reference to a list', { $ref: '#/$defs/a', $defs: { a: { type: 'array' } } }],
	])('that is no object is refused before anything is sent: %s', (_, inputSchema) => {
		expect(() => toolFields([{ name: 'draw', inputSchema }])).toThrow(
			'The input of the tool "draw" is not an object',
		);
	});

	test('may refer to itself, or multiply by references, and is read in time', () => {
		const many: Record<string, object> = { loop: { anyOf: [{ $ref: '#/$defs/loop' }] } };
		for (let index = 0; index < 40; index += 1) {
			const next = { $ref: `#/$defs/${index + 1}` };
			many[index] = {
				properties: { [index]: text },
				anyOf: [next, next, { $ref: '#/$defs/loop' }],
			};
		}
		const sent = objectSchema({ $ref: '#/$defs/0', $defs: many });
		expect(sent).toMatchObject({ type: 'object', properties: { 0: text, 1: text } });
		const wide = Array.from({ length: 20_000 }, (_, index) => object({ [index]: text }, 'a'));
		expect(objectSchema({ oneOf: wide })).toMatchObject({ required: [] });
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
