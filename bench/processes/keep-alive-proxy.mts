/**
 * A reverse proxy in a process of its own, as docs/running.md recommends one: takes plain HTTP on
 * 127.0.0.1 and keeps its connections to the gateway. It is started by `openProxy`.
 */
import * as http from 'node:http';
import * as https from 'node:https';
import type { AddressInfo } from 'node:net';

/** @returns the address of the proxy */
async function start(gateway: URL): Promise<string> {
	const { request, Agent } = gateway.protocol === 'https:' ? https : http;
	const agent = new Agent({ keepAlive: true, maxSockets: 100 });
	const server = http.createServer((incoming, response) => {
		const { method, headers } = incoming;
		// What holds for one connection only is not handed on.
		const { connection: _, ...others } = headers;
		const onward = request(new URL(incoming.url ?? '/', gateway), {
			agent,
			method,
			headers: { ...others, host: gateway.host },
		});
		onward.on('response', (incoming) => {
			const { connection: _, 'keep-alive': __, ...headers } = incoming.headers;
			response.writeHead(incoming.statusCode ?? 502, headers);
			incoming.pipe(response);
		});
		onward.on('error', () =>
			response.headersSent ? response.destroy() : response.writeHead(502).end(),
		);
		incoming.pipe(onward);
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

process.on('message', ({ id, command }: { id: number; command: { url: string } }) => {
	start(new URL(command.url)).then(
		(value) => process.send?.({ id, value }),
		(error: Error) => process.send?.({ id, error: error.message }),
	);
});
process.once('disconnect', () => process.exit(0));
