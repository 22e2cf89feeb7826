/** The compose file of docs/scaling.md cannot be started here: it is read instead. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

interface Service {
	image: string;
	command?: string[];
	environment?: Record<string, string>;
	volumes?: string[];
	depends_on?: Record<string, { condition: string }>;
	healthcheck?: object;
}

interface Compose {
	services: Record<string, Service>;
	volumes: Record<string, null>;
}

const read = (...path: string[]) => readFileSync(join(process.cwd(), ...path), 'utf8');
const compose = parse(read('docs', 'compose.queue.yml'), { merge: true }) as Compose;
const { main, worker, nodes, redis, postgres } = compose.services as Record<string, Service>;
const ofN8n = { main, worker } as Record<string, Service>;

/** The variables that the servers of test/n8n are started with in queue mode. */
const testedVariables = [
	...new Set(
		[
			...read('harness', 'server', 'queue-mode.mts').matchAll(
				/^\s*((?:EXECUTIONS|DB|QUEUE_BULL)_\w+):/gm,
			),
		].map(([, name]) => name as string),
	),
];

test('the variables that the tests use were found', () => {
	expect(testedVariables).toEqual(
		expect.arrayContaining(['EXECUTIONS_MODE', 'DB_TYPE', 'QUEUE_BULL_REDIS_HOST']),
	);
});

describe.each(Object.keys(ofN8n))('%s', (name) => {
	const { environment = {}, volumes, depends_on: dependsOn } = ofN8n[name] as Service;

	test('has every variable that the test servers are started with', () => {
		expect(Object.keys(environment)).toEqual(expect.arrayContaining(testedVariables));
		expect(environment).toMatchObject({ EXECUTIONS_MODE: 'queue', DB_TYPE: 'postgresdb' });
	});

	test('finds Redis and PostgreSQL by the names of their services', () => {
		expect(compose.services).toHaveProperty(environment.QUEUE_BULL_REDIS_HOST as string);
		expect(compose.services).toHaveProperty(environment.DB_POSTGRESDB_HOST as string);
		for (const service of ['redis', 'postgres']) {
			expect(dependsOn?.[service]?.condition).toBe('service_healthy');
			expect(compose.services[service]?.healthcheck).toBeDefined();
		}
	});

	test('sees the package, and only once it is installed', () => {
		expect(volumes).toEqual(nodes?.volumes);
		expect(dependsOn?.nodes?.condition).toBe('service_completed_successfully');
	});
});

test('one encryption key and one password, neither written down', () => {
	for (const variable of ['N8N_ENCRYPTION_KEY', 'DB_POSTGRESDB_PASSWORD']) {
		expect(worker?.environment?.[variable]).toBe(main?.environment?.[variable]);
		expect(main?.environment?.[variable]).toMatch(/^\$\{[A-Z0-9_]+:\?/);
	}
	expect(postgres?.environment?.POSTGRES_PASSWORD).toBe(main?.environment?.DB_POSTGRESDB_PASSWORD);
	expect(postgres?.environment?.POSTGRES_DB).toBe(main?.environment?.DB_POSTGRESDB_DATABASE);
	expect(postgres?.environment?.POSTGRES_USER).toBe(main?.environment?.DB_POSTGRESDB_USER);
});

test('installs this package, with the n8n that it is tested on', () => {
	const { name } = JSON.parse(read('package.json')) as { name: string };
	expect(nodes?.command?.join(' ')).toContain(`npm install --ignore-scripts ${name}`);
	const server = JSON.parse(read('harness', 'install', 'locks', '2.x', 'package.json')) as {
		dependencies: { n8n: string };
	};
	for (const { image } of [nodes, main, worker] as Service[]) {
		expect(image).toBe(`docker.n8n.io/n8nio/n8n:${server.dependencies.n8n}`);
	}
	expect(redis?.image).toMatch(/^redis:\d/);
});

test('the worker is one, and every volume is declared', () => {
	expect(worker?.command?.[0]).toBe('worker');
	const used = Object.values(compose.services).flatMap(({ volumes = [] }) => volumes);
	expect(Object.keys(compose.volumes).sort()).toEqual(
		[...new Set(used.map((volume) => volume.split(':')[0]))].sort(),
	);
});

test('docs/scaling.md leads to the file', () => {
	expect(read('docs', 'scaling.md')).toContain('(compose.queue.yml)');
});
