import * as net from 'node:net';

/**
 * An unused port of 127.0.0.1.
 * @returns port number
 */
export async function freePort(): Promise<number> {
	const probe = net.createServer();
	await new Promise<void>((resolve, reject) => {
		probe.once('error', reject);
		probe.listen(0, '127.0.0.1', resolve);
	});
	const { port } = probe.address() as net.AddressInfo;
	await new Promise((resolve) => probe.close(resolve));
	return port;
}
