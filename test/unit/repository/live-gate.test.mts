/** What the gate runs, and what it says of a test on a real server: `test/n8n/ci.mts`, with files that need none. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { digestOf, dueExamples, exampleDigests } from '../../../harness/server/looked-into.mjs';
import { isRed, main, runFile } from '../../n8n/ci.mjs';

const folder = mkdtempSync(join(tmpdir(), 'media-gateway-live-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeEach(() => jest.spyOn(console, 'log').mockImplementation());

const reportOf = async (body: string, seconds: number) => {
	const file = join(folder, 'fake.test.mts');
	writeFileSync(file, body);
	return await runFile(file, seconds, ['2'], 'ignore');
};

test('a file that hangs fails by its limit', async () => {
	const report = await reportOf("test('waits', () => new Promise(() => {}));", 1);
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

test.each([
	['of a change is no proof', [], undefined],
	['before a release is red', ['--release'], 1],
])('without a network and n8n in its cache, a run %s', async (_, args, exitCode) => {
	process.env.MEDIA_GATEWAY_TEST_N8N = '2';
	await main([...args, 'run', 'survive'], async () => await Promise.resolve('no network'));
	const ended = process.exitCode;
	process.exitCode = undefined;
	const said = jest.mocked(console.log).mock.calls.join('\n');
	expect(said).toMatch(/NOT RUN +n8n 2 +no network/);
	for (const name of ['run', 'survive']) {
		expect(said).toMatch(new RegExp(`NOT RUN +${name} +no n8n server could be installed`));
	}
	expect(said).not.toMatch(/passed|FAILED/);
	expect([said.endsWith('3 NOT RUN: this is no proof for them.'), ended]).toEqual([true, exitCode]);
});

describe('the examples that the editor looks into', () => {
	const always = ['edit-by-form', 'submit-and-collect'];
	const example = (type: string, prompt = 'A fox') =>
		JSON.stringify({
			nodes: [{ type: `n8n-nodes-media-gateway.${type}`, parameters: { prompt } }],
		});
	const nodes = { imageEdit: 'its fields', message: 'its fields' };
	const known = digestOf(example('imageEdit'), nodes, 'n8n 2');

	let now: Record<string, string>;
	beforeAll(() => void (now = exampleDigests()));

	test('unchanged: the two that always are', () => {
		expect(dueExamples(now, now)).toEqual(always);
	});

	test('a new one and a changed one too', () => {
		const then: Record<string, string> = { ...now, conversation: 'another' };
		delete then['first-image'];
		expect(dueExamples(now, then).sort()).toEqual(
			[...always, 'conversation', 'first-image'].sort(),
		);
	});

	test.each([
		['the example', example('imageEdit', 'Two foxes'), nodes, 'n8n 2'],
		['the fields of its node', example('imageEdit'), { ...nodes, imageEdit: 'others' }, 'n8n 2'],
		['n8n', example('imageEdit'), nodes, 'n8n 3'],
	])('%s has changed', (_, text, described, shared) => {
		expect(digestOf(text, described, shared)).not.toBe(known);
	});

	test('the fields of a node count for its tool, and those of other nodes for none', () => {
		const others = { ...nodes, message: 'others' };
		expect(digestOf(example('imageEdit'), others, 'n8n 2')).toBe(known);
		const tool = (described: typeof nodes) =>
			digestOf(example('imageEditTool'), described, 'n8n 2');
		expect(tool({ ...nodes, imageEdit: 'others' })).not.toBe(tool(nodes));
	});
});
