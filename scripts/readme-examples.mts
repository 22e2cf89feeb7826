/** The examples of gateway/README.md as files: by command into `.cache/readme`, for the compiler. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../harness/install/folders.mjs';

/**
 * Writes each example to a file of its name.
 * @param folder two levels below the root: the examples import what is installed there
 * @returns their texts by name
 */
export function writeExamples(folder: string): Record<string, string> {
	const readme = readFileSync(join(repositoryRoot(), 'gateway', 'README.md'), 'utf8');
	const blocks = [...readme.matchAll(/^```ts (\w+)\n([^]*?)^```/gm)];
	const texts = blocks.map(
		([, name, text]) => [name!, text!.replaceAll("'./gateway/", "'../../gateway/")] as const,
	);
	mkdirSync(folder, { recursive: true });
	for (const [name, text] of texts) writeFileSync(join(folder, `${name}.mts`), text);
	return Object.fromEntries(texts);
}

if (process.argv[1]?.endsWith('readme-examples.mts')) {
	writeExamples(join(repositoryRoot(), '.cache', 'readme'));
}
