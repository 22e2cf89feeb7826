import * as fs from 'node:fs';
import * as path from 'node:path';

import { endOf, startLogged } from '../child.mjs';

/** Milliseconds after which an installation is given up. */
export const INSTALL_LIMIT_MS = 30 * 60_000;
export const NPM_FLAGS = [
	'--ignore-scripts',
	'--omit-lockfile-registry-resolved',
	'--no-audit',
	'--no-fund',
	'--no-update-notifier',
	// A line for each file, so that the log shows how far it is.
	'--loglevel=http',
];
const REPOSITORY_SETTINGS =
	/^npm_(package|lifecycle|config_(dry_run|global|ignore_scripts|include|legacy_peer_deps|local_prefix|omit))/i;

/** Runs npm in `cwd` with `node` first in PATH, so that scripts and native builds use it too. */
export async function npm(args: string[], cwd: string, node: string, log: string): Promise<void> {
	const env: NodeJS.ProcessEnv = { ...process.env };
	// An outer `npm run` hands down the settings of this repository; the registry's it may keep.
	for (const name of Object.keys(env)) if (REPOSITORY_SETTINGS.test(name)) delete env[name];
	env.PATH = `${path.dirname(node)}${path.delimiter}${process.env.PATH ?? ''}`;
	const home = path.dirname(path.dirname(node));
	// Node's headers beside the binary spare node-gyp a download.
	if (fs.existsSync(path.join(home, 'include', 'node', 'node_api.h')))
		env.npm_config_nodedir = home;

	const shell = process.platform === 'win32';
	const timeout = INSTALL_LIMIT_MS;
	const code = await endOf(startLogged(log, 'npm', args, { cwd, env, timeout, shell }));
	if (code !== 0) {
		const lines = fs.readFileSync(log, 'utf8').trim().split('\n');
		const said = lines.filter((line) => !line.includes(' http '));
		const tail = said.slice(-15).join('\n');
		throw new Error(`npm ${args[0]} ended with ${code} in ${cwd}\n${tail}`);
	}
}
