/** Worlds in a process of their own: they replace its time and its random numbers. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const main = join(__dirname, 'play-worlds.mts');

/** What the command says; rejects with what it says of broken worlds if there are any. */
async function world(...args: string[]): Promise<string> {
	// What a world leaves behind is collected at less cost when it is more at a time.
	const command = ['--max-semi-space-size=64', '--import', 'tsx', main, ...args];
	const { stdout } = await run(process.execPath, command, { maxBuffer: 2 ** 26 }).catch(
		async ({ stdout: said, stderr }: { stdout: string; stderr: string }) => {
			const broken = said.match(/\nWorld \d+ \(number[^]*?\n {2}again: .*\n/g) ?? [];
			return await Promise.reject(new Error([...broken, said.slice(-2000), stderr].join('\n')));
		},
	);
	return stdout;
}

// The gate (`.ci/run`) plays 2,000 others: these say that worlds can be played at all, and repeated.
test('20 worlds break nothing, and a seed makes the same world again', async () => {
	const told = await world('--first', '12', '--seed', '1', '--worlds', '20', '--trace');
	process.stdout.write(told.slice(told.lastIndexOf('\n21 worlds')));
	expect(told).toMatch(/\n21 worlds from seed 1, 0 broken/);
	const [, alone, ...stories] = told.split('Nothing is broken.');
	// Whatever happens in it: another world is made of the seed when the generators change.
	expect(alone).toMatch(/ s run\n/);
	expect(stories[11]!.trim()).toBe(alone!.trim());
}, 1_200_000);
