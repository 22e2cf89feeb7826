/** Several processes may want the same tree: one installs it, the others wait. */
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { repositoryRoot } from './folders.mjs';
import { INSTALL_LIMIT_MS } from './npm.mjs';

const MARKER = '.installed';
/**
 * The files of a recipe, and npm's names of them where they are installed. Only the root of the
 * repository has a package.json: n8n rejects packages of which there is more than one.
 */
export const RECIPE_FILES = [
	['manifest.json', 'package.json'],
	['lock.json', 'package-lock.json'],
] as const;

/**
 * Runs `install` in `root` unless the marker there says that the same files were installed.
 * @param say receives a line if another process is installing there
 */
export async function installOnce(
	root: string,
	recipeFolder: string,
	install: (log: string) => Promise<void>,
	say: (line: string) => void,
): Promise<void> {
	const source = path.join(repositoryRoot(), 'harness', 'install', 'locks', recipeFolder);
	const hash = createHash('sha256');
	for (const [file] of RECIPE_FILES) hash.update(fs.readFileSync(path.join(source, file)));
	const wanted = hash.digest('hex');
	const marker = path.join(root, MARKER);
	const present = () => fs.existsSync(marker) && fs.readFileSync(marker, 'utf8').trim() === wanted;
	if (present()) return;

	const waits = () => say(`Another start is installing ${recipeFolder}: waiting`);
	await withLock(`${root}.lock`, waits, async () => {
		if (present()) return;
		fs.mkdirSync(root, { recursive: true });
		// A half-finished tree must not pass for a whole one.
		fs.rmSync(marker, { force: true });
		for (const [file, name] of RECIPE_FILES) {
			fs.copyFileSync(path.join(source, file), path.join(root, name));
		}
		await install(`${root}.log`);
		fs.writeFileSync(marker, wanted + '\n');
	});
}

/**
 * Holds a lock folder while `work` runs; the lock of a process that has died is taken over.
 * @param waits called once if a living process holds it
 */
export async function withLock(
	folder: string,
	waits: () => void,
	work: () => Promise<void>,
	pause = async () => await sleep(1_000),
): Promise<void> {
	const owner = path.join(folder, 'pid');
	fs.mkdirSync(path.dirname(folder), { recursive: true });
	let isHeld = false;
	for (const deadline = Date.now() + INSTALL_LIMIT_MS; ; await pause()) {
		try {
			fs.mkdirSync(folder);
			fs.writeFileSync(owner, String(process.pid));
			break;
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
		}
		if (!lives(owner)) fs.rmSync(folder, { recursive: true, force: true });
		else if (!isHeld) {
			isHeld = true;
			waits();
		}
		if (Date.now() > deadline) throw new Error(`Another installation still holds ${folder}`);
	}
	try {
		await work();
	} finally {
		fs.rmSync(folder, { recursive: true, force: true });
	}
}

function lives(pidFile: string): boolean {
	try {
		process.kill(Number(fs.readFileSync(pidFile, 'utf8')), 0);
		return true;
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		// No file yet: the owner is between its two steps, unless that has lasted for seconds.
		if (code === 'ENOENT') return isFresh(path.dirname(pidFile));
		return code === 'EPERM';
	}
}

function isFresh(folder: string): boolean {
	const stat = fs.statSync(folder, { throwIfNoEntry: false });
	return stat !== undefined && Date.now() - stat.mtimeMs < 5_000;
}
