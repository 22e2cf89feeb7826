/** How long n8n takes to load the nodes of the package, and how large the package is. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

export interface LoadTimes {
	/** With `n8n-workflow` loaded before, as it always is inside n8n; milliseconds. */
	insideN8nMs: number;
	/** With nothing loaded before: `n8n-workflow` counts too; milliseconds. */
	aloneMs: number;
}

/** Loads every node and credential that the manifest names, as n8n does, in a process of its own. */
const script = (preload: boolean) => `
	const { join } = require('node:path');
	const { n8n } = require(join(process.cwd(), 'package.json'));
	${preload ? "require('n8n-workflow');" : ''}
	const begun = performance.now();
	for (const file of [...n8n.nodes, ...n8n.credentials]) {
		for (const Type of Object.values(require(join(process.cwd(), file)))) new Type();
	}
	process.stdout.write(String(performance.now() - begun));
`;

const once = (preload: boolean) =>
	Number(execFileSync(process.execPath, ['-e', script(preload)], { cwd: root }));

const median = (values: number[]) => values.sort((one, other) => one - other)[values.length >> 1]!;

export function loadTimes(times: number): LoadTimes {
	const measure = (preload: boolean) => median(Array.from({ length: times }, () => once(preload)));
	return { insideN8nMs: measure(true), aloneMs: measure(false) };
}

/** Of the archive that npm would publish, in bytes. */
export function packedBytes(): number {
	const output = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
		cwd: root,
		stdio: ['ignore', 'pipe', 'ignore'],
		shell: process.platform === 'win32',
	});
	const [{ size }] = JSON.parse(String(output)) as [{ size: number }];
	return size;
}
