/**
 * Where files stand and what they are called: a name means one thing, and imports run one way. What a rule
 * of eslint says is in eslint.layout.config.mjs.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';

const root = join(__dirname, '..', '..', '..');
const FOLDERS = 'bench credentials demo gateway harness nodes scripts simulator test util'.split(
	' ',
);

const files = FOLDERS.flatMap((folder) => sourcesIn(join(root, folder)));
const sources = files.filter((file) => !isTest(file));

/** What others may use of `gateway/`. */
const DOORS = ['gateway/index.ts', 'gateway/messages/index.ts', 'gateway/models/index.ts'];

test('no two files have one name', () => {
	const named = files.filter((file) => !DOORS.includes(file));
	const names = named.map(nameOf);
	expect(named.filter((_, at) => names.indexOf(names[at]!) !== at)).toEqual([]);
});

/**
 * Which room may import from which, as docs/architecture.md draws it: each from itself and from what
 * stands behind it. What stands between two arrows, with commas, is independent of each other. A room is a
 * folder, or a file at the top of `gateway/`.
 */
const DRAWINGS = readFileSync(join(root, 'docs', 'architecture.md'), 'utf8')
	.split('\n')
	.filter((line) => line.includes('→'))
	.map((line) => line.split('→').map((group) => group.trim().split(', ')));
const drawn = (first: string, prefix: string): string[][] => {
	const drawing = DRAWINGS.find(([groups]) => groups?.includes(first)) ?? [];
	return drawing.map((group) => group.map((room) => `${prefix}${room}`));
};
const GATEWAY = drawn('gatewayClient', 'gateway/');
const SHARED = drawn('create', 'nodes/shared/');
const roomOf = (file: string): string =>
	dirname(file) === 'gateway' ? file.replace(/\.ts$/, '') : dirname(file);
const behind = (groups: string[][]): Array<[room: string, allowed: string[]]> =>
	groups.flatMap((group, at) =>
		group.map((room): [string, string[]] => [room, [room, ...groups.slice(at + 1).flat(), 'util']]),
	);
const ARROWS = [...behind(GATEWAY), ...behind(SHARED)];

test('every room of the package is in the drawing, and every arrow is there', () => {
	const rooms = (parent: string): string[] => [
		...new Set(
			sources.filter((file) => file.startsWith(parent) && !DOORS.includes(file)).map(roomOf),
		),
	];
	expect(GATEWAY.flat().sort()).toEqual(rooms('gateway/').sort());
	expect(SHARED.flat().sort()).toEqual(rooms('nodes/shared/').sort());
	const pairs = [GATEWAY, SHARED].flatMap((groups) =>
		groups.slice(1).map((to, at) => [groups[at]!, to] as const),
	);
	const missing = pairs.filter(
		([from, to]) =>
			!sources.some(
				(file) =>
					from.includes(roomOf(file)) &&
					importsOf(file).some((target) => to.includes(roomOf(target))),
			),
	);
	expect(missing).toEqual([]);
});

test.each(ARROWS)('%s imports from nowhere but %j', (room, allowed) => {
	const strangers = sources
		.filter((file) => roomOf(file) === room && !DOORS.includes(file))
		.flatMap((file) => importsOf(file).map((target) => ({ file, target })))
		.filter(({ target }) => room.startsWith('gateway/') || !DOORS.includes(target))
		.filter(({ target }) => !allowed.includes(roomOf(target)));
	expect(strangers).toEqual([]);
});

test('texts of the client name no field of the credential, node or option of n8n', () => {
	const read = (file: string): string => readFileSync(join(root, file), 'utf8');
	const labels = files
		.filter((file) => /^(nodes|credentials)\//.test(file))
		.flatMap((file) => [...read(file).matchAll(/\b(?:displayName|name): '([A-Z].*)'/g)]);
	const places = [...read('nodes/shared/errors/settingPlaces.ts').matchAll(/"'([^']+)'"/g)];
	const names = [...new Set([...labels, ...places].map(([, name]) => `'${name}'`))];
	expect(names.length).toBeGreaterThan(100);
	const others = [
		'Media Gateway credential',
		'Image Wait',
		'Image Task',
		'Message node',
		'Base URL',
		'n8n server',
		'n8n administrator',
	];
	const isNamed = (line: string): boolean =>
		(/["`].*'/.test(line) && names.some((name) => line.includes(name))) ||
		others.some((name) => line.includes(name));
	const named = sources
		.filter((file) => file.startsWith('gateway/'))
		.flatMap((file) =>
			read(file)
				.replace(/\\'(.*?)\\'/g, "`'$1'`")
				.split('\n'),
		)
		.filter((line) => !/^\s*(\*|\/\/|\/\*)/.test(line) && isNamed(line));
	expect(named).toEqual([]);
});

test('the doors of the client have at most 90 names', () => {
	const names = DOORS.flatMap((door) => {
		const text = readFileSync(join(root, door), 'utf8');
		return [...text.matchAll(/\{([^}]*)\}/g)].flatMap(([, list]) => list!.match(/\w+,?(?=\s|$)/g));
	});
	const counted = names.filter((name) => name !== 'type');
	expect(counted.length).toBeLessThanOrEqual(90);
	expect(counted.length).toBeGreaterThan(50);
});

test('what a file of the package exports, another file imports', () => {
	const imported = new Map<string, Set<string>>();
	for (const file of files) {
		const text = readFileSync(join(root, file), 'utf8');
		for (const [, list, path] of text.matchAll(/\s(?:\{([^{}]*)\}|\*.*) from '(\.[^']+)'/g)) {
			const target = targetOf(file, path!);
			const names = [...(list ?? '*').matchAll(/([\w*]+)(?: as \w+)?\s*(?:,|$)/g)].map(
				([, name]) => name!,
			);
			imported.set(target, new Set([...(imported.get(target) ?? []), ...names]));
		}
	}
	// n8n itself loads the classes of nodes.
	const unused = sources
		.filter((file) => /^(gateway|nodes|util)\//.test(file) && !file.endsWith('.node.ts'))
		.filter((file) => !DOORS.includes(file) && !imported.get(file)?.has('*'))
		.map((file) => ({
			file,
			names: exportsOf(file).filter((name) => !imported.get(file)?.has(name)),
		}))
		.filter(({ names }) => names.length > 0);
	expect(unused).toEqual([]);
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
		.filter((file) => !/\/(output|node_modules)\//.test(file));
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
	return [...relatives].map(([, path]) => targetOf(file, path!));
}

/** The file that a relative import means. */
function targetOf(file: string, imported: string): string {
	const path = join(dirname(file), imported).split(sep).join('/');
	if (/\.m?js$/.test(path)) {
		const source = path.replace(/js$/, 'ts');
		return files.includes(source) ? source : path;
	}
	const door = `${path}/index.ts`;
	if (DOORS.includes(door)) return door;
	return /\.\w+$/.test(path) ? path : `${path}.ts`;
}

/** The names that a file exports. */
function exportsOf(file: string): string[] {
	const text = readFileSync(join(root, file), 'utf8');
	const exported = text.matchAll(/^export (?:[a-z]+\*? )+(?:(\w+)|\{([^}]*)\})/gm);
	return [...exported].flatMap(([, name, several]) =>
		[...(name ?? several!).matchAll(/\w+/g)].flat(),
	);
}
