// Prints the section of a version in CHANGELOG.md: `node scripts/release-notes.mjs 0.1.0`.
// Without one it fails, so that nothing is released whose changes nobody has described.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The text under the heading of a version, up to the next one; undefined if there is none. */
export function notesOf(changelog, version) {
	const [, ...sections] = changelog.split(/^## /m);
	const section = sections.find((text) => text.split(/\s/, 1)[0] === version);
	return section?.slice(section.indexOf('\n')).trim() || undefined;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const version = process.argv[2] ?? '';
	const notes = notesOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version);
	if (notes === undefined) {
		console.error(`CHANGELOG.md has no section "${version}".`);
		process.exitCode = 1;
	} else console.log(notes);
}
