/** The process of one n8n server: its environment, its log, its end, and its memory. */
import type { ChildProcess } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';

import type { ServerInstall, ServerVersion } from '../install/install.mjs';
import { endOf, endWithin, kill, startLogged } from '../child.mjs';
import { until } from '../wait-until.mjs';

export interface Memory {
	/** Bytes, after two forced garbage collections. */
	rss: number;
	heapUsed: number;
	heapTotal: number;
	external: number;
	arrayBuffers: number;
}

/** n8n refuses to start if it is told to leave out a module that it does not know. */
const ENVIRONMENT_BY_VERSION: Record<ServerVersion, Record<string, string>> = {
	'1': { N8N_EXPRESSION_ENGINE: 'legacy' },
	// With otel, n8n 2.41.1 fails executions that it resumes before that module is ready;
	// with instance-ai, its editor opens the set-up of an assistant in place of the workflows.
	'2': { N8N_DISABLED_MODULES: 'mcp-registry,otel,instance-ai' },
};
/**
 * Loaded into the server before n8n. It writes memory figures to a file when asked by signal, and
 * ends the server and its task runner when the tests have died without stopping it: exit handlers
 * do not run in jest's sandbox, nor after a SIGKILL. MEDIA_GATEWAY_MINUTE_MS shortens what n8n does
 * once a minute, such as to look for due executions.
 */
const PRELOAD = `const fs = require('node:fs');
process.on('SIGUSR2', () => {
	gc();
	setImmediate(() => {
		gc();
		const file = process.env.MEDIA_GATEWAY_PROBE;
		fs.writeFileSync(file + '.new', JSON.stringify(process.memoryUsage()));
		fs.renameSync(file + '.new', file);
	});
});
const parent = process.ppid;
setInterval(() => {
	if (process.ppid !== parent) process.kill(-process.pid, 'SIGKILL');
}, 2000).unref();
const minute = Number(process.env.MEDIA_GATEWAY_MINUTE_MS);
if (minute) {
	const every = setInterval;
	globalThis.setInterval = (run, ms, ...more) => every(run, ms === 60000 ? minute : ms, ...more);
}
`;

/** n8n looks for due executions every five seconds, instead of once a minute. */
export const SHORT_MINUTE = { MEDIA_GATEWAY_MINUTE_MS: '5000' };

export interface ProcessOptions {
	/** Environment on top of the quiet one; `undefined` removes a variable. */
	env?: Record<string, string | undefined>;
	/** A folder that nodes may read and write besides n8n's own one. */
	filesFolder?: string;
	/** A folder to stand first in the server's PATH, such as one with an `npm` of the tests. */
	pathFirst?: string;
	/** n8n's command. Default `start`; `worker` has no REST, so no owner is set up. */
	command?: 'start' | 'worker';
}

export class ServerProcess {
	private child: ChildProcess | undefined;
	private exit: Promise<string> | undefined;
	private readonly logFile: string;
	private readonly probeFile: string;

	constructor(
		private readonly install: ServerInstall,
		private readonly userFolder: string,
		private readonly options: ProcessOptions,
		private readonly ports: { main: number; broker: number },
	) {
		this.logFile = path.join(userFolder, 'server.log');
		this.probeFile = path.join(userFolder, 'memory.json');
	}

	get runs(): boolean {
		return this.child !== undefined;
	}

	/** Id of the main process. */
	get pid(): number {
		if (!this.child?.pid) throw new Error('The server does not run');
		return this.child.pid;
	}

	/** What the server has written so far, over all its starts. */
	get logs(): string {
		return fs.existsSync(this.logFile) ? fs.readFileSync(this.logFile, 'utf8') : '';
	}

	get lastLines(): string {
		return this.logs.trim().split('\n').slice(-20).join('\n');
	}

	/** Starts the process on its user folder. It is not ready when this comes back. */
	start(): void {
		if (this.child) throw new Error('The server runs already');
		const preload = path.join(this.userFolder, 'preload.cjs');
		fs.writeFileSync(preload, PRELOAD);
		const { bin, node } = this.install;
		const args = ['--expose-gc', '--require', preload, bin, this.options.command ?? 'start'];
		const child = startLogged(this.logFile, node, args, {
			cwd: this.userFolder,
			env: this.environment(),
			// A group of its own, so that the task runner goes with it.
			detached: true,
		});
		this.child = child;
		this.exit = endOf(child).then((end) => {
			if (this.child === child) this.child = undefined;
			// Its task runner outlives a SIGKILL.
			kill(-child.pid!, 'SIGKILL');
			return typeof end === 'number' ? `exit code ${end}` : end;
		});
	}

	/** Waits until the process that was started last has ended. @returns its signal or exit code */
	async ended(): Promise<string> {
		if (!this.exit) throw new Error('The server was never started');
		return await this.exit;
	}

	/**
	 * Ends the process with its task runner. The user folder stays.
	 * @param signal SIGTERM (orderly, default) or SIGKILL (a crash)
	 */
	async stop(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
		const { child } = this;
		if (!child?.pid) return;
		kill(signal === 'SIGKILL' ? -child.pid : child.pid, signal);
		await endWithin(child, 35_000, true);
		await this.ended();
	}

	/**
	 * The server's memory after garbage collection.
	 * @returns bytes, by kind
	 */
	async memory(): Promise<Memory> {
		fs.rmSync(this.probeFile, { force: true });
		process.kill(this.pid, 'SIGUSR2');
		await until("the server's figures", 10, () => fs.existsSync(this.probeFile));
		return JSON.parse(fs.readFileSync(this.probeFile, 'utf8')) as Memory;
	}

	/** Only what is named here reaches the server: no setting of the caller changes a test. */
	private environment(): NodeJS.ProcessEnv {
		const { pathFirst } = this.options;
		const node = path.dirname(this.install.node);
		const env: NodeJS.ProcessEnv = {
			PATH: [...(pathFirst ? [pathFirst] : []), node, process.env.PATH ?? ''].join(path.delimiter),
			HOME: this.userFolder,
			LANG: process.env.LANG,
			TMPDIR: process.env.TMPDIR,
			NODE_ENV: 'production',
			GENERIC_TIMEZONE: 'UTC',
			DB_SQLITE_POOL_SIZE: '2',
			MEDIA_GATEWAY_PROBE: this.probeFile,
			N8N_BLOCK_ENV_ACCESS_IN_NODE: 'true',
			N8N_DIAGNOSTICS_ENABLED: 'false',
			N8N_DYNAMIC_BANNERS_ENABLED: 'false',
			N8N_ENCRYPTION_KEY: 'media-gateway-tests',
			N8N_ENFORCE_SETTINGS_FILE_PERMISSIONS: 'true',
			N8N_GIT_NODE_DISABLE_BARE_REPOS: 'true',
			N8N_LISTEN_ADDRESS: '127.0.0.1',
			N8N_PERSONALIZATION_ENABLED: 'false',
			N8N_PORT: String(this.ports.main),
			N8N_RUNNERS_BROKER_PORT: String(this.ports.broker),
			N8N_RUNNERS_ENABLED: 'true',
			N8N_SECURE_COOKIE: 'false',
			N8N_TEMPLATES_ENABLED: 'false',
			N8N_USER_FOLDER: this.userFolder,
			N8N_VERSION_NOTIFICATIONS_ENABLED: 'false',
			QUEUE_HEALTH_CHECK_PORT: String(this.ports.main),
			N8N_RESTRICT_FILE_ACCESS_TO: this.filesFolders(),
			...ENVIRONMENT_BY_VERSION[this.install.version],
			...this.options.env,
		};
		for (const name of Object.keys(env)) if (env[name] === undefined) delete env[name];
		return env;
	}

	/** The folders that nodes may use: naming one replaces n8n's own. */
	private filesFolders(): string | undefined {
		const { filesFolder } = this.options;
		const own = path.join(this.userFolder, '.n8n-files');
		fs.mkdirSync(own, { recursive: true });
		return filesFolder === undefined ? undefined : [own, filesFolder].join(';');
	}
}
