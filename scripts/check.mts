/**
 * What a change has to pass before somebody looks at it, in minutes: types, lint, format, and the unit
 * and engine tests of what has changed since the branch `main`. `.ci/run` runs the rest.
 */
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { testsOf } from './changed-tests.mjs';

const help = `Checks types, lint and format, and runs the tests of what has changed.

  npm run check -- [options]

  --since REF   a branch or commit (default: where this one left main)
  --all         all unit and engine tests
  --help        this text
`;

const root = dirname(dirname(fileURLToPath(import.meta.url)));

function git(...args: string[]): string[] | undefined {
	const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
	return status === 0 ? stdout.split('\n').filter((line) => line !== '') : undefined;
}

/** The files that differ from a commit, committed or not. */
function changedSince(ref: string | undefined): string[] {
	const base =
		ref ??
		git('merge-base', 'HEAD', 'origin/main')?.[0] ??
		git('merge-base', 'HEAD', 'main')?.[0] ??
		'HEAD';
	const changed = git('diff', '--name-only', base);
	if (changed === undefined) throw new Error(`git knows no commit ${base}: choose another --since`);
	return [...changed, ...(git('ls-files', '--others', '--exclude-standard') ?? [])];
}

/** Runs a step and shows what it prints. @returns whether it passed */
function passes(name: string, command: string, args: string[]): boolean {
	console.log(`\n== ${name}`);
	const shell = process.platform === 'win32';
	return spawnSync(command, args, { cwd: root, stdio: 'inherit', shell }).status === 0;
}

function main(): void {
	const { values } = parseArgs({
		options: {
			since: { type: 'string' },
			all: { type: 'boolean' },
			help: { type: 'boolean' },
		},
	});
	if (values.help) {
		process.stdout.write(help);
		return;
	}
	const { folders, sources } = testsOf(values.all ? 'all' : changedSince(values.since), root);
	const jest = ['--max-semi-space-size=64', join('node_modules', 'jest', 'bin', 'jest.js')];
	const run = [...jest, `--maxWorkers=${availableParallelism()}`, '--findRelatedTests'];
	const ignored = ['/node_modules/', '<rootDir>/test/n8n/', '<rootDir>/test/world/'];
	const steps: Array<[name: string, command: string, args: string[]]> = [
		['types', 'npm', ['run', '--silent', 'typecheck']],
		['lint', 'npm', ['run', '--silent', 'lint']],
		['format', 'npm', ['run', '--silent', 'format:check']],
		[
			`tests: ${folders.join(', ')}, and those that import a changed file`,
			process.execPath,
			[...run, ...sources, '--testPathIgnorePatterns', ...ignored],
		],
	];
	const failed = steps.filter((step) => !passes(...step)).map(([name]) => name.split(':')[0]);
	console.log(failed.length > 0 ? `\nFailed: ${failed.join(', ')}` : '\nAll passed.');
	process.exitCode = failed.length > 0 ? 1 : 0;
}

main();
