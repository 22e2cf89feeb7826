/** Worlds in a process of their own: they replace its time and its chance. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const main = join(__dirname, 'play-worlds.mts');

/** What the command says; rejects with it if a world is broken. */
async function world(...args: string[]): Promise<string> {
	const command = ['--import', 'tsx', main, ...args];
	const { stdout } = await run(process.execPath, command, { maxBuffer: 2 ** 26 }).catch(
		async ({ stdout: said, stderr }: { stdout: string; stderr: string }) =>
			await Promise.reject(new Error(`${said}\n${stderr}`)),
	);
	return stdout;
}

test('200 worlds from fixed seeds break nothing', async () => {
	expect(await world('--seed', '1', '--worlds', '200')).toMatch(/200 worlds from seed 1, 0 broken/);
}, 600_000);

test('200 worlds from a fresh seed break nothing', async () => {
	const said = await world('--worlds', '200');
	process.stdout.write(said);
	expect(said).toMatch(/200 worlds from seed \d+, 0 broken/);
}, 600_000);

test('a seed makes the very same world again', async () => {
	const [one, other] = [
		await world('--seed', '27', '--trace'),
		await world('--seed', '27', '--trace'),
	];
	expect(one).toMatch(/charged/);
	expect(other).toBe(one);
}, 600_000);
