/**
 * A real n8n to look around in: with this package packed and installed, a gateway, a credential and
 * the examples. It runs until Ctrl-C; what was made in it is gone then.
 */
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { parseArgs } from 'node:util';
import { openTarget } from '../demo/target.mjs';
import { exampleNames, readExample } from '../harness/server/example-workflows.mjs';
import { ensureServer, type ServerVersion } from '../harness/install/install.mjs';
import { packPackage } from '../harness/server/packed-package.mjs';
import { freePort } from '../harness/server/ports.mjs';
import { startServer } from '../harness/server/server.mjs';

const help = `Starts n8n with this package, a gateway, a credential and the examples, until Ctrl-C.

  npm run editor -- [options]

  --n8n 1|2     which n8n: 2 is the newest (default), 1 the oldest that is supported
  --port N      port of the editor (default 5678, or a free one if it is taken)
  --help        this text

The first start installs n8n into a cache folder: some minutes and two gigabytes.
The gateway is the embedded one, or the one that MEDIA_GATEWAY_URL and MEDIA_GATEWAY_KEY name.
`;

const DEFAULT_PORT = 5678;

async function isFree(port: number): Promise<boolean> {
	return await new Promise((resolve) => {
		const probe = createServer();
		probe.once('error', () => resolve(false));
		probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
	});
}

async function choosePort(wanted: string | undefined): Promise<number> {
	if (wanted !== undefined) {
		const port = Number(wanted);
		if (!Number.isInteger(port) || port < 1 || port > 65_535) {
			throw new Error(`--port takes a number from 1 to 65535, not ${wanted}`);
		}
		if (!(await isFree(port))) throw new Error(`Port ${port} is taken: choose another --port`);
		return port;
	}
	return (await isFree(DEFAULT_PORT)) ? DEFAULT_PORT : await freePort();
}

/** The newest n8n that this computer can run, unless one was asked for. */
async function chooseVersion(wanted: string | undefined): Promise<ServerVersion> {
	if (wanted !== undefined && wanted !== '1' && wanted !== '2') {
		throw new Error(`--n8n takes 1 or 2, not ${wanted}`);
	}
	const version = wanted ?? '2';
	try {
		await ensureServer(version, console.log);
		return version;
	} catch (error) {
		if (wanted !== undefined) throw error;
		console.log(`${(error as Error).message}\nTrying n8n 1.x instead.`);
		await ensureServer('1', console.log);
		return '1';
	}
}

async function main(): Promise<void> {
	const { values } = parseArgs({
		options: {
			n8n: { type: 'string' },
			port: { type: 'string' },
			help: { type: 'boolean' },
		},
	});
	if (values.help) {
		process.stdout.write(help);
		return;
	}
	const ended = new Promise<void>((resolve) => {
		for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
	});
	const port = await choosePort(values.port);
	const version = await chooseVersion(values.n8n);
	const packed = await packPackage();
	const target = await openTarget();
	console.log('Starting n8n …');
	const server = await startServer({ version, package: packed.tarball, port });
	try {
		const { id, name } = await server.createCredential({
			type: 'mediaGatewayApi',
			name: 'Media Gateway account',
			data: { baseUrl: target.url, apiKey: target.key },
		});
		const lines = [
			`n8n ${server.install.n8nVersion} with ${packed.name} ${packed.version} is ready.`,
			'',
			`  Address    ${server.url}`,
			`  Sign in    ${server.owner.email}, password ${server.owner.password}`,
			// Another gateway's key is its owner's: whoever set it has it.
			`  Gateway    ${target.label}${process.env.MEDIA_GATEWAY_URL ? '' : `, key ${target.key}`}`,
			`  Credential ${name}`,
		];
		for (const example of exampleNames()) {
			const workflow = readExample(example, { mediaGatewayApi: { id, name } });
			if (target.model) useModel(workflow.nodes, target.model);
			const stored = await server.createWorkflow(workflow);
			lines.push(`  Example    ${stored.name}: ${server.url}/workflow/${stored.id}`);
		}
		console.log([...lines, '', 'Press Ctrl-C to end it; what you made is gone then.'].join('\n'));
		await ended;
		console.log('\nStopping n8n …');
	} finally {
		await server.dispose();
		await target.close();
	}
	if (existsSync(server.userFolder)) console.log(`Kept: ${server.userFolder}`);
}

/** The examples name models of the embedded gateway; another gateway has its own. */
function useModel(nodes: Array<{ parameters?: Record<string, unknown> }>, model: string): void {
	for (const { parameters } of nodes) {
		const chosen = parameters?.model;
		if (chosen && typeof chosen === 'object' && '__rl' in chosen) {
			parameters.model = { __rl: true, mode: 'name', value: model };
		}
	}
}

main().then(
	() => process.exit(0),
	(error: Error) => {
		console.error(`The editor did not start: ${error.message}`);
		process.exit(1);
	},
);
