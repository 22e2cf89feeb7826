/** Starts the processes of a measurement and talks to them. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { GatewayOptions } from '../../simulator/gateway.mjs';
import type { Command, Report } from './gateway-process.mjs';
import { nodeOfCandidates } from '../server-tree.mjs';
import type { Prepare, Sample, Work } from '../work.mjs';

/** Asks a child by numbered messages; an end of the child is an error for all who wait. */
class Child {
	private readonly waiting = new Map<
		number,
		{ resolve: (value: never) => void; reject: (error: Error) => void }
	>();

	private lastId = 0;

	readonly process: ChildProcess;

	constructor(file: string, nodeFlags: string[] = []) {
		this.process = fork(fileURLToPath(new URL(file, import.meta.url)), [], {
			// `tsx` is found from here, whatever folder the bench is started in.
			cwd: fileURLToPath(new URL('../..', import.meta.url)),
			// n8n builds every line for its log with `silent`, and none of those for debugging with its default.
			env: { ...process.env, N8N_LOG_LEVEL: 'error' },
			execPath: nodeOfCandidates(),
			execArgv: ['--import', 'tsx', ...nodeFlags],
			stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
			serialization: 'advanced',
		});
		type Message = { id: number; value?: never; error?: string };
		this.process.on('message', ({ id, value, error }: Message) => {
			const waiting = this.waiting.get(id);
			this.waiting.delete(id);
			if (error === undefined) waiting?.resolve(value as never);
			else waiting?.reject(new Error(error));
		});
		this.process.once('exit', (code) => {
			this.waiting.forEach(({ reject }) => reject(new Error(`${file} ended with ${code}`)));
		});
	}

	async ask<T>(command: unknown): Promise<T> {
		const id = ++this.lastId;
		return await new Promise<T>((resolve, reject) => {
			this.waiting.set(id, { resolve, reject });
			this.process.send({ id, command } as never);
		});
	}

	async end(): Promise<void> {
		if (this.process.exitCode !== null || this.process.signalCode !== null) return;
		const ended = once(this.process, 'exit');
		this.process.disconnect();
		const timer = setTimeout(() => this.process.kill('SIGKILL'), 5000);
		await ended;
		clearTimeout(timer);
	}
}

/** The gateway that is measured against. */
export interface Target {
	url: string;
	key: string;
	submit(lifetimes: number[]): Promise<string[]>;
	reset(): Promise<void>;
	report(): Promise<Report>;
	close(): Promise<void>;
}

/** Starts an embedded gateway in a process of its own. */
export async function openTarget(options: GatewayOptions): Promise<Target> {
	const child = new Child('./gateway-process.mts');
	const ask = async <T,>(command: Command) => await child.ask<T>(command);
	const address = await ask<{ url: string; key: string }>({ name: 'start', options });
	return {
		...address,
		submit: async (lifetimes) => await ask({ name: 'submit', lifetimes }),
		reset: async () => await ask({ name: 'reset' }),
		report: async () => await ask({ name: 'report' }),
		close: async () => await child.end(),
	};
}

/** A candidate in a process of its own, loaded and warmed up, waiting for its work. */
export interface Worker {
	run(work: Work): Promise<Sample>;
	close(): Promise<void>;
}

/** Starts a candidate. `BENCH_CPU_PROFILE` names a folder for profiles of what it does. */
export async function openWorker(prepare: Prepare): Promise<Worker> {
	const folder = process.env.BENCH_CPU_PROFILE;
	const profile = folder ? ['--cpu-prof', `--cpu-prof-dir=${folder}`] : [];
	const child = new Child('./worker.mts', ['--expose-gc', ...profile]);
	await child.ask({ name: 'prepare', prepare });
	return {
		run: async (work) => await child.ask({ name: 'run', work }),
		close: async () => await child.end(),
	};
}
