import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { withAbsoluteAddresses } from '../../../scripts/absolute-addresses.mjs';
import { NAMES_FILE, namesFile } from '../../../scripts/names-file.mjs';
import { outputSchemas } from '../../../scripts/output-schemas.mjs';
import { OPTIONS_PAGE, optionsPage } from '../../../scripts/options-page.mjs';
import { builtNodes } from './built-nodes.mjs';

const root = join(__dirname, '..', '..', '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const manifest = JSON.parse(read('package.json')) as {
	version: string;
	engines: { node: string };
	scripts: Record<string, string>;
	repository: { url: string };
	n8n: { credentials: string[] };
};

const documents = [
	...readdirSync(root).filter((file) => file.endsWith('.md')),
	...['docs', 'docs/decisions'].flatMap((folder) =>
		readdirSync(join(root, folder))
			.filter((file) => file.endsWith('.md'))
			.map((file) => `${folder}/${file}`),
	),
];
const readme = read('README.md');

/** What stands between fences or in a line as code is no prose and has no links. */
const withoutCode = (text: string) =>
	text.replace(/^```[^]*?^```/gm, '').replace(/`[^`\n]*`/g, '``');

/** As GitHub makes the anchor of a heading. */
function anchorsOf(text: string): string[] {
	const headings = [...text.replace(/^```[^]*?^```/gm, '').matchAll(/^#+ (.+)$/gm)];
	return headings.map(([, heading]) =>
		(heading as string)
			.toLowerCase()
			.replace(/[^\p{L}\p{N}\- _]/gu, '')
			.replace(/ /g, '-'),
	);
}

/** The rows of the table under a heading whose first column is called so; cells without markup. */
function tableRows(text: string, firstColumn: string): string[][] {
	const lines = text.split('\n');
	return lines.flatMap((line, index) => {
		if (!line.startsWith(`| ${firstColumn} |`)) return [];
		const end = lines.findIndex((other, at) => at > index && !other.startsWith('|'));
		return lines.slice(index + 2, end).map((row) =>
			row
				.split(/(?<!\\)\|/)
				.slice(1, -1)
				.map((cell) => cell.trim().replaceAll('**', '')),
		);
	});
}

const firstCells = (firstColumn: string, text = readme) =>
	tableRows(text, firstColumn).map(([cell]) => cell as string);

describe.each(documents)('%s', (document) => {
	const text = read(document);

	test('has links and pictures that lead somewhere', () => {
		const targets = [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, to]) => to!);
		const dead = targets
			.filter((to) => !/^(https?:|mailto:)/.test(to))
			.filter((to) => {
				const [path, anchor] = to.split('#') as [string, string?];
				const file = path === '' ? join(root, document) : join(root, dirname(document), path);
				if (!existsSync(file)) return true;
				return anchor !== undefined && !anchorsOf(readFileSync(file, 'utf8')).includes(anchor);
			});
		expect(dead).toEqual([]);
	});

	test('names commands that exist', () => {
		const named = [...text.matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name as string);
		expect(named.filter((name) => !(name in manifest.scripts))).toEqual([]);
		if (/npm test/.test(text)) expect(manifest.scripts).toHaveProperty('test');
	});

	test('names no folder of one computer and no registry but the public one', () => {
		expect(text).not.toMatch(/\/(home\/(?!node\b)|Users\/|work\/|root\/|tmp\/)/);
		for (const [, host] of text.matchAll(/https?:\/\/([^/\s)`'";]+)/g)) {
			expect([
				host,
				/(^|\.)(example\.com|github\.com|nodejs\.org|n8n\.io|semver\.org)$/.test(host!),
			]).toEqual([host, true]);
		}
	});
});

describe('README.md', () => {
	test('names every node, and no other', () => {
		const named = firstCells('Node').sort();
		expect(named).toEqual(
			builtNodes()
				.map(({ displayName }) => displayName)
				.sort(),
		);
	});

	test('and the guide have the headings that the nodes and the credential lead to', () => {
		const codex = sourcesIn(join(root, 'nodes'), '.node.json').map((file) => relative(root, file));
		const home = manifest.repository.url.replace(/^git\+|\.git$/g, '');
		const led = [...codex, ...manifest.n8n.credentials]
			.flatMap((file) => read(file).split(home).slice(1))
			.map((after) => /^(?:\/blob\/main\/([\w/.-]+))?#([\w-]+)/.exec(after)!)
			.map(([, file = 'README.md', anchor]) => ({ file, anchor: anchor! }));
		expect(led.length).toBeGreaterThan(5);
		expect(led.filter(({ file, anchor }) => !anchorsOf(read(file)).includes(anchor))).toEqual([]);
	});

	test('has no relative address left on npm', () => {
		const text = withAbsoluteAddresses(readme, manifest);
		const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, to]) => to!);
		expect(targets.filter((to) => !/^(https:|#)/.test(to))).toEqual([]);
		const release = `/v${manifest.version}/`;
		const [picture, page] = [/\]\((https:\S+\.png)\)/, /\]\((https:\S+\.md)\)/].map(
			(form) => form.exec(text)![1]!,
		);
		expect(picture).toContain(`/raw${release}docs/`);
		expect(page).toContain(`/blob${release}`);
	});
});

describe('the other papers', () => {
	const nodes = builtNodes();
	const shown = new Set(nodes.flatMap((node) => node.shown));

	// After a change of what the editor shows: UPDATE_DOCS=1 npx jest documents
	test(`${OPTIONS_PAGE} is what the editor shows: "npm run docs" writes it anew`, () => {
		const page = optionsPage(root);
		if (process.env.UPDATE_DOCS === '1') writeFileSync(join(root, OPTIONS_PAGE), page);
		expect(read(OPTIONS_PAGE)).toBe(page);
	});

	// Saved workflows hold these names. What is in docs/names.json keeps its meaning.
	test(`every name is as in ${NAMES_FILE}: after a change, "npm run docs" writes it, and CHANGELOG.md says so`, () => {
		expect(read(NAMES_FILE)).toBe(namesFile(root));
	});

	test.each(['README.md', 'guide', 'errors-and-charges', 'running'])(
		'%s names modes, nodes and fields as they are',
		(name) => {
			const text = read(name === 'README.md' ? name : `docs/${name}.md`);
			expect(firstCells('Mode', text).filter((mode) => !shown.has(mode))).toEqual([]);
			const bold = [...withoutCode(text).matchAll(/\*\*([A-Z][^*.:]+)\*\*/g)].map(
				([, word]) => word as string,
			);
			const known = new Set([
				...shown,
				...nodes.map(({ displayName }) => displayName.replace('Media Gateway ', '')),
				...nodes.map(({ displayName }) => displayName),
				...[
					'Base URL',
					'API Key',
					'Currency',
					'Media URL',
					'Idempotency Header',
					'Media Gateway API',
				],
				// Of n8n itself.
				...['On Error', 'Retry On Fail'],
			]);
			expect([...new Set(bold)].filter((word) => !known.has(word))).toEqual([]);
		},
	);
});

test('comments name pages and headings that are there', () => {
	const folders = ['gateway', 'nodes', 'credentials', 'util', 'simulator', 'harness', 'scripts'];
	const files = [...folders, 'test', 'bench', 'demo']
		.flatMap((folder) => ['.ts', '.mts'].flatMap((end) => sourcesIn(join(root, folder), end)))
		.filter((file) => !/node_modules|\.cache/.test(file));
	const named = files.flatMap((file) => {
		// A reference may go on in the next line of its comment.
		const text = readFileSync(file, 'utf8').replace(/\n\s*(?:\*|\/\/)\s?/g, ' ');
		const found = text.matchAll(/\bdocs\/([\w-]+\.md)(?:, "([^"]+)"(?: and "([^"]+)")?)?/g);
		return [...found].map(([, page, ...headings]) => ({ file, page: page!, headings }));
	});
	expect(named.length).toBeGreaterThan(60);
	const dead = named.filter(({ page, headings }) => {
		if (!existsSync(join(root, 'docs', page))) return true;
		const text = read(`docs/${page}`);
		const has = (heading: string) => new RegExp(`^#+ ${heading}$`, 'm').test(text);
		return headings.some((heading) => heading !== undefined && !has(heading));
	});
	expect(dead).toEqual([]);
});

describe('the output schemas', () => {
	test('of the image nodes are as the table of their fields: after a change, "npm run docs" writes them', () => {
		for (const [file, text] of outputSchemas(root)) expect(read(file)).toBe(text);
	});

	const schemas = sourcesIn(join(root, 'nodes'), '.json').filter((file) =>
		file.includes('__schema__'),
	);

	test('are there for every node that puts out items', () => {
		const without = builtNodes()
			.filter(({ className }) => !className.startsWith('Lm'))
			.map(({ className }) => className)
			.filter((className) => !schemas.some((file) => file.includes(join('nodes', className))));
		expect(without).toEqual([]);
	});
});

function sourcesIn(folder: string, extension = '.ts'): string[] {
	return readdirSync(folder, { withFileTypes: true, recursive: true })
		.filter((entry) => entry.isFile() && entry.name.endsWith(extension))
		.map((entry) => join(entry.parentPath ?? entry.path, basename(entry.name)));
}
