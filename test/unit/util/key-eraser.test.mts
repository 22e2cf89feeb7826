import { createKeyEraser, eraseIn } from '../../../util/keyEraser.js';

const KEY = 'sk-my/Team_9f8e7d6c';
const erase = createKeyEraser([KEY]);

test.each([
	['as it is', KEY],
	['in JSON', JSON.stringify(KEY).slice(1, -1)],
	['in JSON with escaped slashes', KEY.replace('/', '\\/')],
	['percent-encoded', encodeURIComponent(KEY)],
	['percent-encoded in small letters', encodeURIComponent(KEY).replace('%2F', '%2f')],
])('the key is erased: %s', (_, written) => {
	expect(erase(`a ${written} b`)).toBe('a *** b');
	expect(erase(written)).toBe('***');
	expect(erase(`${written}${written}`)).toBe('******');
	expect(erase(`x\\n${written}&${written}% 20`)).toBe('x\\n***&***% 20');
});

test.each(['', 'no key at all', KEY.slice(1), KEY.toUpperCase()])('%j stays as it is', (text) => {
	expect(erase(text)).toBe(text);
});

test.each(['abcdefg', 'sk', ''])('%j is too short to be a key', (short) => {
	expect(createKeyEraser([short])(`${short} bcdefg`)).toBe(`${short} bcdefg`);
});

test.each(['k&y<secret>"quoted"', 'back\\slash "quoted"', 'schlüssel-ä/ö'])(
	'a key with characters that are escaped: %s',
	(odd) => {
		const erased = createKeyEraser([odd]);
		for (const form of [odd, JSON.stringify(odd).slice(1, -1), encodeURIComponent(odd)]) {
			expect(erased(`<p>${form}</p>`)).toBe('<p>***</p>');
		}
	},
);

test('it is erased in names, lists and objects; what is no JSON stays', () => {
	const at = new Date(0);
	const value = { [KEY]: [`a ${KEY}`, 7, null], data: [{ name: `${KEY}-7`, at }] };
	expect(eraseIn(value, erase)).toEqual({
		'***': ['a ***', 7, null],
		data: [{ name: '***-7', at }],
	});
});

test.each([10, 15, KEY.length - 1])(
	'a text that was cut off %d characters into the key',
	(length) => {
		expect(erase(`"${KEY.slice(0, length)}…" Check it.`)).toBe('"***…" Check it.');
	},
);

test('the first half of the key may be that of any key', () => {
	expect(erase(KEY.slice(0, 9))).toBe(KEY.slice(0, 9));
});

test('a secret that begins with another one is erased whole', () => {
	const both = createKeyEraser(['sk-team-1', 'sk-team-1-of-acme']);
	expect(both('sk-team-1-of-acme and sk-team-1')).toBe('*** and ***');
});
