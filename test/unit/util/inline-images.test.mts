import { oneLine } from '../../../util/text.js';
import { withoutInlineImages } from '../../../util/inlineImages.js';

const REST = 'A'.repeat(1000);

test.each([
	['PNG', `iVBORw0KGgo${REST}`],
	['JPEG', `/9j/4AAQ${REST}`],
	['WebP', `UklGRh4${REST}`],
	['SVG', `PHN2ZyB4${REST}`],
	['lines of Base64', `iVBORw0KGgo\r\n${REST}\r\n`],
])('%s in Base64 is left out', (_, text) => {
	const note = '(image data)';
	expect(withoutInlineImages({ preview: text, list: [text] })).toEqual({
		preview: note,
		list: [note],
	});
	expect(withoutInlineImages(text.slice(0, 999))).toBe(text.slice(0, 999));
});

test.each(['x'.repeat(5000), 'a_long-prompt/without+blanks='.repeat(50), 'PHOTO2027'.repeat(200)])(
	'a long text without spaces stays as it is (%#)',
	(text) => {
		expect(withoutInlineImages({ prompt: text })).toEqual({ prompt: text });
	},
);

test.each(['b64_json', 'B64_JSON', 'base64'])(
	'the field %s is image data, whatever is in it',
	(name) => {
		expect(withoutInlineImages({ [name]: 'xyz' })).toEqual({ [name]: '(image data)' });
	},
);

test('a line of a log stays one line, whatever a foreign name contains', () => {
	expect(oneLine('a\r\n2026 | info | paid\u2028\u0000b\u0085c')).toBe('a 2026 | info | paid b c');
});
