/**
 * One real n8n server in a process of its own: started with a packed package as n8n installs it,
 * driven over REST as the editor does, killed and started again on the same data.
 */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

import { ensureServer, type ServerInstall, type ServerVersion } from '../install/install.mjs';
import { until } from '../wait-until.mjs';
import { installPackage } from './packed-package.mjs';
import { freePort } from './ports.mjs';
import { RestClient } from './rest-client.mjs';
import { ServerProcess, type Memory, type ProcessOptions } from './server-process.mjs';

export type { Execution } from './rest-client.mjs';
export type { Json } from './rest-session.mjs';
export { SHORT_MINUTE, type Memory } from './server-process.mjs';

export interface ServerOptions extends ProcessOptions {
	/** '2' is the newest n8n on Node 24, '1' the oldest supported on Node 20. Default '2'. */
	version?: ServerVersion;
	/** Path of a packed .tgz, put into the user folder as n8n's own installation does. */
	package?: string;
	/** Port of the server on 127.0.0.1. Default: an unused one. */
	port?: number;
	/** An existing user folder to go on with. Default: a new temporary one. */
	userFolder?: string;
	/** Milliseconds until the server must be ready. Default 300 000: machines can be busy. */
	readyWithinMs?: number;
}

/**
 * Starts an n8n server (installing it first if it is not there), sets up its owner and logs in.
 * @param options see ServerOptions
 * @returns the server, ready for requests
 */
export async function startServer(options: ServerOptions = {}): Promise<N8nServer> {
	const install = await ensureServer(options.version ?? '2', (line) => console.log(line));
	const userFolder =
		options.userFolder ?? fs.mkdtempSync(path.join(os.tmpdir(), 'media-gateway-server-'));
	if (options.package) await installPackage(options.package, userFolder);
	const server = new N8nServer(install, userFolder, options, {
		main: options.port ?? (await freePort()),
		broker: await freePort(),
	});
	try {
		await server.start();
	} catch (error) {
		if (!options.userFolder) await server.dispose();
		throw error;
	}
	return server;
}

/** A running server. Made by `startServer`. */
export class N8nServer extends RestClient {
	private readonly process: ServerProcess;

	constructor(
		install: ServerInstall,
		readonly userFolder: string,
		private readonly options: ServerOptions,
		ports: { main: number; broker: number },
	) {
		super(`http://127.0.0.1:${ports.main}`, install);
		this.process = new ServerProcess(install, userFolder, options, ports);
	}

	/** Id of the main process. */
	get pid(): number {
		return this.process.pid;
	}

	/** Whether its process is there. */
	get runs(): boolean {
		return this.process.runs;
	}

	/** What the server has written so far, over all its starts. */
	get logs(): string {
		return this.process.logs;
	}

	/** Starts the process on its user folder and waits until it is ready and logged in. */
	async start(): Promise<void> {
		this.process.start();
		await this.ready();
		if (this.hasRest) await this.login();
	}

	/** Waits until the process has ended, asked to or not. @returns its signal or exit code */
	async ended(): Promise<string> {
		return await this.process.ended();
	}

	/** Ends the process; see `ServerProcess`. The user folder stays. */
	async stop(signal?: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): Promise<void> {
		await this.process.stop(signal);
	}

	/**
	 * Stops the process if it runs and starts it anew on the same folder and ports.
	 * @param signal how to stop it; see stop
	 */
	async restart(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
		await this.stop(signal);
		await this.start();
	}

	/** Stops the server and deletes its user folder (unless MEDIA_GATEWAY_TEST_KEEP is set). */
	async dispose(): Promise<void> {
		await this.stop();
		if (process.env.MEDIA_GATEWAY_TEST_KEEP) return;
		fs.rmSync(this.userFolder, { recursive: true, force: true, maxRetries: 5 });
	}

	/**
	 * The server's memory after garbage collection.
	 * @returns bytes, by kind
	 */
	async memory(): Promise<Memory> {
		return await this.process.memory();
	}

	private async ready(): Promise<void> {
		const isReady = async () =>
			// While it starts, every address responds with 200 and a text.
			(await this.peek('/healthz/readiness'))?.status === 'ok' &&
			// n8n 1.x calls itself ready a moment before REST is there; a worker has none.
			(!this.hasRest || (await this.peek('/rest/settings'))?.data !== undefined);
		const look = async () => {
			if (!this.process.runs) throw new Error('n8n ended while starting');
			// Not listening yet.
			return await isReady().catch(() => false);
		};
		try {
			await until('n8n is ready', (this.options.readyWithinMs ?? 300_000) / 1000, look, 200);
		} catch (error) {
			await this.stop('SIGKILL');
			throw new Error(`${(error as Error).message}\n${this.process.lastLines}`);
		}
	}

	private get hasRest(): boolean {
		return (this.options.command ?? 'start') === 'start';
	}
}
