/**
 * Gives README absolute addresses, so that its pictures and links also work on npm. The workflow that
 * publishes calls it; whoever publishes by hand restores the file afterwards.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withAbsoluteAddresses } from './absolute-addresses.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const read = (file: string) => readFileSync(join(root, file), 'utf8');

writeFileSync(
	join(root, 'README.md'),
	withAbsoluteAddresses(
		read('README.md'),
		JSON.parse(read('package.json')) as Parameters<typeof withAbsoluteAddresses>[1],
	),
);
