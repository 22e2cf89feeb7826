/**
 * Changes one thing after another in the package, runs the tests that reach it, and lists the changes that
 * neither they nor the types notice. All changes are built once, in a copy; MUTANT chooses the one that is in force.
 */
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	realpathSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import ts from 'typescript';
import { endOf } from '../harness/child.mjs';
import { engineTestsOf, testsOf } from './changed-tests.mjs';
import { instrument, type Mutant, withSwitches } from './mutant-places.mjs';

const help = `Changes a source in one place after another, and lists what neither a test nor the types notice.

  npm run mutants -- gateway/pay.ts   all places of these files, by the tests that hold them
  npm run mutants -- --random 60      60 places of gateway/, nodes/ and credentials/, by all tests

  --seed N      other places (--random), the same again
  --only 3,7    these places alone
  --all         all tests
  --unit        unit tests alone
  --help        this text
`;

/** A mutant that makes a loop endless is killed when no file of tests ends for so long. */
const SILENCE_MS = 180_000;

const root = realpathSync(join(import.meta.dirname, '..'));
const git = (...args: string[]): string[] =>
	execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean);

const sourceOf = (file: string) => readFileSync(join(root, file), 'utf8');

/** All places that can be changed: number one comes first. */
function placesIn(files: string[]): Mutant[] {
	const places: Mutant[] = [];
	for (const file of files) instrument(file, sourceOf(file), (place) => places.push(place));
	return places;
}

/** So many numbers, others with each seed. */
function drawn(count: number, from: number, seed: string): number[] {
	const rank = (number: number) => createHash('sha256').update(`${seed} ${number}`).digest('hex');
	const numbers = Array.from({ length: from }, (_, index) => index + 1);
	return numbers.sort((one, other) => (rank(one) < rank(other) ? -1 : 1)).slice(0, count);
}

/** A copy of the repository as it is, with a switch at each place that is wanted. */
function copied(files: string[], wanted: Set<number>): string {
	// As jest names what it finds there.
	const copy = realpathSync(mkdtempSync(join(tmpdir(), 'media-gateway-mutants-')));
	for (const path of git('ls-files', '--cached', '--others', '--exclude-standard')) {
		if (existsSync(join(root, path))) cpSync(join(root, path), join(copy, path));
	}
	// All but the cache, which is the repository's own.
	mkdirSync(join(copy, 'node_modules'));
	for (const name of readdirSync(join(root, 'node_modules'))) {
		const [from, to] = [root, copy].map((one) => join(one, 'node_modules', name));
		if (name !== '.cache') symlinkSync(from!, to!, 'junction');
	}
	let number = 0;
	const numberOf = () => (wanted.has(++number) ? number : undefined);
	for (const file of files)
		writeFileSync(join(copy, file), withSwitches(instrument(file, sourceOf(file), numberOf)));
	return copy;
}

/** Runs tests in the copy. @returns the first red file; undefined if all passed, or an empty text if none was named */
async function firstRed(
	copy: string,
	args: string[],
	env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
	const jest = ['--max-semi-space-size=64', join(copy, 'node_modules', 'jest', 'bin', 'jest.js')];
	const ours = ['mutants-environment.cjs', 'nearest-first.cjs'].map((file) =>
		join(copy, 'scripts', file),
	);
	const child = spawn(
		process.execPath,
		[...jest, '--testEnvironment', ours[0]!, '--testSequencer', ours[1]!, ...args],
		{ cwd: copy, env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'pipe'] },
	);
	// One that waits for nothing hears no other signal.
	const timer = setTimeout(() => child.kill('SIGKILL'), SILENCE_MS);
	let red = '';
	child.stderr.setEncoding('utf8').on('data', (text: string) => {
		if (env.MUTANT === undefined) process.stderr.write(text);
		red ||= (/^FAIL (\S+)/m.exec(text)?.[1] ?? '').replaceAll('\\', '/');
		timer.refresh();
	});
	const status = await endOf(child);
	clearTimeout(timer);
	return status === 0 ? undefined : red;
}

/** All tests, or those that hold sources, as far as imports and the folders of tests tell. */
function testsFor(files: string[] | 'all', unitOnly: boolean): string[] {
	const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
	const args = [jest, '--listTests', '--findRelatedTests', ...testsOf(files, root).sources];
	const related = execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' }).split('\n');
	const isWanted = unitOnly ? /^test\/unit/ : /^test\/(?:unit|engine)/;
	return related
		.map((path) => path.slice(root.length + 1).replaceAll('\\', '/'))
		.filter((path) => isWanted.test(path));
}

/** The tests that pass without a mutant and reach each of the mutants. */
async function reachedBy(copy: string, tests: string[]): Promise<Map<number, string[]>> {
	console.log(`${tests.length} files of tests without a change …`);
	const [notes, output] = ['reached.txt', 'results.json'].map((name) => join(copy, '.cache', name));
	const args = ['--json', '--outputFile', output!, '--runTestsByPath', ...tests];
	await firstRed(copy, args, { MUTANTS_REACHED: notes });
	const { testResults } = JSON.parse(readFileSync(output!, 'utf8')) as {
		testResults: Array<{ name: string; status: string }>;
	};
	const red = testResults.filter(({ status }) => status !== 'passed').map(({ name }) => name);
	if (red.length > 0) console.log(`Left out, as they fail without a mutant: ${red.join(', ')}`);
	const reached = new Map<number, string[]>();
	for (const line of readFileSync(notes!, 'utf8').trim().split('\n')) {
		const [path, numbers] = JSON.parse(line) as [string, number[]];
		if (red.includes(path)) continue;
		const test = path.slice(copy.length + 1).replaceAll('\\', '/');
		for (const number of numbers) reached.set(number, [...(reached.get(number) ?? []), test]);
	}
	return reached;
}

/** The source of a place with its change. */
function changed(places: Mutant[], number: number): string {
	const { file } = places[number - 1]!;
	let at = places.findIndex((place) => place.file === file);
	const numberOf = () => (++at === number ? ('no switch' as const) : undefined);
	return instrument(file, sourceOf(file), numberOf);
}

/** Whether a source with a change is one that the types refuse: `npm run typecheck` is a test, too. */
function typesRefuse(): (file: string, text: string) => boolean {
	const config = join(root, 'tsconfig.json');
	const { config: json } = ts.readConfigFile(config, (path) => ts.sys.readFile(path));
	const { options, fileNames } = ts.parseJsonConfigFileContent(json, ts.sys, root);
	const texts = new Map<string, string>();
	let version = 0;
	const service = ts.createLanguageService({
		...ts.sys,
		useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
		getCompilationSettings: () => options,
		getScriptFileNames: () => fileNames,
		getScriptVersion: (path) => (texts.has(path) ? `${version}` : ''),
		getScriptSnapshot: (path) => {
			const text = texts.get(path) ?? ts.sys.readFile(path);
			return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
		},
		getCurrentDirectory: () => root,
		getDefaultLibFileName: (of) => ts.getDefaultLibFilePath(of),
	});
	return (file, text) => {
		const path = fileNames.find((name) => name === join(root, file).replaceAll('\\', '/'))!;
		version += 1;
		texts.clear();
		texts.set(path, text);
		const { length } = service.getSemanticDiagnostics(path);
		return length + service.getSyntacticDiagnostics(path).length > 0;
	};
}

async function main(): Promise<void> {
	const { values, positionals } = parseArgs({
		allowPositionals: true,
		options: {
			random: { type: 'string' },
			seed: { type: 'string', default: String(Date.now()) },
			only: { type: 'string' },
			unit: { type: 'boolean', default: false },
			all: { type: 'boolean', default: false },
			help: { type: 'boolean' },
		},
	});
	if (values.help) return void process.stdout.write(help);
	const files = values.random
		? git('ls-files', '*.ts').filter((file) => /^(?:gateway|nodes|credentials)\//.test(file))
		: positionals;
	if (files.length === 0) throw new Error('Name a source, such as gateway/pay.ts');
	const places = placesIn(files);
	const wanted =
		values.only?.split(',').map(Number) ??
		drawn(Number(values.random ?? places.length), places.length, values.seed);
	wanted.sort((one, other) => one - other);
	const all = testsFor(values.random || values.all ? 'all' : files, values.unit);
	const copy = copied(files, new Set(wanted));
	const isRefused = typesRefuse();
	try {
		const reached = await reachedBy(copy, all);
		let [alive, refused] = [0, 0];
		const waiting = [...wanted];
		const work = async (): Promise<void> => {
			for (let number = waiting.shift(); number !== undefined; number = waiting.shift()) {
				const { file, line, what, isShown } = places[number - 1]!;
				// Half of all tests load what the editor shows; only unit/repository reads it.
				const isRead = (test: string) => !isShown || test.startsWith('test/unit/repository/');
				const tests = (reached.get(number) ?? []).filter(isRead);
				const args = ['--runInBand', '--bail', '--runTestsByPath', ...tests];
				const near = [`unit/${basename(dirname(file))}`, ...(engineTestsOf(file) ?? [])];
				const env = { MUTANT: `${number}`, MUTANT_NEAR: near.join(' ') };
				const red = tests.length === 0 ? undefined : await firstRed(copy, args, env);
				const place = `${number} ${file}:${line} ${what}`;
				if (red !== undefined) console.log(`killed ${place} by ${red || 'a run that broke off'}`);
				else if (isRefused(file, changed(places, number))) {
					refused += 1;
					console.log(`killed ${place} by the types alone`);
				} else {
					alive += 1;
					console.log(`ALIVE  ${place}${tests.length === 0 ? ' (no test reaches it)' : ''}`);
				}
			}
		};
		// As many as jest's: tests wait for a third of their time.
		await Promise.all(Array.from({ length: availableParallelism() + 2 }, work));
		const seed = values.random ? ` (seed ${values.seed})` : '';
		const killed = `${wanted.length - alive} of ${wanted.length} killed`;
		console.log(`${killed}, ${refused} of them by the types alone${seed}`);
		if (alive > 0) process.exitCode = 1;
	} finally {
		rmSync(copy, { recursive: true, force: true });
	}
}

await main();
