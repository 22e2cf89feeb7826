// Installs the development dependencies when they are missing or belong to another lock file.
// Uses nothing but Node: it has to run in a fresh clone, before anything is installed.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runAloud } from './run-aloud.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

const MINIMUM_NODE = [20, 19];

function requireNode() {
	const [major, minor] = process.versions.node.split('.').map(Number);
	const [wantedMajor, wantedMinor] = MINIMUM_NODE;
	if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) return;
	console.error(
		`Set-up: this needs Node.js ${MINIMUM_NODE.join('.')} or newer, and here is ${process.version}. ` +
			'Install a newer version from https://nodejs.org and run the command again.',
	);
	process.exit(1);
}

function readPackages(file) {
	try {
		return JSON.parse(readFileSync(join(root, file), 'utf8')).packages;
	} catch {
		return undefined;
	}
}

/**
 * Whether node_modules is what the lock file says. npm itself keeps the record to compare with, and
 * writes it last: an installation that was cut off has none.
 */
function isInstalled() {
	const wanted = readPackages('package-lock.json');
	const installed = readPackages('node_modules/.package-lock.json');
	if (!wanted || !installed) return false;
	const same = (path) =>
		wanted[path]?.version === installed[path]?.version &&
		wanted[path]?.integrity === installed[path]?.integrity;
	return (
		Object.keys(installed).every((path) => path in wanted) &&
		Object.keys(wanted)
			// The root is no package of its own, and an optional one may be for another platform.
			.filter((path) => path !== '' && (!wanted[path].optional || path in installed))
			.every(same)
	);
}

async function install() {
	const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
	// Under `npm run …` the very same npm is used; by hand, the one in PATH.
	const npmCli = process.env.npm_execpath;
	const isNpmCli = /npm-cli\.[cm]?js$/.test(npmCli ?? '');
	const { status, error } = await runAloud(
		'Set-up: still installing',
		isNpmCli ? process.execPath : 'npm',
		isNpmCli ? [npmCli, ...args] : args,
		{ cwd: root, shell: !isNpmCli && process.platform === 'win32' },
	);
	if (error || status !== 0) {
		console.error(
			`Set-up: npm could not install the dependencies${error ? ` (${error.message})` : ''}. ` +
				'The message above says why; it needs a package registry within reach.',
		);
		process.exit(1);
	}
}

requireNode();
if (isInstalled()) {
	console.log('Set-up: dependencies are in place.');
} else {
	console.log('Set-up: installing the dependencies with npm ci (once, a minute or two) …');
	await install();
	console.log('Set-up: done.');
}
