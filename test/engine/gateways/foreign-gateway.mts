/** Gateways that were written elsewhere, each started from its package, without a network. */
import { spawn } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const here = import.meta.dirname ?? __dirname;

/** How each is started on a port. What its headers begin with is part of its protocol. */
const GATEWAYS = {
	portkey: (port: number) => [
		// Its manifest doesn't export the program.
		join(here, '../../../node_modules/@portkey-ai/gateway/build/start-server.js'),
		'--headless',
		`--port=${port}`,
	],
	llmops: (port: number) => [
		join(here, 'serve-fetch-handler.mjs'),
		'@llmops/gateway',
		String(port),
	],
};

export type GatewayName = keyof typeof GATEWAYS;

export interface ForeignGateway {
	url: string;
	/** The additional headers of a credential that leads to this upstream, which speaks as `provider` does. */
	headersFor(
		upstream: string,
		provider: string,
	): { values: Array<{ name: string; value: string }> };
	close(): Promise<void>;
}

async function freePort(): Promise<number> {
	const server = createServer().listen(0, '127.0.0.1');
	await new Promise((resolve) => server.once('listening', resolve));
	const { port } = server.address() as AddressInfo;
	await new Promise((resolve) => server.close(resolve));
	return port;
}

/** In milliseconds: how long it may take to start on a busy machine. */
const START_MS = 60_000;

/** Starts the gateway on a free port, and waits until it responds. */
export async function startForeignGateway(name: GatewayName): Promise<ForeignGateway> {
	const port = await freePort();
	const url = `http://127.0.0.1:${port}`;
	const child = spawn(process.execPath, GATEWAYS[name](port), { stdio: 'ignore' });
	const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
	const until = Date.now() + START_MS;
	while (!(await responds(url))) {
		if (child.exitCode !== null || Date.now() > until) {
			child.kill();
			throw new Error(`The gateway of another author did not start: ${name}.`);
		}
		await sleep(100);
	}
	return {
		url,
		headersFor: (upstream, provider) => ({
			values: [
				{ name: `x-${name}-provider`, value: provider },
				{ name: `x-${name}-custom-host`, value: `${upstream}/v1` },
			],
		}),
		close: async () => {
			child.kill();
			await ended;
		},
	};
}

const responds = async (url: string): Promise<boolean> =>
	await fetch(url).then(
		() => true,
		() => false,
	);
