import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withAbsoluteAddresses } from '../../../scripts/absolute-addresses.mjs';

const read = (file: string) => readFileSync(join(__dirname, '..', '..', '..', file), 'utf8');
const manifest = { version: '1.2.3', repository: { url: 'git+https://github.com/a/b.git' } };

test('pictures and links get the addresses of the release', () => {
	expect(withAbsoluteAddresses('![A](docs/images/a.png) [B](docs/b.md#c)', manifest)).toBe(
		'![A](https://github.com/a/b/raw/v1.2.3/docs/images/a.png) ' +
			'[B](https://github.com/a/b/blob/v1.2.3/docs/b.md#c)',
	);
	expect(withAbsoluteAddresses('[![A](a.svg)](b.md)', manifest)).toBe(
		'[![A](https://github.com/a/b/raw/v1.2.3/a.svg)](https://github.com/a/b/blob/v1.2.3/b.md)',
	);
});

test('headings and absolute addresses stay', () => {
	const text = '[A](#a) [B](https://example.com/b)';
	expect(withAbsoluteAddresses(text, manifest)).toBe(text);
});

test('README has no relative address left', () => {
	const own = JSON.parse(read('package.json')) as typeof manifest;
	const text = withAbsoluteAddresses(read('README.md'), own);
	const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, to]) => to as string);
	expect(targets.filter((to) => !/^(https:|#)/.test(to))).toEqual([]);
	expect(text.length).toBeGreaterThan(read('README.md').length);
});
