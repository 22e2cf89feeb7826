import {
	createCutKeyEraser,
	createKeyEraser,
	eraseInJson,
} from '../../../gateway/util/keyEraser.js';
import { isData } from '../../../gateway/protocol/responseFields.js';

const KEY = 'sk-my/Team_9f8e7d6c';
const erase = createKeyEraser([KEY]);

const hex = (one: string) => one.charCodeAt(0).toString(16).padStart(2, '0');
const unicode = (one: string) => `\\u00${hex(one)}`;
const percent = (one: string) => `%${hex(one)}`;
const all = (write: (one: string) => string) => Array.from(KEY, write).join('');

test.each([
	['as it is', KEY],
	['slashes escaped', KEY.replace('/', '\\/')],
	['one character as an escape', KEY.replace('s', '\\u0073')],
	['the last character as an escape', KEY.replace(/c$/, '\\u0063')],
	['all as escapes', all(unicode)],
	[
		'escapes in capitals',
		all(unicode).replace(/u00../g, (one) => one.toUpperCase().replace('U', 'u')),
	],
	['percent-encoded', encodeURIComponent(KEY)],
	['all percent-encoded', all(percent)],
	['percent-encoded in capitals', all(percent).toUpperCase()],
	['mixed', KEY.replace('s', '\\u0073').replace('-', '%2D').replace('/', '\\/')],
	['percent signs as escapes', encodeURIComponent(KEY).replaceAll('%', '\\u0025')],
	['percent-encoded twice', encodeURIComponent(encodeURIComponent(KEY))],
	[
		'JSON in JSON',
		JSON.stringify(JSON.stringify(KEY.replace('/', '\\/')))
			.replaceAll('\\"', '')
			.replaceAll('"', ''),
	],
	['as a web page writes it', all((one) => `&#${one.charCodeAt(0)};`)],
	['as a web page writes it in hexadecimal', all((one) => `&#x${hex(one)};`)],
	['as a program writes it', all((one) => `\\x${hex(one)}`)],
	['an address in JSON in JSON', all(percent).replaceAll('%', '\\\\u0025')],
])('the key is erased: %s', (_, written) => {
	expect(erase(`a ${written} b`)).toBe('a *** b');
	expect(erase(written)).toBe('***');
	expect(erase(`${written}${written}`)).toBe('******');
	expect(erase(`x\\n${written}&${written}% 20`)).toBe('x\\n***&***% 20');
});

test.each([
	'',
	'no key at all',
	'50% of it \\ and \\u00e4 \\/ %E4',
	'\\',
	'%',
	'\\u00',
	'%7',
	KEY.slice(0, -1),
	KEY.toUpperCase(),
	all(unicode).slice(0, -1),
	'\\u0073k-my/other',
])('%j stays as it is', (text) => {
	expect(erase(text)).toBe(text);
});

test.each(['abcdefg', 'sk', ''])('%j is too short to be a key', (short) => {
	expect(createKeyEraser([short])(`${short} \\u0061bcdefg`)).toBe(`${short} \\u0061bcdefg`);
});

test('a key that a web page cannot hold as it is', () => {
	const odd = 'k&y<secret>"quoted"';
	const erased = createKeyEraser([odd]);
	expect(erased('<p>k&amp;y&lt;secret&gt;&quot;quoted&quot;</p>')).toBe('<p>***</p>');
	expect(erased(`<p>${odd}</p>`)).toBe('<p>***</p>');
});

describe('the beginning of a key at the end of a text that was cut', () => {
	const eraseCut = createCutKeyEraser([KEY]);

	test.each<[string, string]>([
		['as it is', KEY],
		['slashes escaped', KEY.replace('/', '\\/')],
		['percent-encoded', encodeURIComponent(KEY)],
		['percent-encoded in small letters', encodeURIComponent(KEY).replace('%2F', '%2f')],
		['all as escapes', all(unicode)],
		['as a web page writes it', all((one) => `&#x${hex(one)};`)],
	])('%s, wherever it is cut', (_, written) => {
		// At least four of its characters are there.
		const four = Math.ceil((written.length / KEY.length) * 4) + 2;
		for (let length = four; length < written.length; length += 1) {
			expect(eraseCut(`{"error":"Bearer ${written.slice(0, length)}`)).toBe('{"error":"Bearer ***');
		}
	});

	test.each(['', 'task_s', 'sk-', `${KEY.slice(0, 10)} is not it`, '50% & \\', 'x'.repeat(10_000)])(
		'%.40j stays as it is',
		(text) => expect(eraseCut(text)).toBe(text),
	);
});

test('a text of megabytes that hides the key', () => {
	const long = `${'\\/'.repeat(2_500_000)}${all(unicode)}`;
	expect(erase(long)).not.toContain('u0073');
	expect(erase(long)).not.toContain(KEY);
});

test('in JSON it is erased in names and values, but not in an address that is fetched', () => {
	const url = `https://h/img/${KEY}/1.png?key=${KEY}`;
	const body = { [KEY]: [`a ${KEY}`, 7, null], data: [{ url, note: url }], error: { url: KEY } };
	expect(eraseInJson(body, erase, isData)).toEqual({
		'***': ['a ***', 7, null],
		data: [{ url, note: 'https://h/img/***/1.png?key=***' }],
		error: { url: '***' },
	});
});

test('data is not rewritten for a key that is a word, texts are', () => {
	const eraseWord = createKeyEraser(['acme-images']);
	const data = {
		id: 'acme-images-task-7',
		task_id: 'acme-images-1',
		model: 'acme-images-v2',
		poll_url: '/acme-images/tasks/7',
		data: [{ url: 'https://h/acme-images/1.png', model: 'acme-images' }],
		result_urls: ['https://h/acme-images/2.png'],
		result: 'acme-images-task-8',
		list: { data: [{ id: 'acme-images-v3' }] },
	};
	expect(eraseInJson(data, eraseWord, isData)).toEqual({
		...data,
		data: [{ url: 'https://h/acme-images/1.png', model: '***' }],
	});
	const texts = {
		message: 'acme-images-task-7',
		error: { message: 'The key acme-images is wrong', id: 'acme-images' },
		data: ['the key acme-images', 'acme-images'],
		note: 'acme-images-v2',
	};
	expect(eraseInJson(texts, eraseWord, isData)).toEqual({
		message: '***-task-7',
		error: { message: 'The key *** is wrong', id: '***' },
		data: ['the key ***', '***'],
		note: '***-v2',
	});
});

test('a secret that begins with another one is erased whole', () => {
	const both = createKeyEraser(['sk-team-1', 'sk-team-1-of-acme']);
	expect(both('sk-team-1-of-acme and sk-team-1')).toBe('*** and ***');
});
