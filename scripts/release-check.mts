/**
 * `npm run release:check`: what can be known before a version is published, each with what to do.
 * Ends with 1 where something is missing. What only an owner of the package can fill in is marked.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withAbsoluteAddresses } from './absolute-addresses.mjs';

export interface Manifest {
	name: string;
	version: string;
	homepage: string;
	author: { name: string; email: string };
	repository: { url: string };
	publishConfig?: { access?: string; provenance?: boolean };
	dependencies?: object;
	n8n: { nodes: string[]; credentials: string[] };
}

/** What is looked at: the texts of files, and what npm says. */
export interface Facts {
	manifest: Manifest;
	/** Whether CHANGELOG.md has a section for the version. */
	described: boolean;
	readme: string;
	codeowners: string;
	/** Texts of the files that lead to the repository: credential, codex files, package.json. By file. */
	leading: Record<string, string>;
	/** Versions on the registry; undefined where none could be asked. */
	published?: string[];
	/** Built files that are named and don't exist, icons included. */
	missing: string[];
}

export interface Finding {
	what: string;
	/** What to do; undefined where it is as it has to be. */
	todo?: string;
	/** Only an owner can do it. */
	owner?: boolean;
}

/** Stands in package.json until an owner sets the address of their repository. */
const PLACEHOLDER = 'https://github.com/n8n-nodes-media-gateway/n8n-nodes-media-gateway';
const VERSION = /^\d+\.\d+\.\d+(-[\w.]+)?$/;
const RELATIVE_LINK = /\]\((?!https?:|#)[^)]+\)/;

/** Everything that has to hold, in the order in which it is to be mended. */
export function findings(facts: Facts): Finding[] {
	const { manifest, published } = facts;
	const { version, homepage, author, publishConfig } = manifest;
	const leading: Facts['leading'] = { ...facts.leading, 'README.md': facts.readme };
	const elsewhere = Object.keys(leading).filter((file) => !leading[file]!.includes(homepage));
	const readme = RELATIVE_LINK.exec(withAbsoluteAddresses(facts.readme, manifest))?.[0];
	const when = (broken: boolean, todo: string) => (broken ? todo : undefined);
	return [
		{
			what: 'The address of the repository',
			owner: true,
			todo: when(
				homepage === PLACEHOLDER,
				'npm run address -- https://github.com/OWNER/REPOSITORY',
			),
		},
		{
			what: 'One address everywhere',
			todo: when(
				elsewhere.length > 0,
				`npm run address -- ${homepage} OLD, with the address that is in ${elsewhere.join(', ')}`,
			),
		},
		{
			what: 'An email that is read: n8n sends its token there',
			owner: true,
			todo: when(
				!/^[^@\s]+@[^@\s]+\.\w+$/.test(author.email) || author.email.endsWith('noreply.github.com'),
				'set author.email in package.json',
			),
		},
		{
			what: 'Reviewers in CODEOWNERS',
			owner: true,
			todo: when(
				facts.codeowners.includes('@n8n-nodes-media-gateway/'),
				'name your own account or team in .github/CODEOWNERS',
			),
		},
		{
			what: `The version, ${version}`,
			todo: VERSION.test(version)
				? published?.includes(version) && `${version} is on npm: npm version with a higher one`
				: 'set a version such as 1.2.3 in package.json',
		} as Finding,
		{
			what: 'The registry was asked',
			todo: when(
				published === undefined,
				'npm could not be asked for the versions: try again online',
			),
		},
		{
			what: 'The changes are described',
			todo: when(
				!facts.described,
				`give CHANGELOG.md a section "## ${version}" with what changes for users`,
			),
		},
		{
			what: 'Public, with provenance',
			todo: when(
				publishConfig?.access !== 'public' || publishConfig.provenance !== true,
				'set publishConfig in package.json to access public, provenance true',
			),
		},
		{
			what: 'No run-time dependency',
			todo: when(manifest.dependencies !== undefined, 'take "dependencies" out of package.json'),
		},
		{
			what: 'Built files and icons',
			todo: when(facts.missing.length > 0, `npm run build makes ${facts.missing.join(', ')}`),
		},
		{
			what: "README's links on npm",
			todo: readme && `give ${readme} in README.md an address that holds on npm`,
		},
	].map(({ todo, ...rest }) => (todo ? { ...rest, todo } : rest));
}

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const read = (file: string) => readFileSync(join(root, file), 'utf8');

function run(command: string, ...args: string[]) {
	const shell = process.platform === 'win32' && command === 'npm';
	return spawnSync(command, args, { cwd: root, encoding: 'utf8', shell });
}

/** The versions that npm knows; none for a package that was never published. */
function publishedVersions(name: string): string[] | undefined {
	const { status, stdout, stderr } = run('npm', 'view', name, 'versions', '--json');
	if (stderr.includes('E404')) return [];
	if (status !== 0) return undefined;
	const versions: unknown = JSON.parse(stdout);
	return [versions].flat().filter((version) => typeof version === 'string');
}

function gather(): Facts {
	const manifest = JSON.parse(read('package.json')) as Manifest;
	const { nodes, credentials } = manifest.n8n;
	const icons = [...nodes, ...credentials]
		.filter((file) => existsSync(join(root, file)))
		.flatMap((file) =>
			[...read(file).matchAll(/file:([^'"]+\.svg)/g)].map((match) => [file, match[1]!]),
		)
		.map(([file, icon]) => join(dirname(file!), icon!));
	const sources = [...nodes, ...credentials].map((file) => file.replace(/^dist\//, ''));
	const leading = [
		'package.json',
		...sources.map((file) => file.replace(/\.node\.js$/, '.node.json').replace(/\.js$/, '.ts')),
	];
	return {
		manifest,
		described: run(process.execPath, 'scripts/release-notes.mjs', manifest.version).status === 0,
		readme: read('README.md'),
		codeowners: read('.github/CODEOWNERS'),
		leading: Object.fromEntries(leading.map((file) => [file, read(file)])),
		published: publishedVersions(manifest.name),
		missing: [...nodes, ...credentials, ...icons].filter((file) => !existsSync(join(root, file))),
	};
}

function main(): void {
	const scan = run(process.execPath, 'scripts/scan.mjs');
	const list = [
		...findings(gather()),
		{
			what: "n8n's scanner, contents and size",
			todo:
				scan.status === 0 ? undefined : `npm run scan says ${(scan.stderr || scan.stdout).trim()}`,
		},
	] as Finding[];
	for (const { what, todo, owner } of list) {
		console.log(`${todo === undefined ? '✓' : '✗'} ${what}`);
		if (todo !== undefined) console.log(`    ${owner ? 'Only you can do this: ' : ''}${todo}`);
	}
	const open = list.filter(({ todo }) => todo !== undefined);
	const owners = open.filter(({ owner }) => owner).length;
	console.log(
		open.length === 0
			? '\nReady to be released.'
			: `\nNot ready: ${open.length} to do, ${owners} of them only for the owner of the package.`,
	);
	process.exitCode = open.length === 0 ? 0 : 1;
}

if (process.argv[1]?.endsWith('release-check.mts')) main();
