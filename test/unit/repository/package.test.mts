import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { builtNodes } from './built-nodes.mjs';

const root = join(__dirname, '..', '..', '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const manifest = JSON.parse(read('package.json'));

describe('the package, by the rules for verified packages', () => {
	test('brings no run-time dependency', () => {
		expect(manifest).not.toHaveProperty('dependencies');
		expect(manifest).not.toHaveProperty('overrides');
		expect(manifest).not.toHaveProperty('resolutions');
		expect(manifest.peerDependencies).toEqual({ '@n8n/ai-node-sdk': '*', 'n8n-workflow': '*' });
		expect(manifest.n8n.aiNodeSdkVersion).toBe(1);
	});

	test('runs nothing when it is installed', () => {
		const forbidden = ['prepare', 'preinstall', 'install', 'postinstall', 'prepublish'];
		expect(Object.keys(manifest.scripts).filter((name) => forbidden.includes(name))).toEqual([]);
	});

	test('can be found and traced', () => {
		expect(manifest.private).toBeUndefined();
		expect(manifest.license).toBe('MIT');
		expect(manifest.keywords).toContain('n8n-community-node-package');
		expect(manifest.author).toEqual({ name: expect.any(String), email: expect.any(String) });
		expect(manifest.repository.url).toContain(manifest.homepage);
		expect(manifest.files).toEqual(['dist']);
		expect(manifest.n8n).toMatchObject({ n8nNodesApiVersion: 1, strict: true });
	});

	test('names only nodes and credentials that exist', () => {
		const built = [...manifest.n8n.nodes, ...manifest.n8n.credentials] as string[];
		const sources = built.map((file) => file.replace(/^dist\//, '').replace(/\.js$/, '.ts'));
		expect(sources.filter((file) => !existsSync(join(root, file)))).toEqual([]);
	});

	test('keeps nothing in static data, which n8n loses where an execution waits', () => {
		const built = readdirSync(join(root, 'dist'), { recursive: true, encoding: 'utf8' });
		const code = built.filter((file) => file.endsWith('.js'));
		expect(code.length).toBeGreaterThan(50);
		expect(code.filter((file) => /static_?data/i.test(read(join('dist', file))))).toEqual([]);
	});
});

describe('the lock file', () => {
	test('names no registry, so that it works with any', () => {
		const bound = read('package-lock.json').split('\n');
		expect(bound.filter((line) => line.includes('"resolved"'))).toEqual([]);
	});

	test('belongs to the manifest', () => {
		const { packages } = JSON.parse(read('package-lock.json'));
		expect(packages[''].devDependencies).toEqual(manifest.devDependencies);
		expect(packages[''].version).toBe(manifest.version);
	});
});

describe('the drawings', () => {
	const drawings = readdirSync(join(root, 'icons'));

	test('are another one for each node, with one for the dark theme', () => {
		const marks = builtNodes().map(({ description: { icon } }) => icon as Record<string, string>);
		const files = marks.flatMap(({ light, dark }) => [basename(light!), basename(dark!)]);
		const ofCredential = ['mediaGateway.svg', 'mediaGateway.dark.svg'];
		expect([...files, ...ofCredential].sort()).toEqual(drawings.sort());
	});
});
