/** A gateway that was written elsewhere, started from its package, without a network. */
import { spawn } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** The program of the package, which its manifest doesn't export. */
const PROGRAM = join(
	import.meta.dirname ?? __dirname,
	'../../../node_modules/@portkey-ai/gateway/build/start-server.js',
);

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
export async function startForeignGateway(): Promise<ForeignGateway> {
	const port = await freePort();
	const url = `http://127.0.0.1:${port}`;
	const child = spawn(process.execPath, [PROGRAM, '--headless', `--port=${port}`], {
		stdio: 'ignore',
	});
	const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
	const until = Date.now() + START_MS;
	while (!(await responds(url))) {
		if (child.exitCode !== null || Date.now() > until) {
			child.kill();
			throw new Error('The gateway of another author did not start.');
		}
		await sleep(100);
	}
	return {
		url,
		headersFor: (upstream, provider) => ({
			values: [
				{ name: 'x-portkey-provider', value: provider },
				{ name: 'x-portkey-custom-host', value: `${upstream}/v1` },
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
