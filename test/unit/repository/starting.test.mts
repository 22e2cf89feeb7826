/** What somebody sees while `npm run editor` and `npm run demo` start. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Progress } from '../../../demo/demo-progress.mjs';
import { withLock } from '../../../harness/install/install-once.mjs';

describe('progress', () => {
	const lines: string[] = [];

	beforeEach(() => {
		lines.length = 0;
		jest.useFakeTimers();
		jest.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
	});

	afterEach(() => {
		jest.useRealTimers();
		jest.restoreAllMocks();
	});

	test('has a line at least every ten seconds, until it ends', () => {
		const progress = new Progress();
		progress.update('Installing');
		jest.advanceTimersByTime(25_000);
		expect(lines).toEqual([' 0.0', '10.0', '20.0'].map((at) => ` ${at} s  Installing …`));
		progress.update('Starting n8n');
		jest.advanceTimersByTime(9_000);
		progress.note('n8n speaks');
		jest.advanceTimersByTime(10_000);
		const rest = ['25.0 s  Starting n8n …', '34.0 s  n8n speaks', '44.0 s  Starting n8n …'];
		expect(lines.slice(3)).toEqual(rest.map((line) => ` ${line}`));
		progress.end();
		jest.advanceTimersByTime(60_000);
		expect(lines).toHaveLength(6);
		progress.note('n8n is ready');
		expect(lines.at(-1)).toBe('1 min 44 s  n8n is ready');
	});
});

describe('an installation that another process holds', () => {
	const folder = mkdtempSync(join(tmpdir(), 'media-gateway-lock-'));
	const lock = join(folder, 'tree.lock');

	afterAll(() => rmSync(folder, { recursive: true, force: true }));

	/** @returns what happened, in order */
	async function take(owner: number): Promise<string[]> {
		mkdirSync(lock);
		writeFileSync(join(lock, 'pid'), String(owner));
		const events: string[] = [];
		const pause = async () => {
			events.push('pause');
			if (events.length === 4) rmSync(lock, { recursive: true });
			await Promise.resolve();
		};
		const work = async () => void (await Promise.resolve(events.push('work')));
		await withLock(lock, () => events.push('waits'), work, pause);
		return events;
	}

	test('is waited for, and said once', async () => {
		expect(await take(process.pid)).toEqual(['waits', 'pause', 'pause', 'pause', 'work']);
	});

	test('is taken over from one that has died, without a word', async () => {
		// No process has this number.
		expect(await take(2 ** 30)).toEqual(['pause', 'work']);
	});
});
