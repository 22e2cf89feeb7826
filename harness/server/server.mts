/**
 * One real n8n server in a process of its own: started with a packed package as n8n installs it,
 * driven over REST as the editor does, killed and started again on the same data.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import * as net from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import { ensureServer, type ServerInstall, type ServerVersion } from './install.mjs';

/** Anything that JSON holds; callers narrow what they read. */
export type Json = any;

export interface ServerOptions {
	/** '2' is the newest n8n on Node 24, '1' the oldest supported on Node 20. Default '2'. */
	version?: ServerVersion;
	/** Path of a packed .tgz, put into the user folder as n8n's own installation does. */
	package?: string;
	/** Environment on top of the quiet one; `undefined` removes a variable. */
	env?: Record<string, string | undefined>;
	/** A folder to stand first in the server's PATH, such as one with an `npm` of the tests. */
	pathFirst?: string;
	/** Port of the server on 127.0.0.1. Default: an unused one. */
	port?: number;
	/** An existing user folder to go on with. Default: a new temporary one. */
	userFolder?: string;
	/** n8n's command. Default `start`; `worker` has no REST, so no owner is set up. */
	command?: 'start' | 'worker';
	/** Milliseconds until the server must be ready. Default 120 000. */
	readyWithinMs?: number;
}

export interface RestOptions {
	/** Query parameters; objects are sent as JSON. */
	query?: Record<string, unknown>;
	/** Further headers, such as `push-ref`. */
	headers?: Record<string, string>;
}

export interface WebhookOptions {
	/** Default POST if there is a body, else GET. */
	method?: string;
	headers?: Record<string, string>;
	/** `webhook` (active workflow, default) or `webhook-test`. */
	kind?: 'webhook' | 'webhook-test';
	/** Milliseconds for which a 404 is asked again: activation takes a moment. Default 5 000. */
	registeredWithinMs?: number;
	/** Milliseconds for the answer. Default 300 000. */
	timeoutMs?: number;
}

export interface WebhookAnswer {
	status: number;
	headers: Headers;
	/** Parsed if the answer is JSON, else text. */
	body: Json;
	/** The bytes as they came. */
	raw: Buffer;
}

export interface Execution {
	id: string;
	status: string;
	finished: boolean;
	mode: string;
	workflowId: string;
	startedAt: string;
	stoppedAt: string | null;
	waitTill: string | null;
	/** n8n's run data, un-flatted: `data.resultData.runData[nodeName][run]`. */
	data: Json;
	[key: string]: Json;
}

export interface Memory {
	/** Bytes, after two forced garbage collections. */
	rss: number;
	heapUsed: number;
	heapTotal: number;
	external: number;
	arrayBuffers: number;
}

/** Statuses of an execution that will not change any more. */
const SETTLED = new Set(['success', 'error', 'crashed', 'canceled']);
/** n8n refuses to start if it is told to leave out a module that it does not know. */
const ENVIRONMENT_BY_VERSION: Record<ServerVersion, Record<string, string>> = {
	'1': { N8N_EXPRESSION_ENGINE: 'legacy' },
	'2': { N8N_DISABLED_MODULES: 'mcp-registry' },
};
const PASSWORD = 'Media-Gateway-1';
const OWNER = { email: 'owner@example.com', firstName: 'Test', lastName: 'Owner' };
/**
 * Loaded into the server before n8n. It writes memory figures to a file when asked by signal, and
 * ends the server and its task runner when the tests have died without stopping it: exit handlers
 * do not run in jest's sandbox, nor after a SIGKILL.
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
`;

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
	await promisify(execFile)('tar', [
		'-xzf',
		path.resolve(tarball),
		'-C',
		unpacked,
		'--strip-components=1',
	]);
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
 * An unused port of 127.0.0.1.
 * @returns port number
 */
export async function freePort(): Promise<number> {
	const probe = net.createServer();
	await new Promise<void>((resolve, reject) => {
		probe.once('error', reject);
		probe.listen(0, '127.0.0.1', resolve);
	});
	const { port } = probe.address() as net.AddressInfo;
	await new Promise((resolve) => probe.close(resolve));
	return port;
}

/** A running server. Made by `startServer`. */
export class N8nServer {
	/** Address without a trailing slash. */
	readonly url: string;
	/** The session's cookie, `n8n-auth=…`; the editor uses the same session. */
	cookie = '';
	/** n8n ties a session to this value. */
	readonly browserId = randomBytes(16).toString('hex');
	/** Credentials of the owner, for a sign-in by hand. */
	readonly owner = { email: OWNER.email, password: PASSWORD };

	private child: ChildProcess | undefined;
	private readonly logFile: string;
	private readonly probeFile: string;

	constructor(
		readonly install: ServerInstall,
		readonly userFolder: string,
		private readonly options: ServerOptions,
		private readonly ports: { main: number; broker: number },
	) {
		this.url = `http://127.0.0.1:${ports.main}`;
		this.logFile = path.join(userFolder, 'server.log');
		this.probeFile = path.join(userFolder, 'memory.json');
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

	/** Starts the process on its user folder and waits until it is ready and logged in. */
	async start(): Promise<void> {
		if (this.child) throw new Error('The server runs already');
		const preload = path.join(this.userFolder, 'preload.cjs');
		fs.writeFileSync(preload, PRELOAD);
		const log = fs.openSync(this.logFile, 'a');
		const child = spawn(
			this.install.node,
			['--expose-gc', '--require', preload, this.install.bin, this.options.command ?? 'start'],
			{
				cwd: this.userFolder,
				env: this.environment(),
				stdio: ['ignore', log, log],
				// A group of its own, so that the task runner goes with it.
				detached: true,
			},
		);
		fs.closeSync(log);
		this.child = child;
		child.once('exit', () => {
			if (this.child === child) this.child = undefined;
		});
		await this.ready();
		if (this.hasRest) await this.login();
	}

	/**
	 * Ends the process and, after a SIGKILL too, its task runner. The user folder stays.
	 * @param signal SIGTERM (orderly, default) or SIGKILL (a crash)
	 */
	async stop(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
		const { child } = this;
		if (!child?.pid) return;
		const group = -child.pid;
		const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
		if (signal === 'SIGKILL') killQuietly(group, signal);
		else killQuietly(child.pid, signal);
		const late = sleep(35_000, 'late', { ref: false });
		if ((await Promise.race([ended, late])) === 'late') killQuietly(group, 'SIGKILL');
		await ended;
		killQuietly(group, 'SIGKILL');
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
	 * One request to n8n's internal REST interface, as the editor sends it.
	 * @param method HTTP method
	 * @param restPath path below `/rest`, such as `/workflows`
	 * @param body sent as JSON if it is given
	 * @returns what stands under `data` of the answer; throws with status and text if it is no 2xx
	 */
	async rest(
		method: string,
		restPath: string,
		body?: unknown,
		options: RestOptions = {},
	): Promise<Json> {
		const url = new URL(`${this.url}/rest${restPath}`);
		for (const [name, value] of Object.entries(options.query ?? {})) {
			url.searchParams.set(name, typeof value === 'string' ? value : JSON.stringify(value));
		}
		const response = await fetch(url, {
			method,
			headers: {
				'browser-id': this.browserId,
				cookie: this.cookie,
				...(body === undefined ? {} : { 'content-type': 'application/json' }),
				...options.headers,
			},
			body: body === undefined ? undefined : JSON.stringify(body),
			signal: AbortSignal.timeout(120_000),
		});
		const text = await response.text();
		if (!response.ok) {
			throw new Error(
				`${method} /rest${restPath} answered ${response.status}: ${text.slice(0, 2_000)}`,
			);
		}
		const session = response.headers.getSetCookie().find((entry) => entry.startsWith('n8n-auth='));
		if (session) this.cookie = session.split(';')[0] ?? '';
		if (!text) return undefined;
		const parsed = parseJson(text);
		return parsed?.data ?? parsed;
	}

	/**
	 * Stores a credential.
	 * @param credential its type (such as `mediaGatewayApi`), data, and name if it matters
	 * @returns the stored credential; `{ [type]: { id, name } }` of it goes into a node
	 */
	async createCredential(credential: {
		type: string;
		data: Record<string, unknown>;
		name?: string;
	}): Promise<{ id: string; name: string; type: string }> {
		return await this.rest('POST', '/credentials', {
			name: credential.name ?? credential.type,
			type: credential.type,
			data: credential.data,
		});
	}

	/**
	 * Stores a credential for a gateway.
	 * @returns it as a node names it
	 */
	async storeAccount(
		baseUrl: string,
		apiKey: string | undefined,
	): Promise<{ mediaGatewayApi: { id: string; name: string } }> {
		const { id, name } = await this.createCredential({
			type: 'mediaGatewayApi',
			name: 'Media Gateway account',
			data: { baseUrl, apiKey },
		});
		return { mediaGatewayApi: { id, name } };
	}

	/**
	 * Runs the test of a stored credential, as the editor's button does.
	 * @param credential what createCredential gave back, with the data
	 * @returns `{ status: 'OK' | 'Error', message }`
	 */
	async testCredential(credential: {
		id: string;
		name: string;
		type: string;
		data: Record<string, unknown>;
	}): Promise<{ status: 'OK' | 'Error'; message: string }> {
		return await this.rest('POST', '/credentials/test', { credentials: credential });
	}

	/**
	 * Stores a workflow.
	 * @param workflow exported JSON: nodes and connections are enough
	 * @returns the stored workflow with id and versionId
	 */
	async createWorkflow(workflow: {
		name?: string;
		nodes: Json[];
		connections: Json;
		settings?: Json;
		[key: string]: Json;
	}): Promise<{ id: string; versionId: string; name: string; [key: string]: Json }> {
		const { id: _id, active: _active, versionId: _versionId, ...rest } = workflow;
		return await this.rest('POST', '/workflows', {
			...rest,
			name: workflow.name ?? 'Test',
			settings: workflow.settings ?? {},
			active: false,
		});
	}

	/**
	 * Activates (n8n 2: publishes) a workflow in its present version.
	 * @param id the workflow's id
	 */
	async activate(id: string): Promise<void> {
		const { versionId } = await this.rest('GET', `/workflows/${id}`);
		if (this.install.version === '1') {
			await this.rest('PATCH', `/workflows/${id}`, { active: true, versionId });
		} else {
			await this.rest('POST', `/workflows/${id}/activate`, { versionId });
		}
	}

	/**
	 * Takes a workflow out of service.
	 * @param id the workflow's id
	 */
	async deactivate(id: string): Promise<void> {
		if (this.install.version === '1') {
			const { versionId } = await this.rest('GET', `/workflows/${id}`);
			await this.rest('PATCH', `/workflows/${id}`, { active: false, versionId });
		} else {
			await this.rest('POST', `/workflows/${id}/deactivate`, {});
		}
	}

	/**
	 * Calls a webhook of an active workflow.
	 * @param webhookPath path as in the Webhook node
	 * @param body sent as JSON; left out: a GET
	 * @returns status, headers and body, whatever the status is
	 */
	async runWebhook(
		webhookPath: string,
		body?: unknown,
		options: WebhookOptions = {},
	): Promise<WebhookAnswer> {
		const url = `${this.url}/${options.kind ?? 'webhook'}/${webhookPath.replace(/^\//, '')}`;
		const deadline = Date.now() + (options.registeredWithinMs ?? 5_000);
		for (;;) {
			const response = await fetch(url, {
				method: options.method ?? (body === undefined ? 'GET' : 'POST'),
				headers: {
					...(body === undefined ? {} : { 'content-type': 'application/json' }),
					...options.headers,
				},
				body: body === undefined ? undefined : JSON.stringify(body),
				signal: AbortSignal.timeout(options.timeoutMs ?? 300_000),
			});
			const raw = Buffer.from(await response.arrayBuffer());
			const isJson = response.headers.get('content-type')?.includes('json') ?? false;
			const text = raw.toString('utf8');
			if (response.status === 404 && text.includes('not registered') && Date.now() < deadline) {
				await sleep(100);
				continue;
			}
			return {
				status: response.status,
				headers: response.headers,
				body: isJson ? parseJson(text) : text,
				raw,
			};
		}
	}

	/**
	 * Runs a stored workflow as the editor's button does.
	 * @param id the workflow's id
	 * @param triggerName the trigger to start from. Default: the first Manual Trigger
	 * @returns the execution's id
	 */
	async runManually(id: string, triggerName?: string): Promise<string> {
		const workflowData = await this.rest('GET', `/workflows/${id}`);
		const name =
			triggerName ??
			workflowData.nodes.find((node: Json) => node.type === 'n8n-nodes-base.manualTrigger')?.name;
		if (!name) throw new Error(`Workflow ${id} has no Manual Trigger: name a trigger`);
		const { executionId } = await this.rest(
			'POST',
			`/workflows/${id}/run`,
			{ workflowData, triggerToStartFrom: { name } },
			{ headers: { 'push-ref': this.browserId } },
		);
		if (!executionId) throw new Error(`The trigger "${name}" waits for an event of its own`);
		return String(executionId);
	}

	/**
	 * The stored executions, newest first.
	 * @param filter such as `{ workflowId, status: ['error'] }`
	 * @returns up to 100 of them, without their data
	 */
	async executions(filter: Record<string, unknown> = {}): Promise<Execution[]> {
		const { results } = await this.rest('GET', '/executions', undefined, {
			query: { filter, limit: '100' },
		});
		return results;
	}

	/**
	 * One stored execution.
	 * @param id its id
	 * @returns the execution with its data as an object (n8n sends it flatted)
	 */
	async execution(id: string): Promise<Execution> {
		const execution = await this.rest('GET', `/executions/${id}`);
		if (typeof execution.data === 'string') {
			// The server's own copy: the format is the server's.
			const { parse } = createRequire(this.install.bin)('flatted') as typeof JSON;
			execution.data = parse(execution.data);
		}
		return execution;
	}

	/**
	 * Waits until an execution is over.
	 * @param id its id
	 * @param withinMs milliseconds; throws when they have passed. Default 120 000
	 * @returns the execution with its data
	 */
	async settled(id: string, withinMs = 120_000): Promise<Execution> {
		return await this.until(id, (status) => SETTLED.has(status), withinMs);
	}

	/**
	 * Waits until an execution has one of the given statuses.
	 * @param id its id
	 * @param is the test of its status, such as 'waiting'
	 * @param withinMs milliseconds; throws when they have passed. Default 120 000
	 * @returns the execution with its data
	 */
	async until(id: string, is: (status: string) => boolean, withinMs = 120_000): Promise<Execution> {
		for (const deadline = Date.now() + withinMs; ; await sleep(200)) {
			const execution = await this.execution(id);
			if (is(execution.status)) return execution;
			if (Date.now() > deadline) {
				throw new Error(`Execution ${id} is still ${execution.status} after ${withinMs} ms`);
			}
		}
	}

	/**
	 * One stored binary file, as the editor fetches it.
	 * @param binary an entry of an item's `binary`, stored in the execution or by id
	 * @returns its bytes
	 */
	async binary(binary: { id?: string; data: string }): Promise<Buffer> {
		if (!binary.id) return Buffer.from(binary.data, 'base64');
		const url = `${this.url}/rest/binary-data?action=download&id=${encodeURIComponent(binary.id)}`;
		const response = await fetch(url, {
			headers: { 'browser-id': this.browserId, cookie: this.cookie },
		});
		if (!response.ok) throw new Error(`Binary ${binary.id} answered ${response.status}`);
		return Buffer.from(await response.arrayBuffer());
	}

	/**
	 * The server's memory after garbage collection.
	 * @returns bytes, by kind
	 */
	async memory(): Promise<Memory> {
		fs.rmSync(this.probeFile, { force: true });
		process.kill(this.pid, 'SIGUSR2');
		for (const deadline = Date.now() + 10_000; Date.now() < deadline; await sleep(50)) {
			if (fs.existsSync(this.probeFile)) {
				return JSON.parse(fs.readFileSync(this.probeFile, 'utf8')) as Memory;
			}
		}
		throw new Error('The server did not answer the question about its memory');
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
			...ENVIRONMENT_BY_VERSION[this.install.version],
			...this.options.env,
		};
		for (const name of Object.keys(env)) if (env[name] === undefined) delete env[name];
		return env;
	}

	private async ready(): Promise<void> {
		const withinMs = this.options.readyWithinMs ?? 120_000;
		for (const deadline = Date.now() + withinMs; Date.now() < deadline; await sleep(200)) {
			if (!this.child) throw new Error(`n8n ended while starting\n${this.lastLines()}`);
			try {
				// While it starts, every address answers 200 with a text.
				if ((await this.peek('/healthz/readiness'))?.status !== 'ok') continue;
				// n8n 1.x calls itself ready a moment before REST is there; a worker has none.
				if (!this.hasRest || (await this.peek('/rest/settings'))?.data) return;
			} catch {
				// Not listening yet.
			}
		}
		await this.stop('SIGKILL');
		throw new Error(`n8n was not ready within ${withinMs} ms\n${this.lastLines()}`);
	}

	private get hasRest(): boolean {
		return (this.options.command ?? 'start') === 'start';
	}

	private async peek(address: string): Promise<Json> {
		const response = await fetch(this.url + address, { signal: AbortSignal.timeout(5_000) });
		return response.ok ? parseJson(await response.text()) : undefined;
	}

	/** Sets the owner up on an empty database, and logs in unless the session still holds. */
	private async login(): Promise<void> {
		const settings = await this.rest('GET', '/settings');
		if (settings.userManagement?.showSetupOnFirstLoad) {
			await this.rest('POST', '/owner/setup', { ...OWNER, password: PASSWORD });
		}
		if (this.cookie) {
			const session = await this.rest('GET', '/login').catch(() => undefined);
			if (session?.id) return;
		}
		await this.rest('POST', '/login', { emailOrLdapLoginId: OWNER.email, password: PASSWORD });
	}

	private lastLines(): string {
		return this.logs.trim().split('\n').slice(-20).join('\n');
	}
}

function parseJson(text: string): Json {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

function killQuietly(pid: number, signal: NodeJS.Signals): void {
	try {
		process.kill(pid, signal);
	} catch {
		// It has ended by itself.
	}
}
