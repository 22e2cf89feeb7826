/** The compose file of docs/scaling.md isn't started by any test: it is compared with what the tests of queue mode start. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

interface Service {
	image: string;
	command?: string[];
	environment?: Record<string, string>;
}

const read = (...path: string[]) => readFileSync(join(process.cwd(), ...path), 'utf8');
const { services } = parse(read('docs', 'compose.queue.yml'), { merge: true }) as {
	services: Record<string, Service>;
};

test.each(['main', 'worker'])('%s has the variables that the tests use', (name) => {
	const harness = read('harness', 'server', 'queue-mode.mts');
	const found = harness.matchAll(/^\s*((?:EXECUTIONS|DB|QUEUE_BULL)_\w+):/gm);
	const tested = [...new Set([...found].map(([, variable]) => variable))];
	expect(tested).toContain('EXECUTIONS_MODE');
	expect(Object.keys(services[name]?.environment ?? {})).toEqual(expect.arrayContaining(tested));
});

test('it installs this package, with the n8n that is tested', () => {
	const { name } = JSON.parse(read('package.json')) as { name: string };
	expect(services.nodes?.command?.join(' ')).toContain(`npm install --ignore-scripts ${name}`);
	const server = JSON.parse(read('harness', 'install', 'locks', '2.x', 'manifest.json')) as {
		dependencies: { n8n: string };
	};
	for (const service of ['nodes', 'main', 'worker']) {
		expect(services[service]?.image).toBe(`docker.n8n.io/n8nio/n8n:${server.dependencies.n8n}`);
	}
});
