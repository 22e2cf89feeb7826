/** The client as its README shows it: the examples run against the embedded gateway. `npm run typecheck` compiles them. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { transformSync } from '@swc/core';
import { writeExamples } from '../../scripts/readme-examples.mjs';
import { startGateway, type Gateway } from '../../simulator/gateway.mjs';

const root = join(__dirname, '..', '..');
// Not in the folder for temporary files: the examples import what is installed here.
const cache = join(root, '.cache');
let folder = '';
let examples: Record<string, string>;
let gateway: Gateway;

beforeAll(async () => {
	mkdirSync(cache, { recursive: true });
	folder = mkdtempSync(join(cache, 'readme-'));
	examples = writeExamples(folder);
	for (const [name, text] of Object.entries(examples)) write(name, text);
	gateway = await startGateway({ taskSeconds: 0 });
});

afterAll(async () => {
	rmSync(folder, { recursive: true, force: true });
	await gateway.close();
});

test('the README has its examples', () => {
	expect(Object.keys(examples).sort()).toEqual(['example', 'journal', 'ports', 'refused']);
});

/** Writes an example for Node.js: without its types, on the built client. A loader would take three seconds a run. */
function write(name: string, text: string): void {
	const onBuilt = text.replaceAll("'../../gateway/", "'../../dist/gateway/");
	const jsc = { target: 'es2022', parser: { syntax: 'typescript' } } as const;
	const { code } = transformSync(onBuilt, { jsc, swcrc: false });
	writeFileSync(join(folder, `${name}.mjs`), code);
}

/** Runs an example. @returns what it prints */
async function run(name: string): Promise<string> {
	const env = { ...process.env, BASE_URL: gateway.url, API_KEY: gateway.keys[0] };
	const args = [join(folder, `${name}.mjs`)];
	const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, env });
	return stdout;
}

test('the ten lines generate an image over fetch', async () => {
	const url = (await run('example')).trim();
	const response = await fetch(url);
	expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png']);
});

test.each([
	['one after the other', (text: string) => text],
	[
		'at once',
		(text: string) =>
			text
				.replace(/const first = await (.*);\nconst again = await (.*);/, AT_ONCE)
				.replaceAll('lighthouse', 'lighthouse at night'),
	],
])('a journal gives what was paid for, %s, and nothing is sent again', async (when, change) => {
	const name = `journal, ${when}`;
	write(name, change(examples.journal!));
	const before = gateway.requests.length;
	expect(await run(name)).toBe('true\n');
	expect(gateway.requests.length - before).toBe(1);
});

const AT_ONCE = 'const [first, again] = await Promise.all([$1, $2]);';
