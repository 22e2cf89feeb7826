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

test('a test that fails once passes, and is named; one that fails twice fails', async () => {
	const once = `let runs = 0;
test('stumbles', () => expect(++runs).toBe(2));
test('is tried once', () => expect(++runs).toBe(3));`;
	const passed = await reportOf(once, 60);
	expect(passed).toMatchObject({ outcome: 'passed' });
	expect(passed.remark).toMatch(/ s\n +at the second try: stumbles$/);
	const failed = await reportOf("test('falls', () => expect(1).toBe(2));", 60);
	expect(failed).toMatchObject({ outcome: 'FAILED', remark: expect.stringMatching(/^\d+ s$/) });
});

test('a file that skips all is not run, which is red where it had to run', async () => {
	const report = await reportOf("test.skip('waits', () => {});", 60);
	expect(report).toMatchObject({ outcome: 'NOT RUN' });
	expect([true, false].map((mustRun) => isRed([report], mustRun))).toEqual([true, false]);
	expect(isRed([{ outcome: 'passed' }, { outcome: 'FAILED' }], false)).toBe(true);
});
