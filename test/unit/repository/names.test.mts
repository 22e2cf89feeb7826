/** Saved workflows hold these names. What is in docs/names.json keeps its meaning. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NAMES_FILE, namesFile } from '../../../scripts/names-file.mjs';

const root = join(__dirname, '..', '..', '..');

test(`every name is as in ${NAMES_FILE}: after a change, "npm run docs" writes it, and CHANGELOG.md says so`, () => {
	expect(readFileSync(join(root, NAMES_FILE), 'utf8')).toBe(namesFile(root));
});
