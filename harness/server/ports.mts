import * as net from 'node:net';

import { until } from '../wait-until.mjs';

const HOST = '127.0.0.1';
/** From 32,768 on, the system gives ports to connections: one could be taken before it is used. */
const [LOWEST, ABOVE] = [20_000, 32_768];
const given = new Set<number>();

/**
 * A port of 127.0.0.1.
 * @param preferred the port to take if it is free. Default: any unused one
 * @returns port number
 */
export async function freePort(preferred?: number): Promise<number> {
	if (preferred !== undefined && (await isFree(preferred))) return preferred;
	return await until('a free port', 10, async () => {
		const port = LOWEST + Math.floor(Math.random() * (ABOVE - LOWEST));
		return !given.has(port) && (await isFree(port)) && given.add(port) && port;
	});
}

/** Whether nothing listens at a port of 127.0.0.1. */
export async function isFree(port: number): Promise<boolean> {
	const probe = net.createServer();
	return await new Promise((resolve) => {
		probe.once('error', () => resolve(false));
		probe.listen(port, HOST, () => probe.close(() => resolve(true)));
	});
}
