import fc from 'fast-check';
import { parseJson } from '../../../util/json.js';

describe('whole numbers that a number cannot hold', () => {
	test.each([
		['{"id":1234567890123456789}', { id: '1234567890123456789' }],
		[
			'{"a":{"b":[1,9007199254740993,{"c":9007199254740993}]}}',
			{
				a: { b: [1, '9007199254740993', { c: '9007199254740993' }] },
			},
		],
		['12345678901234567890', '12345678901234567890'],
		['\n{\n\t"id"\n:\n12345678901234567890\n}\n', { id: '12345678901234567890' }],
	])('%s come as text', (text, value) => {
		expect(parseJson(text)).toEqual(value);
	});

	test.each([
		['9007199254740991', 9007199254740991],
		['1234567890123456.5', 1234567890123456.5],
		['-0.00000000000000000001', -1e-20],
		['1234567890123456789e2', 1.234567890123456789e20],
		['12345678901234567.0', 12345678901234567],
		['{"1234567890123456789":1}', { '1234567890123456789': 1 }],
	])('%s stay numbers, or names', (text, value) => {
		expect(parseJson(text)).toEqual(value);
	});

	test.each([
		['{"a":"1234567890123456789"}', '1234567890123456789'],
		['{"a":"say \\"1234567890123456789\\", please"}', 'say "1234567890123456789", please'],
		['{"a":"\\\\\\"1234567890123456789"}', '\\"1234567890123456789'],
		['{"a":": 1234567890123456789,"}', ': 1234567890123456789,'],
	])('in strings, %s stay as they are', (text, value) => {
		expect(parseJson(text)).toEqual(JSON.parse(text));
		expect(parseJson(text)).toMatchObject({ a: value });
	});

	test('whatever stands around them, every other value is what JSON.parse makes of it', () => {
		fc.assert(
			fc.property(fc.json(), fc.bigInt({ min: 2n ** 53n, max: 2n ** 80n }), (json, long) => {
				const text = `{"before":${json},"long":[${long},-${long}],"after":${json}}`;
				expect(parseJson(text)).toEqual({
					before: parseJson(json),
					long: [String(long), `-${long}`],
					after: parseJson(json),
				});
				if (!/\d{16}/.test(json)) expect(parseJson(json)).toEqual(JSON.parse(json));
			}),
		);
	});
});

test.each([
	...['', ' ', '{', '{"a":1', '{"a":12345678901234567890', 'NaN', "{'a':1}", '// {}\n{}', '01'],
])('%j is none', (text) => {
	expect(parseJson(text)).toBeUndefined();
});

describe('what is nested deeper than any document', () => {
	const nested = (levels: number, [open, close]: [string, string]) =>
		open.repeat(levels) + '1' + close.repeat(levels);

	test.each<[string, string]>([
		['[', ']'],
		['{"a":', '}'],
		['[[],', ']'],
		['[{"a":[1],"b":', '}]'],
	])('is none: %s', (...brackets) => {
		expect(parseJson(nested(100_000, brackets))).toBeUndefined();
		expect(parseJson(nested(129, brackets))).toBeUndefined();
		expect(parseJson(nested(60, brackets))).toEqual(JSON.parse(nested(60, brackets)));
		expect(parseJson(`{"id":"t1","x":${nested(100_000, brackets)}}`)).toBeUndefined();
		expect(parseJson(brackets[0].repeat(100_000))).toBeUndefined();
	});
});

test('numbers that JSON does not have, as Python writes them, are null', () => {
	const text =
		'{"a":NaN,"b":[Infinity,-Infinity, NaN],"c":"NaN, -Infinity","d":12345678901234567890}';
	expect(parseJson(text)).toEqual({
		a: null,
		b: [null, null, null],
		c: 'NaN, -Infinity',
		d: '12345678901234567890',
	});
	expect(parseJson('{"a":NaN')).toBeUndefined();
});
