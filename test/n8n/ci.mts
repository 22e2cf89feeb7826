/**
 * The tests on real n8n servers for a build machine: installs what they need within a time limit,
 * then runs them file by file within what is left of it. Whatever is not run is named with its
 * reason; a failure is a failure.
 *
 * By command: `tsx test/n8n/ci.mts [--minutes 30] [name of a file]…`; `MEDIA_GATEWAY_TEST_N8N` names
 * the servers, if not both.
 */
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';

import { findChromium } from '../../harness/server/browser.mjs';
import { cacheFolder, repositoryRoot } from '../../harness/install/folders.mjs';
import { serverVersions } from '../../harness/server/packed-package.mjs';
import { whyNoQueue } from '../../harness/server/queue-mode.mjs';

/** In the order of what they say about the package; with the seconds that two shared cores take. */
const FILES: ReadonlyArray<{ name: string; seconds: number }> = [
	{ name: 'install', seconds: 45 },
	{ name: 'run', seconds: 90 },
	{ name: 'http-request', seconds: 60 },
	{ name: 'recipes', seconds: 300 },
	{ name: 'paying-examples', seconds: 225 },
	{ name: 'registry', seconds: 80 },
	{ name: 'agent', seconds: 35 },
	{ name: 'tools', seconds: 40 },
	{ name: 'editor', seconds: 450 },
	{ name: 'queue', seconds: 700 },
	{ name: 'survive', seconds: 500 },
];

type Outcome = 'passed' | 'FAILED' | 'not run';

interface Report {
	name: string;
	outcome: Outcome;
	seconds: number;
	why?: string;
}

async function main(args: string[]): Promise<void> {
	const at = args.indexOf('--minutes');
	const minutes = at < 0 ? 30 : Number(args[at + 1]);
	if (!(minutes > 0)) throw new Error('--minutes needs a number of minutes');
	const wanted = args.filter((_, index) => at < 0 || (index !== at && index !== at + 1));
	const deadline = Date.now() + minutes * 60_000;
	const reports: Report[] = [];

	const installed: string[] = [];
	// One after another: npm alone keeps a small machine busy.
	for (const version of serverVersions()) {
		const why = await installServer(version, deadline);
		if (why === undefined) installed.push(version);
		else reports.push({ name: `n8n ${version}`, outcome: 'not run', seconds: 0, why });
	}
	for (const { name, seconds } of filesIn(wanted)) {
		const why =
			installed.length === 0 ? 'no n8n server could be installed' : whyNot(name, installed);
		const left = (deadline - Date.now()) / 1_000;
		if (why !== undefined) {
			reports.push({ name, outcome: 'not run', seconds: 0, why });
		} else if (left < seconds) {
			const late = `it takes about ${seconds} s, and ${Math.max(0, left).toFixed(0)} s are left`;
			reports.push({ name, outcome: 'not run', seconds: 0, why: late });
		} else {
			const begun = Date.now();
			const passed = await runFile(name, installed);
			// Browsers and servers stumble on a busy machine; who stumbles twice has a reason.
			const again = !passed && (await runFile(name, installed));
			const took = (Date.now() - begun) / 1_000;
			const outcome = passed || again ? 'passed' : 'FAILED';
			reports.push({ name, outcome, seconds: took, why: again ? 'at the second try' : undefined });
		}
	}
	tell(reports, installed);
	if (reports.some(({ outcome }) => outcome === 'FAILED')) process.exitCode = 1;
}

/** Installs a server in a process of its own, which can be ended. Gives the reason if it fails. */
async function installServer(version: string, deadline: number): Promise<string | undefined> {
	console.log(`\n-- n8n ${version}: looking in ${cacheFolder()}`);
	const left = deadline - Date.now();
	const script = path.join(repositoryRoot(), 'harness', 'install', 'install.mts');
	const code = await finished(process.execPath, ['--import', 'tsx', script, version], {}, left);
	if (code === 0) return undefined;
	if (code === undefined) return 'its installation did not end within the time limit';
	return 'it could not be installed here (the reason is above)';
}

/** Files with a table in FILES first; a new one that is not in it runs last. */
function filesIn(wanted: string[]): Array<{ name: string; seconds: number }> {
	const present = fs
		.readdirSync(path.join(repositoryRoot(), 'test', 'n8n'))
		.filter((file) => file.endsWith('.test.mts'))
		.map((file) => file.replace('.test.mts', ''))
		.filter((name) => wanted.length === 0 || wanted.includes(name));
	const known = FILES.filter(({ name }) => present.includes(name));
	const others = present.filter((name) => !known.some((file) => file.name === name));
	return [...known, ...others.sort().map((name) => ({ name, seconds: 120 }))];
}

function whyNot(name: string, installed: string[]): string | undefined {
	if (name === 'editor' && !findChromium()) {
		return 'there is no chromium here (apt-get install -y chromium)';
	}
	if (['paying-examples', 'tools', 'queue', 'survive'].includes(name) && !installed.includes('2')) {
		return 'it needs n8n 2';
	}
	return name === 'queue' ? whyNoQueue() : undefined;
}

async function runFile(name: string, installed: string[]): Promise<boolean> {
	console.log(`\n-- ${name}.test.mts`);
	const root = repositoryRoot();
	const jest = path.join(root, 'node_modules', 'jest', 'bin', 'jest.js');
	const args = [jest, '-c', 'test/n8n/jest.config.cjs', '--runTestsByPath'];
	args.push(`test/n8n/${name}.test.mts`);
	const env = { MEDIA_GATEWAY_TEST_N8N: installed.join(',') };
	return (await finished(process.execPath, args, env)) === 0;
}

/** Runs a program to its end. Gives its exit code, or undefined if it was ended for its time. */
async function finished(
	program: string,
	args: string[],
	env: NodeJS.ProcessEnv,
	withinMs?: number,
): Promise<number | undefined> {
	if (withinMs !== undefined && withinMs <= 0) return undefined;
	const child = spawn(program, args, {
		cwd: repositoryRoot(),
		env: { ...process.env, ...env },
		stdio: 'inherit',
		// npm starts further processes: they are ended together.
		detached: withinMs !== undefined && process.platform !== 'win32',
	});
	let late = false;
	const timer = setTimeout(
		() => {
			late = true;
			if (process.platform === 'win32') spawnSync('taskkill', ['/t', '/f', '/pid', `${child.pid}`]);
			else process.kill(-child.pid!, 'SIGKILL');
		},
		withinMs ?? 2 ** 31 - 1,
	);
	const code = await new Promise<number>((resolve, reject) => {
		child.once('error', reject);
		child.once('exit', (exitCode) => resolve(exitCode ?? 1));
	}).finally(() => clearTimeout(timer));
	return late ? undefined : code;
}

function tell(reports: Report[], installed: string[]): void {
	console.log(`\n-- on real n8n servers (${installed.join(' and ') || 'none'})`);
	for (const { name, outcome, seconds, why } of reports) {
		const remark = why === undefined ? `${seconds.toFixed(0)} s` : why;
		console.log(`   ${outcome.padEnd(8)} ${name.padEnd(9)} ${remark}`);
	}
	const missed = reports.filter(({ outcome }) => outcome === 'not run').length;
	if (missed > 0) console.log(`   ${missed} NOT RUN: this is no proof for them.`);
}

main(process.argv.slice(2)).catch((error: unknown) => {
	console.error(error instanceof Error ? error.message : error);
	process.exitCode = 1;
});
