import * as net from 'node:net';

const HOST = '127.0.0.1';

/**
 * A port of 127.0.0.1.
 * @param preferred the port to take if it is free. Default: any unused one
 * @returns port number
 */
export async function freePort(preferred = 0): Promise<number> {
	try {
		return await opened(preferred);
	} catch (error) {
		if (preferred === 0) throw error;
		return await opened(0);
	}
}

/** Whether nothing listens at a port of 127.0.0.1. */
export async function isFree(port: number): Promise<boolean> {
	return await opened(port).then(
		() => true,
		() => false,
	);
}

/** Opens a port and closes it again. */
async function opened(wanted: number): Promise<number> {
	const probe = net.createServer();
	await new Promise<void>((resolve, reject) => {
		probe.once('error', reject);
		probe.listen(wanted, HOST, resolve);
	});
	const { port } = probe.address() as net.AddressInfo;
	await new Promise((resolve) => probe.close(resolve));
	return port;
}
