import type { ICredentialType } from 'n8n-workflow';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { OPTIONS_PAGE, optionsPage } from '../../../scripts/options-page.mjs';
import { builtNodes } from './built-nodes.mjs';
import { FOLDERS } from './code-folders.mjs';

const root = join(__dirname, '..', '..', '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const manifest = JSON.parse(read('package.json')) as {
	version: string;
	engines: { node: string };
	scripts: Record<string, string>;
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

const sources = FOLDERS.flatMap((folder) =>
	readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(
		(file) => `${folder}/${file}`,
	),
).filter((file) => /\.m?ts$/.test(file));

/** Every word of the code, and the name of every file with code. */
const CODE_NAMES = new Set(
	sources.flatMap((file) => [basename(file), ...(read(file).match(/[A-Za-z_]\w*/g) ?? [])]),
);

/** Names of n8n's own code and variables, of a secret, and of the node that a contributor adds. */
const NAMES_OF_N8N = /^(N8N_\w+|NPM_TOKEN|WaitTracker|addPairedItemLineage|Name\.node\.ts)$/;

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

	test('names files of this repository that exist', () => {
		const named = [...text.matchAll(/`((?:\.github|[a-z]+)\/[\w./-]+\.\w{2,4})`/g)];
		const missing = named
			.map(([, file]) => file as string)
			.filter((file) => !existsSync(join(root, file)));
		expect(missing).toEqual([]);
	});

	test('names code that exists, in the file that it names', () => {
		const prose = text.replace(/^```[^]*?^```/gm, '');
		const named = [...prose.matchAll(/`([A-Za-z_][\w.]*)(?:\(\))?`/g)]
			.flatMap(([, name]) => (/\.(m?ts|json)$/.test(name!) ? [name!] : name!.split('.')))
			.filter((name) => /[a-z][A-Z]|[A-Z]_[A-Z]|\.m?ts$/.test(name) && !NAMES_OF_N8N.test(name));
		expect(named.filter((name) => !CODE_NAMES.has(name))).toEqual([]);

		const places = [...prose.matchAll(/`(\w+)` (?:\(|of |in )`([\w/.-]+\.ts)`/g)];
		const wrong = places.filter(([, name, file]) => {
			const path = sources.find((source) => source.endsWith(`/${file}`) || source === file);
			return path === undefined || !new RegExp(`\\b${name}\\b`).test(read(path));
		});
		expect(wrong.map(([place]) => place)).toEqual([]);
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
	test('begins with what it is, and has the two commands on the first screen', () => {
		const [heading, intro] = readme.split('\n\n');
		expect(heading).toBe('# n8n-nodes-media-gateway');
		expect(intro!.match(/\.( |$)/g)).toHaveLength(1);
		// A user of n8n first reads what a media gateway is; the commands are for developers.
		const [firstScreen] = readme.split('\n## ');
		expect(firstScreen).toMatch(/\n```\nnpm run demo .*\nnpm test .*\n```\n/);
		expect(firstScreen!.split('\n').length).toBeLessThanOrEqual(25);
		expect(readme.match(/npm run demo|npm test/g)).toHaveLength(2);
	});

	test('says what a media gateway is, how to save an image, and what the parts are for', () => {
		expect(readme).toContain('A media gateway is ');
		const headings = [...readme.matchAll(/^## (.+)$/gm)].map(([, text]) => text);
		expect(headings).toEqual(
			expect.arrayContaining(['Why not HTTP Request, Wait and If?', 'Credential', 'Examples']),
		);
		expect(readme).toContain('Read/Write Files from Disk');
	});

	test('is a page that is read to its end', () => {
		expect(readme.split(/\s+/).length).toBeLessThan(950);
	});

	test('begins with an animation that loads quickly', () => {
		const file = readFileSync(join(root, 'docs/images/first-image.png'));
		expect(readme).toContain('](docs/images/first-image.png)');
		expect(file.length).toBeLessThan(2_000_000);
		expect(file.toString('latin1', 37, 41)).toBe('acTL');
		expect(file.readUInt32BE(41)).toBeGreaterThan(10);
	});

	test('names every node, and no other', () => {
		const named = firstCells('Node').sort();
		expect(named).toEqual(
			builtNodes()
				.map(({ displayName }) => displayName)
				.sort(),
		);
	});

	test('has the anchors that the nodes and the credential lead to', () => {
		const anchors = anchorsOf(readme);
		expect(anchors).toContain('credential');
	});

	test('has no heading without figures where the benchmark writes', () => {
		const [, between] = /<!-- bench:start -->([^]*?)<!-- bench:end -->/.exec(readme)!;
		if (between!.trim() !== '') expect(between).toMatch(/\d/);
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

	test.each(['README.md', 'guide', 'costs', 'restarts', 'install'])(
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
				...['Base URL', 'API Key', 'Media URL', 'Media Gateway API'],
				// Of n8n itself.
				...['On Error', 'Retry On Fail'],
			]);
			expect([...new Set(bold)].filter((word) => !known.has(word))).toEqual([]);
		},
	);

	test('an error or row that names a hidden field of the credential names its switch', () => {
		const { MediaGatewayApi } = require(join(root, manifest.n8n.credentials[0]!)) as {
			MediaGatewayApi: new () => ICredentialType;
		};
		const labels = new MediaGatewayApi().properties
			.filter(({ displayOptions }) => displayOptions?.show?.gatewaySettings)
			.map(({ displayName }) => displayName);
		expect(labels).toContain('Media URL');
		const any = labels.join('|');
		const texts = ['gateway', 'nodes']
			.flatMap((folder) => sourcesIn(join(root, folder)))
			.flatMap((path) => readFileSync(path, 'utf8').split('\n'))
			.filter((line) => !/^\s*(\/\*)?\*|^\s*\/\//.test(line))
			// The functions that name it.
			.map((line) => line.replace(/(underSettings|choiceProblem)\([^)]*/g, ''));
		expect(texts.filter((line) => new RegExp(`'(${any})'`).test(line))).toEqual([]);
		const rows = read('docs/troubleshooting.md').match(/^\|.*$/gm) ?? [];
		expect(
			rows.filter((row) => new RegExp(any).test(row) && !row.includes('*Gateway Settings*')),
		).toEqual([]);
	});

	test('docs/troubleshooting.md quotes errors as they read', () => {
		const sources = ['gateway', 'nodes']
			.flatMap((folder) => sourcesIn(join(root, folder)))
			.map((file) => readFileSync(file, 'utf8'))
			.join('\n')
			.replaceAll('${attempt}', '');
		const unknown = firstCells('What you read', read('docs/troubleshooting.md')).filter((text) =>
			text.split('…').some((part) => !sources.includes(part.trim())),
		);
		expect(unknown).toEqual([]);
	});

	test('docs/testing.md names the tests that measure time, or are tried again', () => {
		const measuring = sourcesIn(join(root, 'test'), '.mts')
			.filter((file) => !file.includes(join('test', 'n8n')))
			.filter((file) =>
				/jest\.retryTimes\(\d|process\.cpuUsage\(\)/.test(readFileSync(file, 'utf8')),
			);
		expect(firstCells('Test', read('docs/testing.md')).sort()).toEqual(
			measuring.map((file) => `\`${relative(root, file).replaceAll('\\', '/')}\``).sort(),
		);
	});

	test('docs/install.md names the n8n and the Node.js that the tests run', () => {
		const servers = readdirSync(join(root, 'harness/install/locks'))
			.filter((folder) => /^\d/.test(folder))
			.map((folder) => JSON.parse(read(`harness/install/locks/${folder}/manifest.json`)))
			.map(({ dependencies }) => dependencies.n8n as string);
		expect(firstCells('n8n', read('docs/install.md')).sort()).toEqual(servers.sort());
		const [, major, minor] = />=(\d+)\.(\d+)/.exec(manifest.engines.node)!;
		for (const text of [readme, read('docs/install.md')]) {
			expect(text).toContain(`Node.js ${major}.${minor} or newer`);
		}
	});

	test('CHANGELOG.md has this version with its date, below what is not released yet', () => {
		const headings = [...read('CHANGELOG.md').matchAll(/^## (.+)$/gm)].map(([, text]) => text!);
		expect(headings[0]).toBe('Unreleased');
		expect(headings[1]).toMatch(/^\d+\.\d+\.\d+ - \d{4}-\d{2}-\d{2}$/);
		expect(headings[1]!.split(' ')[0]).toBe(manifest.version);
	});

	test('docs/embedded-gateway.md names every start option, kind and field of a fault', () => {
		const text = read('docs/embedded-gateway.md');
		const options = read('simulator/gateway-options.mts');
		const flags = [...read('simulator/main.mts').matchAll(/^ {2}(--[a-z-]+) /gm)];
		const fault = options.slice(options.indexOf('interface Fault {'));
		const fields = [...fault.slice(0, fault.indexOf('\n}')).matchAll(/^\t(\w+)\??:/gm)];
		const kinds = [...options.matchAll(/^\t\| '(\w+)'/gm)];
		const names = [...flags, ...fields, ...kinds].map(([, name]) => name as string);
		expect(names.length).toBeGreaterThan(30);
		expect(names.filter((name) => !text.includes(`\`${name}`))).toEqual([]);
		const cells = ['Option', 'Field', 'Kind'].flatMap((column) => firstCells(column, text));
		const written = cells
			.flatMap((cell) => cell.split(/,| or /))
			.map((cell) => /`(-*[\w-]+)/.exec(cell)?.[1] ?? '')
			.filter((name) => !/^N$/.test(name));
		expect(written.filter((name) => name !== '' && !names.includes(name))).toEqual([]);
	});

	test('docs/embedded-gateway.md names models that the gateway has', () => {
		const gateway = ['models/default-models', 'messages/reasoning']
			.map((file) => read(`simulator/${file}.mts`))
			.join();
		const section = read('docs/embedded-gateway.md')
			.split('## ')
			.find((part) => /^Models/.test(part))!;
		const named = [...section.matchAll(/`((?:aurora|cinema|plain|atelier|reason)[^`]*)`/g)];
		expect(named.length).toBeGreaterThan(7);
		expect(named.map(([, name]) => name!).filter((name) => !gateway.includes(`'${name}'`))).toEqual(
			[],
		);
	});

	test('comments cite headings that docs/protocol.md has', () => {
		const headings = [...read('docs/protocol.md').matchAll(/^## (.+)$/gm)].map(([, text]) => text!);
		const sources = ['gateway', 'nodes', 'credentials', 'simulator'].flatMap((folder) =>
			['.ts', '.mts'].flatMap((extension) => sourcesIn(join(root, folder), extension)),
		);
		const cited = sources.flatMap((file) => {
			const text = readFileSync(file, 'utf8').replace(/\n\s*(\*|\/\/)\s*/g, ' ');
			const found = text.matchAll(/protocol\.md,((?:(?: |, | and )+"[^"]+")+)/g);
			return [...found].flatMap(([, names]) =>
				[...names!.matchAll(/"([^"]+)"/g)].map(([, heading]) => ({ file, heading: heading! })),
			);
		});
		expect(cited.length).toBeGreaterThan(50);
		expect(cited.filter(({ heading }) => !headings.includes(heading))).toEqual([]);
	});

	test('docs/architecture.md names every folder', () => {
		const text = read('docs/architecture.md');
		const folders = ['credentials', 'gateway', 'nodes', 'simulator', 'examples', 'demo', 'test'];
		expect(folders.filter((folder) => !text.includes(`${folder}/`))).toEqual([]);
	});
});

describe('the output schemas', () => {
	const schemas = sourcesIn(join(root, 'nodes'), '.json').filter((file) =>
		file.includes('__schema__'),
	);

	test.each(schemas.map((file) => relative(root, file)))('%s describes an item', (file) => {
		const schema = JSON.parse(read(file));
		expect(schema).toMatchObject({ type: 'object', properties: expect.any(Object) });
		expect(Object.keys(schema.properties).length).toBeGreaterThan(3);
	});

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
