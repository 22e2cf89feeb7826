/** Start, end and exit code of a child process. */
import { spawn, spawnSync, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';

/** Starts a program that writes into a log. */
export function startLogged(
	log: string,
	program: string,
	args: string[],
	options: SpawnOptions,
): ChildProcess {
	const file = openSync(log, 'a');
	const child = spawn(program, args, { ...options, stdio: ['ignore', file, file] });
	closeSync(file);
	return child;
}

/** Waits for the end of a process. @returns its exit code, or the signal that ended it */
export async function endOf(child: ChildProcess): Promise<number | NodeJS.Signals> {
	if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
	return child.exitCode ?? child.signalCode!;
}

/**
 * Waits for the end of a process, and ends it by force after a time.
 *
 * @param group whether whatever it has started in its group ends with it, if it still runs then
 * @returns whether it came to that
 */
export async function endWithin(child: ChildProcess, ms: number, group = false): Promise<boolean> {
	let late = false;
	const timer = setTimeout(() => {
		late = true;
		if (process.platform === 'win32') spawnSync('taskkill', ['/t', '/f', '/pid', `${child.pid}`]);
		else kill(group ? -child.pid! : child.pid!, 'SIGKILL');
	}, ms);
	await endOf(child).finally(() => clearTimeout(timer));
	return late;
}

/** Sends a signal to a process, or to a group by its negative number, unless it has ended by itself. */
export function kill(pid: number, signal: NodeJS.Signals): void {
	try {
		process.kill(pid, signal);
	} catch {
		// It has.
	}
}
