/** Worlds in a process of their own: they replace its time and its chance. */
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

/** What happened in the worlds from fixed seeds. */
let stories = '';

test('200 worlds from fixed seeds break nothing', async () => {
	stories = await world('--seed', '1', '--worlds', '200', '--trace');
	expect(stories).toMatch(/200 worlds from seed 1, 0 broken/);
}, 600_000);

test('200 worlds from a fresh seed break nothing', async () => {
	const said = await world('--worlds', '200');
	process.stdout.write(said);
	expect(said).toMatch(/200 worlds from seed \d+, 0 broken/);
}, 600_000);

test('a seed makes the very same world again, alone as after others', async () => {
	const alone = await world('--seed', '27', '--trace');
	const story = alone.slice(0, alone.lastIndexOf('\n1 worlds from seed 27')).trim();
	expect(story).toMatch(/charged/);
	expect(stories).toContain(story);
}, 600_000);
