/** What one test file does to the process that it shares with others, the next does not see. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(__dirname, '..', '..', '..');

/** In a process of its own: the end of a test file takes away what jest needs for this one. */
const script = `
	const { join } = require('node:path');
	const Environment = require('./test/environment.cjs');
	const start = () => new Environment({ projectConfig: { fakeTimers: {} } });
	const load = (environment) => ({
		built: environment.requireOfProcess(join(process.cwd(), 'dist/gateway/util/json.js')),
		installed: environment.requireOfProcess(require.resolve('n8n-workflow')),
	});
	const { setTimeout, performance } = globalThis;
	const seen = () => ({
		added: 'added' in globalThis,
		replaced: globalThis.setTimeout !== setTimeout || globalThis.performance !== performance,
		limit: Error.stackTraceLimit,
		spied: Math.random() === 7,
		variables: [process.env.ADDED ?? '', process.env.GIVEN ?? ''],
		listeners: process.listenerCount('unhandledRejection'),
	});
	void (async () => {
		const first = start();
		const one = load(first);
		first.moduleMocker.spyOn(Math, 'random').mockReturnValue(7);
		globalThis.added = true;
		globalThis.setTimeout = () => {};
		Object.defineProperty(globalThis, 'performance', { configurable: true, value: {} });
		Error.stackTraceLimit = 1;
		process.env.ADDED = 'yes';
		delete process.env.GIVEN;
		process.on('unhandledRejection', () => {});
		const during = seen();
		await first.teardown();
		const other = load(start());
		const same = { built: one.built === other.built, installed: one.installed === other.installed };
		console.log(JSON.stringify({ during, after: seen(), same }));
	})();
`;

test('a test file leaves nothing to the next but loaded packages', () => {
	const env = { ...process.env, GIVEN: 'given' };
	const output = execFileSync(process.execPath, ['-e', script], { cwd: root, env });
	const changed = { added: true, replaced: true, limit: 1, spied: true };
	expect(JSON.parse(String(output))).toEqual({
		during: { ...changed, variables: ['yes', ''], listeners: 1 },
		after: {
			added: false,
			replaced: false,
			limit: 10,
			spied: false,
			variables: ['', 'given'],
			listeners: 0,
		},
		same: { built: false, installed: true },
	});
});
