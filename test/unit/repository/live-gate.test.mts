/** What the gate says of a test on a real server: `test/n8n/ci.mts`, with files that need none. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRed, runFile } from '../../n8n/ci.mjs';

const folder = mkdtempSync(join(tmpdir(), 'media-gateway-live-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeEach(() => jest.spyOn(console, 'log').mockImplementation());

const reportOf = async (body: string, seconds: number) => {
	const file = join(folder, 'fake.test.mts');
	writeFileSync(file, body);
	return await runFile(file, seconds, ['2'], 'ignore');
};

test('a file that hangs fails by its limit', async () => {
	const report = await reportOf("test('waits', () => new Promise(() => {}));", 2);
	const remark = expect.stringMatching(/^no end after \d+ s$/);
	expect(report).toEqual({ name: 'fake', outcome: 'FAILED', remark });
});

test('a test that fails once passes, and is named', async () => {
	const once = `let runs = 0;
test('stumbles', () => expect(++runs).toBe(2));
test('is tried once', () => expect(++runs).toBe(3));`;
	const { outcome, remark } = await reportOf(once, 60);
	expect(outcome).toBe('passed');
	expect(remark).toMatch(/ s\n +at the second try: stumbles$/);
});

test('what is not run is red, but where no server can be installed', () => {
	const [passed, failed, notRun] = (['passed', 'FAILED', 'NOT RUN'] as const).map((outcome) => ({
		outcome,
	}));
	expect([passed!, notRun!].map((one) => isRed([one], true))).toEqual([false, true]);
	expect(isRed([passed!, notRun!], false)).toBe(false);
	expect(isRed([failed!], false)).toBe(true);
});
