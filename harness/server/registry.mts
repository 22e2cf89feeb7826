/** A registry of one's own on loopback, and an `npm` that makes an n8n server use it. */
import { type ChildProcess, execFile } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { promisify } from 'node:util';

import { endOf, startLogged } from '../child.mjs';
import { ensureRegistry } from '../install/install.mjs';
import { until } from '../wait-until.mjs';
import { freePort } from './ports.mjs';

const READY_S = 60;

/**
 * Starts verdaccio on an empty storage, without any other registry behind it.
 * @returns the registry; dispose of it after use
 */
export async function startRegistry(): Promise<Registry> {
	const { node, bin } = await ensureRegistry((line) => console.log(line));
	const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'media-gateway-registry-'));
	const port = await freePort();
	const config = {
		storage: path.join(folder, 'storage'),
		auth: { htpasswd: { file: path.join(folder, 'users'), max_users: -1 } },
		uplinks: {},
		packages: { '**': { access: '$all', publish: '$all', unpublish: '$all' } },
		log: { type: 'stdout', format: 'json', level: 'http' },
	};
	// JSON is YAML.
	const configFile = path.join(folder, 'config.yaml');
	fs.writeFileSync(configFile, JSON.stringify(config));
	const args = [bin, '--config', configFile, '--listen', `127.0.0.1:${port}`];
	const child = startLogged(path.join(folder, 'registry.log'), node, args, {
		cwd: folder,
		env: { PATH: process.env.PATH, HOME: folder },
	});
	const registry = new Registry(`http://127.0.0.1:${port}`, folder, child);
	try {
		const what = () => `verdaccio, which says ${registry.log.slice(-2_000)}`;
		await until(what, READY_S, async () => await registry.isReady());
		return registry;
	} catch (error) {
		await registry.dispose();
		throw error as Error;
	}
}

/** A running registry. Made by `startRegistry`. */
export class Registry {
	constructor(
		/** Address without a trailing slash. */
		readonly url: string,
		private readonly folder: string,
		private readonly child: ChildProcess,
	) {}

	/** What it has written so far: one JSON object for each request. */
	get log(): string {
		return fs.readFileSync(path.join(this.folder, 'registry.log'), 'utf8');
	}

	/** Whether it responds. */
	async isReady(): Promise<boolean> {
		const response = await fetch(`${this.url}/-/ping`).catch(() => undefined);
		return response?.ok ?? false;
	}

	/**
	 * Publishes a packed package with npm.
	 * @param tarball path of a .tgz
	 */
	async publish(tarball: string): Promise<void> {
		const settings = path.join(this.folder, 'npmrc');
		// npm wants a token, and the registry takes any.
		fs.writeFileSync(settings, `${this.url.replace('http:', '')}/:_authToken=any\n`);
		const flags = [
			`--registry=${this.url}`,
			`--userconfig=${settings}`,
			'--ignore-scripts',
			// It is made in GitHub Actions only.
			'--provenance=false',
			// What was never released has a version that npm calls a prerelease.
			'--tag=latest',
		];
		// Elsewhere than in the repository: its own settings are not meant for this.
		await promisify(execFile)('npm', ['publish', path.resolve(tarball), ...flags], {
			cwd: this.folder,
		});
	}

	/**
	 * A folder with an `npm` that asks this registry whatever `--registry` says, to stand first in
	 * the PATH of a server: n8n takes another registry than the public one only with a licence.
	 * @returns absolute path
	 */
	npmFolder(): string {
		const folder = path.join(this.folder, 'bin');
		fs.mkdirSync(folder, { recursive: true });
		const script = `#!/bin/sh
PATH=\${PATH#*:}
for argument do
	shift
	case "$argument" in
		--registry=*) ;;
		*) set -- "$@" "$argument" ;;
	esac
done
exec npm "$@" --registry=${this.url}
`;
		fs.writeFileSync(path.join(folder, 'npm'), script, { mode: 0o755 });
		return folder;
	}

	/** Ends it and deletes what it holds. */
	async dispose(): Promise<void> {
		this.child.kill('SIGKILL');
		await endOf(this.child);
		fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
	}
}
