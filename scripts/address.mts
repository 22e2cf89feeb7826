/**
 * `npm run address -- https://github.com/OWNER/REPOSITORY [OLD]`: gives every file that names the address of
 * the repository the new one. package.json says which one it was, unless it is given.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const ADDRESS = /^https:\/\/github\.com\/[\w.-]+\/[\w.-]+$/;
/** Knows the address that nobody has replaced. */
const KEEPS_IT = ':!scripts/release-check.mts';

function main(): void {
	const [address = '', given] = process.argv.slice(2);
	if (!ADDRESS.test(address) || address.endsWith('.git')) {
		console.error('Say the address: npm run address -- https://github.com/OWNER/REPOSITORY');
		process.exitCode = 2;
		return;
	}
	const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
		homepage: string;
	};
	const old = given ?? manifest.homepage;
	const args = ['grep', '-lIF', old, '--', '.', KEEPS_IT];
	const { stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
	const files = stdout.split('\n').filter((file) => file !== '');
	for (const file of files) {
		const path = join(root, file);
		writeFileSync(path, readFileSync(path, 'utf8').replaceAll(old, address));
		console.log(file);
	}
	console.log(`${files.length} files name ${address} now, in place of ${old}.`);
}

main();
