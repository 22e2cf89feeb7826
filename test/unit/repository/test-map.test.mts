/** What is tested where: the table that `npm run check` goes by, and the map that people read. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { engineTestsOf, testsOf } from '../../../scripts/changed-tests.mjs';

const root = join(__dirname, '..', '..', '..');

const foldersIn = (folder: string): string[] =>
	readdirSync(join(root, folder), { withFileTypes: true })
		.filter((entry) => entry.isDirectory())
		.map(({ name }) => `${folder}/${name}`);

test('docs/architecture.md or docs/testing.md names every folder of tests that no room is named after', () => {
	const read = (page: string) => readFileSync(join(root, 'docs', page), 'utf8');
	const [map, testing] = [read('architecture.md'), read('testing.md')];
	const rooms = ['gateway', 'nodes/shared'].flatMap(foldersIn).map((room) => basename(room));
	const folders = ['test', 'test/unit', 'test/engine', 'test/world'].flatMap(foldersIn);
	expect(folders.length).toBeGreaterThan(30);
	const named = (folder: string) =>
		[...rooms, 'util'].includes(basename(folder)) ||
		new RegExp(`^ {2}.*\\b${basename(folder)}/`, 'm').test(map) ||
		testing.includes(`\`${folder}/\``);
	expect(folders.filter((folder) => !named(folder))).toEqual([]);
	const linked = [...testing.matchAll(/`(test\/[\w/-]+)\/`/g)].map(([, folder]) => folder!);
	expect(linked.filter((folder) => !existsSync(join(root, folder)))).toEqual([]);
});

test('every folder of sources has its engine tests, and they are there', () => {
	const folders = ['gateway', 'nodes', 'nodes/shared'].flatMap(foldersIn);
	// Whatever these change may show anywhere.
	const held = folders.filter((folder) => !/^(?:gateway\/protocol|nodes\/shared)$/.test(folder));
	const named = held.map((folder) => [folder, engineTestsOf(`${folder}/x.ts`)] as const);
	expect(named.filter(([, tests]) => tests === undefined)).toEqual([]);
	const missing = named
		.flatMap(([, tests]) => tests!)
		.filter((name) => !existsSync(join(root, 'test', 'engine', name)));
	expect(missing).toEqual([]);
});

test('a change of a source runs its engine tests, and that of a text the repository alone', () => {
	expect(testsOf(['README.md'], root).folders).toEqual(['test/unit/repository']);
	expect(testsOf(['gateway/models/pricing.ts'], root).folders).toContain('test/engine/models');
	expect(testsOf(['gateway/models/pricing.ts'], root).folders).not.toContain('test/engine/tasks');
	expect(testsOf(['util/json.ts'], root).folders).toContain('test/engine');
	expect(testsOf(['nodes/gone.ts'], root).sources).not.toContain('nodes/gone.ts');
});

test.each([
	['gateway/pay.ts', 'test/unit/payments/same-key.test.mts'],
	['nodes/shared/run/outputFields.ts', 'test/unit/run/helper-notes.test.mts'],
])('jest finds the unit tests of %s', (source, unitTest) => {
	const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
	const args = [jest, '--listTests', '--findRelatedTests', source];
	const found = execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
	expect(found.split('\n')).toContain(join(root, unitTest));
});
