// Runs a program that may be silent for minutes, with a line every ten seconds. Uses nothing but Node: it
// has to run in a fresh clone, before anything is installed.
import { spawn } from 'node:child_process';

const LINE_EVERY_MS = 10_000;

/**
 * Resolves to the program's exit status, or to the error that kept it from starting.
 *
 * @param what what the lines say, such as "Build: still compiling"
 * @returns {Promise<{ status: number | null, error?: Error }>}
 */
export async function runAloud(what, command, args, options) {
	const started = performance.now();
	const say = () => {
		const seconds = Math.round((performance.now() - started) / 1000);
		const minutes = seconds < 60 ? '' : `${Math.floor(seconds / 60)} min `;
		console.log(`${what} (${minutes}${seconds % 60} s) …`);
	};
	const timer = setInterval(say, LINE_EVERY_MS);
	const child = spawn(command, args, { stdio: 'inherit', ...options });
	return await new Promise((resolve) => {
		child.once('error', (error) => resolve({ status: null, error }));
		child.once('exit', (status) => resolve({ status }));
	}).finally(() => clearInterval(timer));
}
