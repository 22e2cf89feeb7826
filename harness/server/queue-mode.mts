/**
 * n8n in queue mode, as it runs where there is much to do: one main process, workers that run the
 * executions, Redis between them and PostgreSQL under them. All of it on loopback, on unused ports
 * and in temporary folders; no service of the system is touched.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as net from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { endWithin, startLogged } from '../child.mjs';
import { until } from '../wait-until.mjs';
import { freePort } from './ports.mjs';
import { startServer, type N8nServer, type ServerOptions } from './server.mjs';

export interface QueueOptions
	extends Pick<ServerOptions, 'version' | 'package' | 'env' | 'port' | 'filesFolder'> {
	/** How many workers. Default 2. */
	workers?: number;
	/** Whether n8n notices a dead worker as late as it does by itself. */
	ownTimes?: boolean;
}

interface Programs {
	redis: string;
	/** Folder of PostgreSQL's programs. */
	postgres: string;
}

const POSTGRES = '/usr/lib/postgresql';
const USER = 'n8n';
const READY_S = 30;
/**
 * A worker's hold on a job runs out after ten seconds instead of a minute, and jobs that nobody
 * holds are looked for every five: a killed worker is noticed within the time of a test.
 */
const STALLED_SOON = {
	QUEUE_WORKER_LOCK_DURATION: '10000',
	QUEUE_WORKER_LOCK_RENEW_TIME: '2000',
	QUEUE_WORKER_STALLED_INTERVAL: '5000',
};

/**
 * Looks for Redis and PostgreSQL. In a container (root, no systemd) that has `apt-get` they are
 * installed first; elsewhere that is left to whoever owns the machine.
 * @returns undefined if all is there, else a sentence that says what is missing
 */
export function whyNoQueue(): string | undefined {
	if (findPrograms()) return undefined;
	const how = 'apt-get install -y redis-server postgresql';
	const mayInstall = process.getuid?.() === 0 && !fs.existsSync('/run/systemd/system');
	if (!mayInstall) return `Queue mode needs Redis and PostgreSQL, which aren't here (${how})`;
	const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
	const packages = ['install', '-y', '-q', '--no-install-recommends'];
	packages.push('redis-server', 'postgresql', 'util-linux');
	for (const args of [packages, ['update', '-q'], packages]) {
		spawnSync('apt-get', args, { env, stdio: 'ignore', timeout: 240_000 });
		if (findPrograms()) return undefined;
	}
	return `Queue mode needs Redis and PostgreSQL, which couldn't be installed (${how})`;
}

function findPrograms(): Programs | undefined {
	const redis = '/usr/bin/redis-server';
	if (!fs.existsSync(redis) || !fs.existsSync(POSTGRES)) return undefined;
	const postgres = fs
		.readdirSync(POSTGRES)
		.sort((one, other) => Number(other) - Number(one))
		.map((version) => path.join(POSTGRES, version, 'bin'))
		.find((folder) => fs.existsSync(path.join(folder, 'postgres')));
	return postgres === undefined ? undefined : { redis, postgres };
}

/**
 * Starts Redis, PostgreSQL, a main process and its workers.
 * @param options see QueueOptions
 * @returns the set, ready for requests; dispose of it after use
 */
export async function startQueue(options: QueueOptions = {}): Promise<Queue> {
	const programs = findPrograms();
	if (!programs) throw new Error('No Redis or PostgreSQL here: ask whyNoQueue() first');
	const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'media-gateway-queue-'));
	// PostgreSQL's own user has to get through to its data.
	fs.chmodSync(folder, 0o711);
	const queue = new Queue(folder);
	try {
		const redisPort = await queue.startRedis(programs);
		const postgresPort = await queue.startPostgres(programs);
		const env = {
			EXECUTIONS_MODE: 'queue',
			QUEUE_BULL_REDIS_HOST: '127.0.0.1',
			QUEUE_BULL_REDIS_PORT: String(redisPort),
			DB_TYPE: 'postgresdb',
			DB_POSTGRESDB_HOST: '127.0.0.1',
			DB_POSTGRESDB_PORT: String(postgresPort),
			DB_POSTGRESDB_DATABASE: 'postgres',
			DB_POSTGRESDB_USER: USER,
			DB_POSTGRESDB_PASSWORD: 'not asked for',
			// As docs/running.md recommends.
			N8N_EXECUTIONS_QUEUE_RECOVERY_INTERVAL: '30',
			...(options.ownTimes ? {} : STALLED_SOON),
			...options.env,
		};
		const { version, package: tarball, port, filesFolder } = options;
		// First alone: it makes the tables.
		queue.main = await startServer({ version, package: tarball, env, port, filesFolder });
		const worker = {
			QUEUE_HEALTH_CHECK_ACTIVE: 'true',
			N8N_WORKER_SERVER_ADDRESS: '127.0.0.1',
		};
		const workers = Array.from({ length: options.workers ?? 2 }, async () =>
			queue.workers.push(
				await startServer({
					version,
					package: tarball,
					filesFolder,
					command: 'worker',
					env: { ...env, ...worker },
				}),
			),
		);
		await Promise.all(workers);
	} catch (error) {
		await queue.dispose();
		throw error;
	}
	return queue;
}

/** A running set. Made by `startQueue`. */
export class Queue {
	main!: N8nServer;
	readonly workers: N8nServer[] = [];
	private postgresPort = 0;
	private psql = '';
	/** The services by name, each with what starts it. */
	private readonly services = new Map<
		string,
		{ child: ChildProcess; start: () => Promise<void> }
	>();

	constructor(private readonly folder: string) {}

	/**
	 * The executions that a worker has begun or taken up again, by its own log.
	 * @param worker one of `workers`
	 * @returns their ids, in order; one that was suspended comes more than once
	 */
	begunBy(worker: N8nServer): string[] {
		return [...worker.logs.matchAll(/Worker started execution (\d+)/g)].map(([, id]) => id!);
	}

	/** All n8n processes, the main one first. */
	get servers(): N8nServer[] {
		return [this.main, ...this.workers];
	}

	/** Ends everything, in the order in which it depends on one another, and deletes the data. */
	async dispose(): Promise<void> {
		await Promise.all(this.workers.map(async (worker) => await worker.dispose()));
		await this.main?.dispose();
		for (const { child } of this.services.values()) await end(child);
		fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
	}

	/**
	 * Ends a service and starts it again on its data and port.
	 * @param milliseconds for how long it is away
	 * @param forgets whether Redis starts empty
	 */
	async outage(name: 'redis' | 'postgres', milliseconds: number, forgets = false): Promise<void> {
		const { child, start } = this.services.get(name)!;
		await end(child);
		if (forgets) fs.rmSync(path.join(this.folder, 'appendonlydir'), { recursive: true });
		await sleep(milliseconds);
		await start();
	}

	/**
	 * Locks the row of an execution in the database: n8n can read it, but not take it up.
	 * @returns releases it
	 */
	async lock(executionId: string): Promise<() => void> {
		const port = String(this.postgresPort);
		const args = ['-h', '127.0.0.1', '-p', port, '-U', USER, '-qtA', 'postgres'];
		const client = spawn(this.psql, args, { stdio: ['pipe', 'pipe', 'ignore'] });
		client.stdin.on('error', () => undefined);
		const row = `execution_entity WHERE id = ${Number(executionId)}`;
		client.stdin.write(`BEGIN; SELECT id FROM ${row} FOR NO KEY UPDATE;\n`);
		await once(client.stdout, 'data');
		return () => void client.kill();
	}

	/** For startQueue: starts Redis, which keeps what it has, and gives its port. */
	async startRedis({ redis }: Programs): Promise<number> {
		const port = await freePort();
		const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', this.folder];
		args.push('--save', '', '--appendonly', 'yes');
		await this.startService('redis', redis, args, port);
		return port;
	}

	/** For startQueue: starts PostgreSQL on an empty database, and gives its port. */
	async startPostgres({ postgres }: Programs): Promise<number> {
		const port = await freePort();
		this.postgresPort = port;
		this.psql = path.join(postgres, 'psql');
		const data = path.join(this.folder, 'postgres');
		fs.mkdirSync(data);
		// PostgreSQL refuses to run as root.
		const owner = process.getuid?.() === 0 ? idsOf('postgres') : undefined;
		if (owner) fs.chownSync(data, owner.uid, owner.gid);
		const initdb = ['-D', data, '-U', USER, '-E', 'UTF8', '--auth=trust', '--no-sync'];
		execFileSync(path.join(postgres, 'initdb'), initdb, { cwd: '/', stdio: 'ignore', ...owner });
		// No socket file, and no care for a crash of the machine.
		const args = ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', '', '-c', 'fsync=off'];
		const program = path.join(postgres, 'postgres');
		await this.startService('postgres', program, args, port, owner);
		return port;
	}

	private async startService(
		name: string,
		program: string,
		args: string[],
		port: number,
		owner?: { uid: number; gid: number },
	): Promise<void> {
		const logFile = path.join(this.folder, `${name}.log`);
		const start = async () => await this.startService(name, program, args, port, owner);
		const user = owner ? [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups'] : [];
		// It goes when the tests have died without stopping it.
		const command = ['--pdeathsig', 'QUIT', ...user, program, ...args];
		const child = startLogged(logFile, 'setpriv', command, { cwd: '/' });
		this.services.set(name, { child, start });
		const what = () => `${name}, which says ${fs.readFileSync(logFile, 'utf8').slice(-2_000)}`;
		await until(what, READY_S, async () => await listens(port), 50);
	}
}

function idsOf(user: string): { uid: number; gid: number } {
	const id = (flag: string) => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }));
	return { uid: id('-u'), gid: id('-g') };
}

async function listens(port: number): Promise<boolean> {
	return await new Promise((resolve) => {
		const socket = net.connect(port, '127.0.0.1');
		socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
		socket.once('connect', () => socket.destroy());
	});
}

/** SIGINT: PostgreSQL then does not wait for its clients to leave. */
async function end(service: ChildProcess): Promise<void> {
	service.kill('SIGINT');
	await endWithin(service, 5_000);
}
