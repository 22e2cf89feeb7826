import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Everything that the contents of `dist` depend on. */
const SOURCES = [
	'credentials',
	'gateway',
	'icons',
	'nodes',
	'gulpfile.js',
	'package.json',
	'tsconfig.json',
	'util',
];

// Not inside `dist`: whatever lies there is published.
const stampFile = join(root, '.cache', 'build-stamp');

async function listFiles(path) {
	try {
		const entries = await readdir(path, { withFileTypes: true, recursive: true });
		return entries
			.filter((entry) => entry.isFile())
			.map((entry) => join(entry.parentPath ?? entry.path, entry.name));
	} catch (error) {
		if (error.code === 'ENOTDIR') return [path];
		if (error.code === 'ENOENT') return [];
		throw error;
	}
}

/** A hash over the names and contents of all sources: file times say nothing after a checkout. */
export async function hashSources() {
	const files = (await Promise.all(SOURCES.map((source) => listFiles(join(root, source))))).flat();
	const hash = createHash('sha256');
	for (const file of files.sort()) {
		hash.update(relative(root, file).split(sep).join('/')).update('\0');
		hash.update(await readFile(file)).update('\0');
	}
	return hash.digest('hex');
}

/** Notes which sources `dist` was made of. */
export async function writeBuildStamp(hash) {
	await mkdir(dirname(stampFile), { recursive: true });
	await writeFile(stampFile, hash);
}

export async function removeBuildStamp() {
	await rm(stampFile, { force: true });
}

/** Whether `dist` is there and was made of the sources as they are now. */
export async function isBuildFresh() {
	if (!existsSync(join(root, 'dist')) || !existsSync(stampFile)) return false;
	const [stamp, hash] = await Promise.all([readFile(stampFile, 'utf8'), hashSources()]);
	return stamp === hash;
}
