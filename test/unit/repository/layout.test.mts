/** Where files stand and what they are called: a name means one thing, and imports run one way. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';

const root = join(__dirname, '..', '..', '..');
const FOLDERS = [
	'bench',
	'credentials',
	'demo',
	'gateway',
	'harness',
	'nodes',
	'scripts',
	'simulator',
	'test',
];

const files = FOLDERS.flatMap((folder) => sourcesIn(join(root, folder)));
const sources = files.filter((file) => !isTest(file));

test('no two files have one name', () => {
	const places = groupBy(files, nameOf);
	const twice = [...places].filter(([, found]) => found.length > 1);
	expect(twice.map(([, found]) => found)).toEqual([]);
});

test.each([
	['simulator', ['simulator']],
	['harness', ['harness', 'simulator']],
	['demo', ['demo', 'gateway', 'harness', 'simulator']],
	['bench', ['bench', 'harness', 'simulator']],
	['scripts', ['demo', 'harness', 'scripts', 'simulator']],
])('%s imports from nowhere but %j', (folder, allowed) => {
	const strangers = sources
		.filter((file) => file.startsWith(`${folder}/`))
		.flatMap((file) => importsOf(file).map((target) => ({ file, target })))
		.filter(({ target }) => !allowed.includes(target.split('/')[0] ?? ''));
	expect(strangers).toEqual([]);
});

/**
 * Which folder may import from which: each from itself and from what is left of it. Within `gateway`
 * util ← protocol ← errors ← client, messages, validation; a node's own folder may use all of these.
 */
const GATEWAY = ['gateway/util', 'gateway/protocol', 'gateway/errors'];
const ALL_GATEWAY = [...GATEWAY, 'gateway/client', 'gateway/messages', 'gateway/validation'];
const SHARED = [
	'transport',
	'run',
	'payments',
	'parameters',
	'methods',
	'descriptions',
	'images',
	'tasks',
	'suspend',
	'create',
].map((folder) => `nodes/shared/${folder}`);
const upTo = (folders: string[], last: string) => folders.slice(0, folders.indexOf(last) + 1);
const ARROWS: Array<[folder: string, allowed: string[]]> = [
	...GATEWAY.map((folder): [string, string[]] => [folder, upTo(GATEWAY, folder)]),
	['gateway/client', [...GATEWAY, 'gateway/client']],
	['gateway/messages', [...GATEWAY, 'gateway/messages']],
	['gateway/validation', [...GATEWAY, 'gateway/validation']],
	...SHARED.map((folder): [string, string[]] => [
		folder,
		[...ALL_GATEWAY, ...upTo(SHARED, folder)],
	]),
	['credentials', ALL_GATEWAY],
];

test.each(ARROWS)('%s imports from nowhere but %j', (folder, allowed) => {
	const own = sources.filter((file) => file.startsWith(`${folder}/`));
	expect(own.length).toBeGreaterThan(0);
	const strangers = own
		.flatMap((file) => importsOf(file).map((target) => ({ file, target })))
		.filter(({ target }) => !allowed.includes(dirname(target)));
	expect(strangers).toEqual([]);
});

test('no node imports from another node', () => {
	const strangers = sources
		.filter((file) => file.startsWith('nodes/') && !file.startsWith('nodes/shared/'))
		.flatMap((file) => importsOf(file).map((target) => ({ file, target })))
		.filter(({ file, target }) => dirname(target) !== dirname(file))
		.filter(({ target }) => ![...ALL_GATEWAY, ...SHARED].includes(dirname(target)));
	expect(strangers).toEqual([]);
});

test('no file imports, by way of others, itself', () => {
	const targets = new Map(sources.map((file) => [file, importsOf(file)]));
	const circles: string[] = [];
	const done = new Set<string>();
	const visit = (file: string, path: string[]): void => {
		if (path.includes(file)) {
			circles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
			return;
		}
		if (done.has(file)) return;
		done.add(file);
		for (const target of targets.get(file) ?? []) visit(target, [...path, file]);
	};
	for (const file of sources) visit(file, []);
	expect(circles).toEqual([]);
});

/** Paths from the root, with `/`. What is only read by a test, such as a fixture, is no source. */
function sourcesIn(folder: string): string[] {
	return readdirSync(folder, { withFileTypes: true, recursive: true })
		.filter((entry) => entry.isFile() && /\.(ts|mts|mjs|cjs|js)$/.test(entry.name))
		.map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)))
		.map((file) => file.split(sep).join('/'))
		.filter((file) => !/\/(fixture-package|output|node_modules)\//.test(file));
}

function isTest(file: string): boolean {
	return file.endsWith('.test.mts');
}

/** Without the extension: `task.ts` and `task.mts` are one name, `task.test.mts` is another. */
function nameOf(file: string): string {
	return basename(file).replace(/\.\w+$/, '');
}

/** What a file imports of this repository: paths from the root, as the files are called. */
function importsOf(file: string): string[] {
	const text = readFileSync(join(root, file), 'utf8');
	const relatives = text.matchAll(/(?:from|import|import\()\s*'(\.[^']+)'/g);
	return [...relatives].map(([, target]) => {
		const path = join(dirname(file), target!).split(sep).join('/');
		if (/\.m?js$/.test(path)) {
			const source = path.replace(/js$/, 'ts');
			return files.includes(source) ? source : path;
		}
		return /\.\w+$/.test(path) ? path : `${path}.ts`;
	});
}

function groupBy(list: readonly string[], keyOf: (file: string) => string): Map<string, string[]> {
	const groups = new Map<string, string[]>();
	for (const file of list) groups.set(keyOf(file), [...(groups.get(keyOf(file)) ?? []), file]);
	return groups;
}
