/**
 * A real n8n to look around in: with this package packed and installed, a gateway, a credential and
 * the examples. It runs until Ctrl-C; what was made in it is gone then.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Progress } from '../demo/demo-progress.mjs';
import { openTarget, type Target } from '../demo/target.mjs';
import { giveTable } from '../harness/server/data-table.mjs';
import {
	exampleNames,
	readExample,
	USUAL_GATEWAY_PORT,
} from '../harness/server/example-workflows.mjs';
import { ensureServer, type ServerVersion } from '../harness/install/install.mjs';
import { packPackage } from '../harness/server/packed-package.mjs';
import { freePort, isFree } from '../harness/server/ports.mjs';
import { startQueue, whyNoQueue } from '../harness/server/queue-mode.mjs';
import { startServer, type N8nServer, type ServerOptions } from '../harness/server/server.mjs';
import type { GatewayOptions } from '../simulator/gateway.mjs';

const help = `Starts n8n with this package, a gateway, a credential and the examples, until Ctrl-C.

  npm run editor -- [options]

  --n8n 1|2     which n8n: 2 is the newest (default), 1 the oldest that is supported
  --port N      port of the editor (default 5678, or a free one if it is taken)
  --queue N     queue mode with N workers: needs Redis and PostgreSQL, which it starts by itself
  --files PATH  folder that n8n may write to, which stays (default: files, in this folder)
  --requests-per-second N
                rate limit of the embedded gateway: more get status 429
  --help        this text

The first start installs n8n into a cache folder: some minutes and two gigabytes.
The gateway is the embedded one, or the one that MEDIA_GATEWAY_URL and MEDIA_GATEWAY_KEY name.
`;

const DEFAULT_PORT = 5678;
/** The table of the example "Images for a spreadsheet". */
const PRODUCTS =
	'sku,prompt\nA-100,"A brass desk lamp, product photo"\nA-101,"A blue enamel teapot, product photo"\n';
/** An n8n that ends again and again has a reason of its own. */
const MAX_RESTARTS = 20;
/** Each worker takes half a gigabyte. */
const MOST_WORKERS = 10;

async function choosePort(wanted: string | undefined): Promise<number> {
	if (wanted !== undefined) {
		const port = Number(wanted);
		if (!Number.isInteger(port) || port < 1 || port > 65_535) {
			throw new Error(`--port takes a number from 1 to 65535, not ${wanted}`);
		}
		if (!(await isFree(port))) throw new Error(`Port ${port} is taken: choose another --port`);
		return port;
	}
	return await freePort(DEFAULT_PORT);
}

/** The rate limit of the embedded gateway, as an option of it. */
function chooseLimit(wanted: string | undefined): GatewayOptions {
	if (wanted === undefined) return {};
	if (process.env.MEDIA_GATEWAY_URL) {
		throw new Error('--requests-per-second limits the embedded gateway: unset MEDIA_GATEWAY_URL');
	}
	const requestsPerSecond = Number(wanted);
	if (!(requestsPerSecond > 0)) {
		throw new Error(`--requests-per-second takes a number above 0, not ${wanted}`);
	}
	return { requestsPerSecond };
}

/** The number of workers in queue mode; 0 without it. */
function chooseWorkers(wanted: string | undefined): number {
	if (wanted === undefined) return 0;
	const workers = Number(wanted);
	if (!Number.isInteger(workers) || workers < 1 || workers > MOST_WORKERS) {
		throw new Error(`--queue takes a number of workers from 1 to ${MOST_WORKERS}, not ${wanted}`);
	}
	const why = whyNoQueue();
	if (why !== undefined) throw new Error(why);
	return workers;
}

/** The newest n8n that this computer can run, unless one was asked for. */
async function chooseVersion(
	wanted: string | undefined,
	progress: Progress,
): Promise<ServerVersion> {
	if (wanted !== undefined && wanted !== '1' && wanted !== '2') {
		throw new Error(`--n8n takes 1 or 2, not ${wanted}`);
	}
	const version = wanted ?? '2';
	const say = (line: string) => {
		progress.note(line);
		progress.update(line.split(' (')[0]!);
	};
	try {
		await ensureServer(version, say);
		return version;
	} catch (error) {
		if (wanted !== undefined) throw error;
		progress.note(`${(error as Error).message}\nTrying n8n 1.x instead.`);
		await ensureServer('1', say);
		return '1';
	}
}

async function main(): Promise<void> {
	const { values } = parseArgs({
		options: {
			n8n: { type: 'string' },
			port: { type: 'string' },
			queue: { type: 'string' },
			files: { type: 'string' },
			'requests-per-second': { type: 'string' },
			help: { type: 'boolean' },
		},
	});
	if (values.help) {
		process.stdout.write(help);
		return;
	}
	const ended = new Promise<void>((resolve) => {
		for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
	});
	const progress = new Progress();
	const started = await start(values, progress).catch((error: Error) => {
		progress.end();
		throw error;
	});
	const { servers, target } = started;
	try {
		progress.update('Storing the examples');
		const lines = await furnish(started).finally(() => progress.end());
		console.log([...lines, '', 'Press Ctrl-C to end it; what you made is gone then.'].join('\n'));
		await Promise.race(servers.map(async (server) => await keepRunning(server, ended)));
		console.log('\nStopping n8n …');
	} finally {
		await started.dispose();
		await target.close();
	}
	for (const { userFolder } of servers) {
		if (existsSync(userFolder)) console.log(`Kept: ${userFolder}`);
	}
}

/** Until `asked` to end, starts n8n again on its folder and port whenever it ends, as in a crash. */
async function keepRunning(server: N8nServer, asked: Promise<void>): Promise<void> {
	for (let restarts = 0; ; restarts += 1) {
		const reason = await Promise.race([asked, server.ended()]);
		if (reason === undefined) return;
		if (restarts === MAX_RESTARTS) {
			throw new Error(`n8n ended after ${MAX_RESTARTS} restarts (${reason})`);
		}
		console.log(`n8n ended (${reason}). Starting it again …`);
		const started = server.start().then(() => {
			console.log(`n8n is ready again at ${server.url}, process ID ${server.pid}.`);
		});
		await Promise.race([asked, started]);
	}
}

interface Settings {
	n8n?: string;
	port?: string;
	queue?: string;
	files?: string;
	'requests-per-second'?: string;
}

/** Starts n8n and a gateway, and shows on the way what takes its time. */
async function start(settings: Settings, progress: Progress) {
	const limit = chooseLimit(settings['requests-per-second']);
	const workers = chooseWorkers(settings.queue);
	const port = await choosePort(settings.port);
	const version = await chooseVersion(settings.n8n, progress);
	progress.update('Packing the package');
	const packed = await packPackage();
	const target = await openTarget({ port: await freePort(USUAL_GATEWAY_PORT), ...limit });
	const filesFolder = resolve(settings.files ?? 'files');
	mkdirSync(filesFolder, { recursive: true });
	const table = join(filesFolder, 'products.csv');
	if (!existsSync(table)) writeFileSync(table, PRODUCTS);
	progress.update(workers > 0 ? 'Starting n8n and its workers' : 'Starting n8n');
	const options = { version, package: packed.tarball, port, filesFolder };
	const running = workers > 0 ? await startWorkers(options, workers) : await startAlone(options);
	const [server] = running.servers as [N8nServer];
	return { ...running, server, target, packed, filesFolder };
}

type Options = Pick<ServerOptions, 'version' | 'package' | 'port' | 'filesFolder'>;

async function startAlone(options: Options) {
	const server = await startServer(options);
	return { servers: [server], dispose: async () => await server.dispose() };
}

async function startWorkers(options: Options, workers: number) {
	// Without it, what the editor executes would run in the main process.
	const env = { OFFLOAD_MANUAL_EXECUTIONS_TO_WORKERS: 'true' };
	const queue = await startQueue({ ...options, workers, env, ownTimes: true });
	return { servers: queue.servers, dispose: async () => await queue.dispose() };
}

/** Stores the credential and the examples. @returns the lines that say where everything is */
async function furnish(started: Awaited<ReturnType<typeof start>>) {
	const { server, servers, target, packed, filesFolder } = started;
	const { id, name } = await server.createCredential({
		type: 'mediaGatewayApi',
		name: 'Media Gateway account',
		data: { baseUrl: target.url, apiKey: target.key },
	});
	const lines = [
		`n8n ${server.install.n8nVersion} with ${packed.name} ${packed.version} is ready.`,
		'',
		`  Address    ${server.url}`,
		`  Process ID ${server.pid}`,
		...servers.slice(1).map(({ pid }, index) => `  Worker ${index + 1}   process ID ${pid}`),
		`  Sign in    ${server.owner.email}, password ${server.owner.password}`,
		`  Gateway    ${target.label}${process.env.MEDIA_GATEWAY_URL ? '' : ownGatewayFacts(target)}`,
		`  Credential ${name}`,
		`  Files      write to ${filesFolder} (create subfolders first)`,
	];
	for (const example of exampleNames()) {
		const workflow = readExample(example, { mediaGatewayApi: { id, name } });
		if (target.model) useModel(workflow.nodes, target.model);
		await giveTable(server, workflow);
		useFolder(workflow.nodes, filesFolder);
		const stored = await server.createWorkflow(workflow);
		lines.push(`  Example    ${stored.name}: ${server.url}/workflow/${stored.id}`);
	}
	return lines;
}

/** What belongs to the embedded gateway: another one's key is its owner's. */
function ownGatewayFacts({ url, key }: Target): string {
	const isUsual = new URL(url).port === String(USUAL_GATEWAY_PORT);
	const taken = `; docs/moving/before.json needs port ${USUAL_GATEWAY_PORT}, which is taken`;
	return `, key ${key}${isUsual ? '' : taken}`;
}

/** The examples name models of the embedded gateway; another gateway has its own. */
function useModel(nodes: Array<{ parameters?: Record<string, unknown> }>, model: string): void {
	for (const { parameters } of nodes) {
		const chosen = parameters?.model;
		if (chosen && typeof chosen === 'object' && '__rl' in chosen) {
			parameters.model = { __rl: true, mode: 'name', value: model };
		}
	}
}

/** The examples write to the folder that stays, and find a table there. */
function useFolder(nodes: Array<{ parameters?: Record<string, unknown> }>, folder: string): void {
	for (const { parameters = {} } of nodes) {
		for (const name of ['fileName', 'fileSelector']) {
			const path = parameters[name];
			if (typeof path === 'string') parameters[name] = path.replace('.n8n-files', () => folder);
		}
	}
}

main().then(
	() => process.exit(0),
	(error: Error) => {
		console.error(`The editor stopped: ${error.message}`);
		process.exit(1);
	},
);
