/**
 * The tests on real n8n servers for a build machine: installs what they need within a time limit,
 * then runs them file by file within what is left of it. A test that fails is tried once more, and
 * named; whatever is not run is named with its reason, and is a failure where there are servers.
 *
 * By command: `tsx test/n8n/ci.mts [--release] [--minutes 40] [name of a file]…`: what a change has to
 * pass, on the newest n8n; for a release all files, on both. `MEDIA_GATEWAY_TEST_N8N` names other servers.
 */
import { spawn, type SpawnOptions, type StdioOptions } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { parseArgs } from 'node:util';

import { endWithin } from '../../harness/child.mjs';
import { findChromium } from '../../harness/server/browser.mjs';
import { cacheFolder, repositoryRoot } from '../../harness/install/folders.mjs';
import { serverVersions } from '../../harness/server/packed-package.mjs';
import { whyNoQueue } from '../../harness/server/queue-mode.mjs';

/**
 * In the order of what they say about the package; with the seconds that two shared cores take for both
 * servers. What only a release has to pass runs every night too.
 */
const FILES: ReadonlyArray<{ name: string; seconds: number; only?: 'release' }> = [
	{ name: 'install', seconds: 45 },
	{ name: 'run', seconds: 90 },
	{ name: 'http-request', seconds: 60, only: 'release' },
	{ name: 'recipes', seconds: 300 },
	{ name: 'paying-examples', seconds: 225 },
	{ name: 'registry', seconds: 80, only: 'release' },
	{ name: 'agent', seconds: 35 },
	{ name: 'tools', seconds: 40 },
	{ name: 'editor', seconds: 450 },
	{ name: 'queue', seconds: 450 },
	{ name: 'survive', seconds: 340 },
];
/** 15 for each server to install, the tests, and the rest for a busy machine. */
const MINUTES = { change: 50, release: 75 };

/** A file that takes longer hangs: here a machine may be at a load of six. */
const limitOf = (seconds: number) => 240 + 3 * seconds;

interface Report {
	name: string;
	outcome: 'passed' | 'FAILED' | 'NOT RUN';
	remark: string;
}

/** @param install installs a server of a version by a time, and gives the reason if it can't */
export async function main(args: string[], install = installServer): Promise<void> {
	const { values, positionals: wanted } = parseArgs({
		args,
		allowPositionals: true,
		options: { release: { type: 'boolean', default: false }, minutes: { type: 'string' } },
	});
	const { release } = values;
	const minutes = Number(values.minutes ?? MINUTES[release ? 'release' : 'change']);
	if (!(minutes > 0)) throw new Error('--minutes needs a number of minutes');
	if (!release) {
		process.env.MEDIA_GATEWAY_TEST_N8N ??= '2';
		process.env.MEDIA_GATEWAY_EXAMPLES ??= 'changed';
	}
	const deadline = Date.now() + minutes * 60_000;
	const reports: Report[] = [];

	const installed: string[] = [];
	// One after another: npm alone keeps a small machine busy.
	for (const version of serverVersions()) {
		const why = await install(version, deadline);
		if (why === undefined) installed.push(version);
		else reports.push({ name: `n8n ${version}`, outcome: 'NOT RUN', remark: why });
	}
	// So that it is no part of the first file's time.
	const build = path.join(repositoryRoot(), 'scripts', 'build-if-stale.mjs');
	if ((await finished([build], 600_000, {})) !== 0) throw new Error('The build failed');
	for (const { name, seconds } of filesIn(wanted, release)) {
		const left = (deadline - Date.now()) / 1_000;
		const late = `it takes about ${seconds} s, and ${Math.max(0, left).toFixed(0)} s are left`;
		const remark = whyNot(name, installed) ?? (left < seconds ? late : undefined);
		if (remark !== undefined) reports.push({ name, outcome: 'NOT RUN', remark });
		else reports.push(await runFile(fileOf(name), Math.min(left, limitOf(seconds)), installed));
	}
	console.log(`\n-- on real n8n servers (${installed.join(' and ') || 'none'})`);
	for (const { name, outcome, remark } of reports) {
		console.log(`   ${outcome.padEnd(8)} ${name.padEnd(15)} ${remark}`);
	}
	const missed = reports.filter(({ outcome }) => outcome === 'NOT RUN').length;
	if (missed > 0) console.log(`   ${missed} NOT RUN: this is no proof for them.`);
	if (isRed(reports, release || installed.length > 0)) process.exitCode = 1;
}

/** @param mustRun false where no server can be installed: that says nothing of a change, good or bad */
export function isRed(reports: Array<Pick<Report, 'outcome'>>, mustRun: boolean): boolean {
	return reports.some(({ outcome }) => (outcome === 'NOT RUN' ? mustRun : outcome === 'FAILED'));
}

/** Installs a server in a process of its own, which can be ended. Gives the reason if it fails. */
async function installServer(version: string, deadline: number): Promise<string | undefined> {
	console.log(`\n-- n8n ${version}: looking in ${cacheFolder()}`);
	const left = deadline - Date.now();
	const script = path.join(repositoryRoot(), 'harness', 'install', 'install.mts');
	const args = ['--import', 'tsx', script, version];
	// npm starts further processes: they are ended together.
	const code = await finished(args, left, { detached: process.platform !== 'win32' });
	if (code === 0) return undefined;
	if (code === undefined) return 'its installation did not end within the time limit';
	return 'it could not be installed here (the reason is above)';
}

/** The files of FILES first; a new one that is not in it runs last. */
function filesIn(wanted: string[], release: boolean): Array<{ name: string; seconds: number }> {
	const isDue = (name: string) =>
		release || !FILES.some((file) => file.name === name && file.only === 'release');
	const present = fs
		.readdirSync(path.join(repositoryRoot(), 'test', 'n8n'))
		.filter((file) => file.endsWith('.test.mts'))
		.map((file) => file.replace('.test.mts', ''));
	const absent = wanted.filter((name) => !present.includes(name));
	if (absent.length > 0) throw new Error(`There is no test/n8n/${absent[0]}.test.mts`);
	const due = wanted.length > 0 ? wanted : present.filter(isDue);
	const known = FILES.filter(({ name }) => due.includes(name));
	const others = due.filter((name) => !known.some((file) => file.name === name));
	return [...known, ...others.sort().map((name) => ({ name, seconds: 120 }))];
}

function whyNot(name: string, installed: string[]): string | undefined {
	if (installed.length === 0) return 'no n8n server could be installed';
	if (name === 'editor' && !findChromium()) {
		return 'there is no chromium here (apt-get install -y chromium)';
	}
	if (['paying-examples', 'tools', 'queue', 'survive'].includes(name) && !installed.includes('2')) {
		return 'it needs n8n 2';
	}
	return name === 'queue' ? whyNoQueue() : undefined;
}

/** What jest writes of a file, as far as it is read here. */
interface Results {
	numPassedTests: number;
	testResults: Array<{
		assertionResults: Array<{ fullName: string; invocations: number }>;
	}>;
}

const fileOf = (name: string) => path.join(repositoryRoot(), 'test', 'n8n', `${name}.test.mts`);

/** Runs a file on the servers, and ends it after its time. */
export async function runFile(
	file: string,
	seconds: number,
	installed: string[],
	stdio: StdioOptions = 'inherit',
): Promise<Report> {
	const name = path.basename(file, '.test.mts');
	console.log(`\n-- ${name}.test.mts`);
	const begun = Date.now();
	const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'media-gateway-results-'));
	const output = path.join(folder, 'results.json');
	const args = [path.join(repositoryRoot(), 'node_modules', 'jest', 'bin', 'jest.js')];
	args.push('-c', 'test/n8n/jest.config.cjs', '--json', '--outputFile', output);
	args.push('--roots', path.dirname(file), '--runTestsByPath', file);
	const env = { ...process.env, MEDIA_GATEWAY_TEST_N8N: installed.join(',') };
	const code = await finished(args, seconds * 1_000, { env, stdio });
	const text = fs.existsSync(output) ? fs.readFileSync(output, 'utf8') : undefined;
	fs.rmSync(folder, { recursive: true });
	const took = `${((Date.now() - begun) / 1_000).toFixed(0)} s`;
	if (code === undefined) return { name, outcome: 'FAILED', remark: `no end after ${took}` };
	if (code !== 0 || !text) return { name, outcome: 'FAILED', remark: took };
	const { numPassedTests, testResults } = JSON.parse(text) as Results;
	if (numPassedTests === 0) return { name, outcome: 'NOT RUN', remark: 'it skips all its tests' };
	const again = testResults
		.flatMap(({ assertionResults }) => assertionResults)
		.filter(({ invocations }) => invocations > 1)
		.map(({ fullName }) => `\n            at the second try: ${fullName}`);
	return { name, outcome: 'passed', remark: took + again.join('') };
}

/** Runs Node.js to its end. Gives its exit code, or undefined if it was ended for its time. */
async function finished(
	args: string[],
	withinMs: number,
	options: SpawnOptions,
): Promise<number | undefined> {
	if (withinMs <= 0) return undefined;
	const cwd = repositoryRoot();
	const child = spawn(process.execPath, args, { cwd, stdio: 'inherit', ...options });
	if (await endWithin(child, withinMs, options.detached)) return undefined;
	return child.exitCode ?? 1;
}

if (process.argv[1]?.endsWith('ci.mts')) {
	main(process.argv.slice(2)).catch((error: unknown) => {
		console.error(error instanceof Error ? error.message : error);
		process.exitCode = 1;
	});
}
