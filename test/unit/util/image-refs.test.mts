/** What a parameter for images names, from its text or list. */
import { imageRefsIn } from '../../../nodes/shared/images/imageRefs.js';

const field = (name: string) => ({ kind: 'field', field: name });
const address = (url: string) => ({ kind: 'address', url });
const PNG = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(90)]).toString(
	'base64',
);
const inline = (mimeType = 'image/png') => ({ kind: 'inline', mimeType, base64: PNG });
const one = 'https://example.com/one.png';
const two = 'HTTP://example.com/two';

test.each<[unknown, object[]]>([
	['data', [field('data')]],
	[' data , photo,', [field('data'), field('photo')]],
	[
		['data', ' photo '],
		[field('data'), field('photo')],
	],
	[undefined, []],
	[[null, '', []], [{ kind: 'none', value: [] }]],
	[7, [field('7')]],
	// HTTP Request tells where it has a file from.
	[{ mimeType: 'a/b', url: one }, [{ kind: 'file', file: { mimeType: 'a/b', url: one } }]],
	[
		[{ url: one }, { url: ' ' }],
		[address(one), { kind: 'file', file: { url: ' ' } }],
	],
	// A comma belongs to a name where the item has such a field.
	['a,b', [field('a,b')]],
	['a,b, a,photo', [field('a,b'), field('a'), field('photo')]],
	['a,bc', [field('a'), field('bc')]],
	[
		['a,b', 'c, d'],
		[field('a,b'), field('c'), field('d')],
	],
	['front, left, back', [field('front, left'), field('back')]],
	// An address may contain commas too.
	[`${one}\n${two}`, [address(one), address(two)]],
	[`${one}, ${two},`, [address(one), address(two)]],
	['https://cdn.example/w_100,h_200/a.png', [address('https://cdn.example/w_100,h_200/a.png')]],
	[`${one},a`, [address(one), field('a')]],
	[`${one},a,other`, [address(`${one},a,other`)]],
	[`data, ${one}, photo`, [field('data'), address(one), field('photo')]],
	[`${one}?next=${one}`, [address(`${one}?next=${one}`)]],
	// The image itself.
	[`data:image/png;base64,${PNG}`, [inline()]],
	[`DATA:;base64,${PNG}, photo`, [inline(''), field('photo')]],
	[PNG, [inline()]],
	[`${PNG},data`, [inline(), field('data')]],
	[`photo, ${PNG.slice(0, 50)}\n${PNG.slice(50)}`, [field('photo'), inline()]],
	['x'.repeat(200), [field('x'.repeat(200))]],
])('%j', (given, refs) => {
	expect(imageRefsIn(given, ['data', 'a', 'a,b', 'front, left'])).toEqual(refs);
});

test('a long text is read at once', () => {
	for (const part of ['a,', 'https://a.example/,', ', ', 'a,b,', 'data:,', ' \n']) {
		expect(imageRefsIn(part.repeat(100_000), ['a,b']).length).toBeLessThanOrEqual(200_000);
	}
});
