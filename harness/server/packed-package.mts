/** The package as users get it: packed by npm. And what it says it holds. */
import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { promisify } from 'node:util';

import { repositoryRoot } from '../install/folders.mjs';
import type { ServerVersion } from '../install/install.mjs';
import type { Json } from './rest-session.mjs';

const run = promisify(execFile);

/** What a node's own file says, as far as the tests read it. */
export interface NodeDescription {
	/** Class and folder, such as `ImageWait`. */
	className: string;
	/** Name under which n8n loads it, such as `n8n-nodes-media-gateway.imageWait`. */
	type: string;
	/** Name that people see. */
	displayName: string;
	/** Name that the node gets on the canvas. */
	defaultName: string;
	/** Whether an AI agent may call it. */
	usableAsTool: boolean;
	/** What its outputs carry: `main`, or `ai_languageModel` for a chat model. */
	outputs: string[];
}

export interface PackedPackage {
	/** Path of the .tgz. */
	tarball: string;
	name: string;
	version: string;
	/** Every node that package.json names, in that order. */
	nodes: NodeDescription[];
}

/**
 * Packs the repository as `npm publish` would, into a temporary folder that the system empties.
 * `MEDIA_GATEWAY_TEST_PACKAGE` names a tarball to take instead, such as one that was published.
 * @returns the tarball and what is in it
 */
export async function packPackage(): Promise<PackedPackage> {
	const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'media-gateway-package-'));
	const tarball = process.env.MEDIA_GATEWAY_TEST_PACKAGE ?? (await pack(folder));
	const unpacked = path.join(folder, 'package');
	await run('tar', ['-xzf', path.resolve(tarball), '-C', folder]);
	const manifest = JSON.parse(fs.readFileSync(path.join(unpacked, 'package.json'), 'utf8'));
	const { nodes } = manifest.n8n as { nodes: string[] };
	const described = await describeNodes(unpacked, nodes);
	return {
		tarball: path.resolve(tarball),
		name: manifest.name,
		version: manifest.version,
		nodes: described.map((node) => ({ ...node, type: `${manifest.name}.${node.type}` })),
	};
}

/**
 * Puts a packed package where n8n loads community packages from, in the way n8n does it: unpacked
 * with dev, peer and optional dependencies stripped, then named in the folder's package.json.
 * @param tarball path of a .tgz made by `npm pack`
 * @param userFolder n8n's user folder (the one that holds `.n8n`)
 * @returns the package's name and the folder it lies in
 */
export async function installPackage(
	tarball: string,
	userFolder: string,
): Promise<{ name: string; folder: string }> {
	const nodes = path.join(userFolder, '.n8n', 'nodes');
	fs.mkdirSync(path.join(nodes, 'node_modules'), { recursive: true });
	const unpacked = fs.mkdtempSync(path.join(nodes, 'unpack-'));
	await run('tar', ['-xzf', path.resolve(tarball), '-C', unpacked, '--strip-components=1']);
	const manifestFile = path.join(unpacked, 'package.json');
	const manifest = JSON.parse(fs.readFileSync(manifestFile, 'utf8')) as Json;
	delete manifest.devDependencies;
	delete manifest.peerDependencies;
	delete manifest.optionalDependencies;
	if (Object.keys(manifest.dependencies ?? {}).length > 0) {
		throw new Error(`${manifest.name} has dependencies: n8n loads no verified package with any`);
	}
	fs.writeFileSync(manifestFile, JSON.stringify(manifest, null, 2));

	const folder = path.join(nodes, 'node_modules', manifest.name);
	fs.rmSync(folder, { recursive: true, force: true });
	fs.mkdirSync(path.dirname(folder), { recursive: true });
	fs.renameSync(unpacked, folder);
	const listFile = path.join(nodes, 'package.json');
	const list = fs.existsSync(listFile)
		? (JSON.parse(fs.readFileSync(listFile, 'utf8')) as Json)
		: { name: 'installed-nodes', private: true, dependencies: {} };
	list.dependencies[manifest.name] = manifest.version;
	fs.writeFileSync(listFile, JSON.stringify(list, null, 2));
	return { name: manifest.name, folder };
}

/**
 * The n8n servers that the tests are to run on.
 * @returns both, or what `MEDIA_GATEWAY_TEST_N8N` names (`1`, `2` or `1,2`)
 */
export function serverVersions(): ServerVersion[] {
	const named = process.env.MEDIA_GATEWAY_TEST_N8N?.split(',').map((version) => version.trim());
	return (['2', '1'] as const).filter((version) => named?.includes(version) ?? true);
}

async function pack(folder: string): Promise<string> {
	const root = repositoryRoot();
	if (!fs.existsSync(path.join(root, 'dist'))) {
		throw new Error('There is no dist folder: run "npm run build" first');
	}
	// Without `prepublishOnly` and its like: what is tested is the build that stands there.
	const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder];
	await run('npm', args, { cwd: root, shell: process.platform === 'win32' });
	const tarball = path.join(folder, fs.readdirSync(folder).find((file) => file.endsWith('.tgz'))!);
	const commit = await unreleasedCommit(root);
	return commit === undefined ? tarball : await withCommit(folder, tarball, commit);
}

/** The commit that a package is built from; undefined for that of a release, and without git. */
async function unreleasedCommit(root: string): Promise<string | undefined> {
	const git = async (...args: string[]) => (await run('git', args, { cwd: root })).stdout.trim();
	const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
	const tags = await git('tag', '--points-at', 'HEAD').catch(() => `v${version}`);
	return tags.split('\n').includes(`v${version}`)
		? undefined
		: await git('rev-parse', '--short', 'HEAD');
}

/** The same package with the commit in its version: older than the release of that name. */
async function withCommit(folder: string, tarball: string, commit: string): Promise<string> {
	const unpacked = path.join(folder, 'package');
	await run('tar', ['-xzf', tarball, '-C', folder]);
	const file = path.join(unpacked, 'package.json');
	const manifest = JSON.parse(fs.readFileSync(file, 'utf8')) as Json;
	// A number must not begin with 0 there.
	manifest.version += `-dev.g${commit}`;
	fs.writeFileSync(file, `${JSON.stringify(manifest, null, '\t')}\n`);
	const renamed = path.join(folder, `${manifest.name}-${manifest.version}.tgz`);
	await run('tar', ['-czf', renamed, '-C', folder, 'package']);
	fs.rmSync(tarball);
	fs.rmSync(unpacked, { recursive: true });
	return renamed;
}

/** Reads the compiled nodes in a process of its own: jest's loader is not Node's. */
async function describeNodes(folder: string, files: string[]): Promise<NodeDescription[]> {
	// Outside the repository a node finds n8n-workflow only where it is told to look.
	fs.symlinkSync(
		path.join(repositoryRoot(), 'node_modules'),
		path.join(folder, 'node_modules'),
		'junction',
	);
	const script = `
		const files = JSON.parse(process.argv[1]);
		console.log(JSON.stringify(files.map((file) => {
			const className = require('node:path').basename(file, '.node.js');
			const { description } = new (require(require('node:path').resolve(file))[className])();
			return {
				className,
				type: description.name,
				displayName: description.displayName,
				defaultName: description.defaults.name,
				usableAsTool: Boolean(description.usableAsTool),
				// An expression stands for outputs that depend on the parameters: they carry items.
				outputs: Array.isArray(description.outputs)
					? description.outputs.map((output) => output.type ?? output)
					: ['main'],
			};
		})));`;
	const { stdout } = await run(process.execPath, ['-e', script, JSON.stringify(files)], {
		cwd: folder,
	});
	return JSON.parse(stdout);
}
