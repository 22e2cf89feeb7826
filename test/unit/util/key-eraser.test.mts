import { createKeyEraser, eraseInJson } from '../../../util/keyEraser.js';
import { createFieldEraser } from '../../../gateway/wire/fieldEraser.js';

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

test.each(['', 'no key at all', KEY.slice(0, -1), KEY.toUpperCase()])(
	'%j stays as it is',
	(text) => {
		expect(erase(text)).toBe(text);
	},
);

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

describe('the fields of a response', () => {
	const HOME = 'https://gateway.example/base';
	const isWord = (secret: string) => /^\D*$/.test(secret);
	const eraserFor = (...secrets: string[]) =>
		createFieldEraser(
			HOME,
			createKeyEraser(secrets),
			createKeyEraser(secrets.filter((secret) => secret === KEY || !isWord(secret))),
		);

	test.each<[string, string, string]>([
		['message', `the key ${KEY}`, 'the key ***'],
		['result', `a ${KEY}`, 'a ***'],
		['id', KEY, '***'],
		// An address at the gateway is fetched, but not with a key in its query.
		['poll_url', `${HOME}/v1/tasks/7?key=${KEY}`, `${HOME}/v1/tasks/7?key=***`],
		['statusUrl', `/v1/tasks/7?key=${encodeURIComponent(KEY)}#${KEY}`, '/v1/tasks/7?key=***#***'],
		['poll_url', `${HOME}/${KEY}/7`, `${HOME}/${KEY}/7`],
		['poll_url', `https://gateway.example/${KEY}/7`, 'https://gateway.example/***/7'],
		// The key is for no other host.
		['location', `https://other.example/${KEY}/7`, 'https://other.example/***/7'],
		['url', `https://h/img/${KEY}/1.png?key=${KEY}`, 'https://h/img/***/1.png?key=***'],
		['url', `no image for ${KEY}`, 'no image for ***'],
	])('%s: %s', (field, text, expected) => {
		expect(eraserFor(KEY)(text, field)).toBe(expected);
	});

	test.each<[string, string]>([
		['id', 'acme-images-task-7'],
		['model', 'acme-images/paint-1'],
		['poll_url', `${HOME}/acme-images/tasks/7`],
		// A value that is a word may be part of the address of a paid image.
		['url', 'https://h/acme-images/1.png?for=acme-images'],
	])(
		'what is fetched or sent back isn’t rewritten for a header’s value that is a word: %s %s',
		(field, text) => {
			expect(eraserFor(KEY, 'acme-images')(text, field)).toBe(text);
		},
	);

	test('are erased in names, lists and objects', () => {
		const body = { [KEY]: [`a ${KEY}`, 7, null], data: [{ name: `${KEY}-7`, note: KEY }] };
		expect(eraseInJson(body, eraserFor(KEY))).toEqual({
			'***': ['a ***', 7, null],
			data: [{ name: '***-7', note: '***' }],
		});
		const texts = { error: { id: 'acme-images' }, data: ['the key acme-images', 'acme-images'] };
		expect(eraseInJson(texts, eraserFor('acme-images'))).toEqual({
			error: { id: '***' },
			data: ['the key ***', '***'],
		});
	});
});

test('a secret that begins with another one is erased whole', () => {
	const both = createKeyEraser(['sk-team-1', 'sk-team-1-of-acme']);
	expect(both('sk-team-1-of-acme and sk-team-1')).toBe('*** and ***');
});
