/** The client as its README shows it: the examples compile, run against the embedded gateway, and are kept. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { startGateway, type Gateway } from '../../simulator/gateway.mjs';

const root = join(__dirname, '..', '..');
const readme = readFileSync(join(root, 'gateway', 'README.md'), 'utf8');
const examples = [...readme.matchAll(/^```ts (\w+)\n([^]*?)^```/gm)].map(
	([, name, text]) => [`${name}.mts`, text!.replaceAll("'./gateway/", "'../../gateway/")] as const,
);

// Not in the folder for temporary files: the examples import what is installed here.
const cache = join(root, '.cache');
let folder = '';
let gateway: Gateway;

beforeAll(async () => {
	mkdirSync(cache, { recursive: true });
	folder = mkdtempSync(join(cache, 'readme-'));
	for (const [name, text] of examples) writeFileSync(join(folder, name), text);
	gateway = await startGateway({ taskSeconds: 0 });
});

afterAll(async () => {
	rmSync(folder, { recursive: true, force: true });
	await gateway.close();
});

/** What the compiler says of an example, with the settings of the tools. */
function errorsIn(name: string): string[] {
	const { config } = ts.readConfigFile(join(root, 'tsconfig.tools.json'), (file) =>
		readFileSync(file, 'utf8'),
	) as { config: { compilerOptions: object } };
	const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
	const program = ts.createProgram([join(folder, name)], options);
	return ts
		.getPreEmitDiagnostics(program)
		.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
}

test('the README has its examples', () => {
	expect(examples.map(([name]) => name).sort()).toEqual([
		'example.mts',
		'journal.mts',
		'ports.mts',
		'refused.mts',
	]);
});

test.each(['example.mts', 'journal.mts'])('%s compiles, with the ports', (name) => {
	expect(errorsIn(name)).toEqual([]);
});

test('a paid plan that does not go through the journal does not compile', () => {
	expect(errorsIn('refused.mts')).toEqual([
		expect.stringMatching(/'PaidPlan' is not assignable to parameter of type 'FreePlan'/),
		expect.stringMatching(/'"POST"' is not assignable to type '"GET"'/),
		expect.stringMatching(/'sendOnce' is private/),
		expect.stringMatching(/Expected 2 arguments/),
		expect.stringMatching(/'key' is missing/),
	]);
});

test('without a journal, a request needs no options', () => {
	const lines = [
		"import { openGateway } from '../../gateway/index.js';",
		"import { ports } from './ports.mjs';",
		"const request = { model: 'm', prompt: 'p' };",
		'export const receipt = await openGateway({}, ports).generate(request);',
	];
	writeFileSync(join(folder, 'plain.mts'), lines.join('\n'));
	expect(errorsIn('plain.mts')).toEqual([]);
});

/** Runs an example. @returns what it prints */
async function run(name: string): Promise<string> {
	const env = { ...process.env, BASE_URL: gateway.url, API_KEY: gateway.keys[0] };
	const args = ['--import', 'tsx', join(folder, name)];
	const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, env });
	return stdout;
}

test('the ten lines generate an image over fetch', async () => {
	const url = (await run('example.mts')).trim();
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
	const { journal } = Object.fromEntries(examples.map(([name, text]) => [name.slice(0, -4), text]));
	const name = `journal, ${when}.mts`;
	writeFileSync(join(folder, name), change(journal!));
	const before = gateway.requests.length;
	expect(await run(name)).toBe('true\n');
	expect(gateway.requests.length - before).toBe(1);
});

const AT_ONCE = 'const [first, again] = await Promise.all([$1, $2]);';
