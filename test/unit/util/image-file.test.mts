import {
	detectImageType,
	extensionFor,
	imageFileName,
	imageTypeOf,
	safeMimeType,
} from '../../../util/imageType.js';

const bytes = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));

describe('the first bytes', () => {
	test.each([
		['\x89PNG\r\n\x1a\n', 'image/png'],
		['\xff\xd8\xff\xe0', 'image/jpeg'],
		['GIF89a', 'image/gif'],
		['RIFF\x10\x00\x00\x00WEBPVP8 ', 'image/webp'],
		['\x00\x00\x00\x20ftypavif', 'image/avif'],
		['\x00\x00\x00\x18ftypheic', 'image/heic'],
		['BM\x36\x00\x0c\x00\x00\x00\x00\x00', 'image/bmp'],
		['\x00\x00\x00\x1cftypmif1\x00\x00\x00\x00mif1avif', 'image/avif'],
		['\x00\x00\x00\x1cftypmif1\x00\x00\x00\x00mif1heic', 'image/heic'],
		['II*\x00', 'image/tiff'],
		['<svg xmlns="http://www.w3.org/2000/svg">', 'image/svg+xml'],
		['<?xml version="1.0"?>\n<!-- drawn -->\n<svg>', 'image/svg+xml'],
		['\xef\xbb\xbf<svg>', 'image/svg+xml'],
		['<svg:svg xmlns:svg="http://www.w3.org/2000/svg">', 'image/svg+xml'],
		['<?xml version="1.0"?>\n<ns0:svg\n', 'image/svg+xml'],
		['\x00\x00\x00\x0cJXL \r\n\x87\n', 'image/jxl'],
		[
			'<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">\n<svg>',
			'image/svg+xml',
		],
		['<!doctype svg [\n<!ENTITY ns "http://x">\n<!ENTITY b ">">\n] >\n<svg>', 'image/svg+xml'],
		[`<!-- ${'long '.repeat(700)}--><svg>`, 'image/svg+xml'],
	])('%j are %s', (start, mimeType) => {
		expect(detectImageType(bytes(start))).toBe(mimeType);
		expect(detectImageType(bytes(`a file that contains ${start}`))).toBeUndefined();
	});

	test.each([
		...['', '\x89P', '<svgx>', 'text <svg>', '<html><svg>', '<!DOCTYPE html><html><svg>'],
		...['<!-- drawn --><html><svg>', '<!doctype html><svg>', '<?xml?><!DOCTYPE html><p><svg>'],
		...['<!-- drawn -->text <svg', '<?xml?><div><svg>', '{"error":{}}', '\xff\x0a\xfa\x7f'],
		'<!---->'.repeat(10_000) + '<svg>',
		'<!---->'.repeat(26),
		...['RIFF\x10\x00\x00\x00WAVE', '\x00\x00\x00\x20ftypmp42', '%PDF-1.7', 'BMW and other cars'],
		...['GIF8 or not', '\x00\x00\x00\x1cftypisomxavif'],
	])('%j are no image', (start) => {
		expect(detectImageType(bytes(start))).toBeUndefined();
	});
});

describe('the type of an image', () => {
	const OF_NEW = '\x00new\x01ftyp';

	test.each<[string, string | undefined, string | undefined]>([
		['\x89PNG\r\n\x1a\n', 'text/html', 'image/png'],
		[OF_NEW, 'image/X-New; a=b', 'image/x-new'],
		[OF_NEW, 'application/octet-stream', undefined],
		[OF_NEW, 'image/<script>', undefined],
		[OF_NEW, undefined, undefined],
		['<p>text</p>', 'image/png', undefined],
		['\x1b[0mtext', 'image/png', undefined],
		['', 'image/png', undefined],
		['\x00\x00\x00\x20ftypisom', 'image/png', undefined],
		['\x1a\x45\xdf\xa3\x00', 'image/webp', undefined],
		['RIFF\x10\x00\x00\x00AVI LIST', 'image/webp', undefined],
		['%PDF-1.7\x00', 'image/png', undefined],
		['\x1f\x8b\x08', 'image/png', undefined],
		['\x1f\x8b\x08', 'image/svg+xml', undefined],
		['<!-- short --><html><svg>', 'image/svg+xml', undefined],
		[`${'<!-- short -->'.repeat(200)}<html>${' '.repeat(4000)}`, 'image/svg+xml', undefined],
		['\x00\x00\x00\x0cJXL \r\n\x87\n', 'image/jxl', 'image/jxl'],
	])('%j, labelled %j, is %j', (start, claimed, mimeType) => {
		expect(imageTypeOf(bytes(start), claimed)).toBe(mimeType);
	});
});

test.each([
	['image/png', 'png'],
	['image/jpeg', 'jpg'],
	['image/svg+xml', 'svg'],
	['image/png/../../evil', 'bin'],
])('%j has the extension %s', (mimeType, extension) => {
	expect(extensionFor(mimeType)).toBe(extension);
});

test.each([
	['image/png', 'image/png'],
	[' text/plain ; charset=utf-8', 'text/plain'],
	['text/plain\r\nX-Evil: 1', 'text/plain'],
	['text/plain; a="b; c="', 'text/plain'],
	['text', undefined],
	['\r\ntext/plain', 'text/plain'],
	['тext/plain', undefined],
	[null, undefined],
	['a/b'.repeat(100_000), 'a/ba'],
])('of the MIME type %j %j may stand in a header', (given, safe) => {
	expect(safeMimeType(given)).toBe(safe);
});

describe('the name of a file', () => {
	test.each([
		['https://cdn.example/out/boat.png', 'boat.png'],
		['https://cdn.example/out/boat.jpeg?sig=a/b.exe#c', 'boat.png'],
		['https://cdn.example/red%20boat.webp', 'red boat.png'],
		['https://cdn.example/%E7%BA%A2%E8%88%B9.png', '红船.png'],
		['https://cdn.example/', 'image.png'],
		['https://cdn.example/%2e%2e%2f%2e%2e%2fetc%2fpasswd', 'etc-passwd.png'],
		['https://cdn.example/..%5c..%5cwindows%5csystem.ini', 'windows-system.png'],
		['https://cdn.example/a%0d%0aSet-Cookie:x', 'a-Set-Cookie-x.png'],
		['https://cdn.example/%3Cscript%3Ealert(1)%3C%2Fscript%3E', 'script-alert-1-script.png'],
		['https://cdn.example/CON.png', 'CON_.png'],
		[`https://cdn.example/${'x'.repeat(300)}.png`, `${'x'.repeat(80)}.png`],
		['https://cdn.example/%E0%A4%A', 'image.png'],
		['', 'image.png'],
	])('%j becomes %j', (url, name) => {
		expect(imageFileName(url, 'image/png')).toBe(name);
	});
});
