/** What a person means who types a value: number, true or false, or a text. */
import fc from 'fast-check';
import { readTypedValue } from '../../../util/typedValue.js';

test.each<[string, unknown]>([
	['42', 42],
	[' 42\n', 42],
	['1e5', 100_000],
	['9007199254740991', 9007199254740991],
	['true', true],
	['False', false],
	['', undefined],
	[' \t', undefined],
	['""', ''],
	['"5"', '5'],
	['"', '"'],
	['"red" and "blue"', '"red" and "blue"'],
	// What a number would change stays as it was written.
	['9007199254740993', '9007199254740993'],
	['1e999', '1e999'],
	['0.30000000000000004', 0.30000000000000004],
	['00', '00'],
	['+5', '+5'],
	['0x10', '0x10'],
	['null', 'null'],
	['[1, 2]', '[1, 2]'],
	['  kept as typed ', '  kept as typed '],
])('%j is %j', (text, value) => {
	expect(readTypedValue(text)).toBe(value);
});

test('every number that JSON writes comes back, and quotes keep every text', () => {
	fc.assert(
		fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
			fc.pre(Math.abs(number) <= Number.MAX_SAFE_INTEGER);
			expect(readTypedValue(String(number))).toBe(number === 0 ? 0 : number);
		}),
	);
	fc.assert(
		fc.property(fc.string(), (text) => {
			fc.pre(!text.includes('"'));
			expect(readTypedValue(`"${text}"`)).toBe(text);
		}),
	);
	expect(readTypedValue('9'.repeat(1_000_000))).toHaveLength(1_000_000);
});
