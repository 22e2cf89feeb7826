/**
 * The way to the gateway over real sockets, so that the other way is not merely believed: axios' own
 * adapter, a server of Node.js, and time that passes when nothing moves on the wire any more.
 */
import { subscribe } from 'node:diagnostics_channel';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { clock, real } from '../time/take-over.mjs';
import { axiosOfN8n } from './axios-of-n8n.mjs';
import { readParts } from './form-parts.mjs';
import type { Delivery, Destination, Way } from './messages.mjs';

/** Nothing has moved for so many turns of a millisecond: whatever was sent has arrived. */
const QUIET_TURNS = 3;

/** Opens the server. @param usual axios' own adapter */
export async function openSockets(usual: unknown): Promise<Way> {
	let moves = 0;
	let open = 0;
	let to: Destination | undefined;
	const moved = (): void => {
		moves += 1;
	};
	for (const channel of ['http.client.request.start', 'http.client.response.finish']) {
		subscribe(channel, moved);
	}
	const server = createServer((request, response) => {
		open += 1;
		moved();
		response.once('close', () => {
			open -= 1;
			moved();
		});
		void answer(request, response, () => to).finally(moved);
	});
	server.on('connection', moved);
	server.keepAliveTimeout = 0;
	await new Promise<void>((resolve) => server.listen(0, resolve));
	server.unref();
	const { port } = server.address() as AddressInfo;

	return {
		name: 'sockets',
		origin: (world) => `http://127.0.0.1:${port}/world-${String(world).padStart(8, '0')}`,
		foreignOrigin: `http://localhost:${port}`,
		connect: (destination) => {
			axiosOfN8n.defaults.adapter = usual;
			to = destination;
		},
		settled: async () => {
			for (let quiet = 0, before = -1; quiet < QUIET_TURNS; before = moves) {
				await new Promise<void>((resolve) => real.setTimeout(resolve, 1));
				quiet = before === moves ? quiet + 1 : 0;
			}
		},
		inFlight: () => open,
		reset: () => server.closeAllConnections(),
	};
}

async function answer(
	request: IncomingMessage,
	response: ServerResponse,
	to: () => Destination | undefined,
): Promise<void> {
	const chunks: Buffer[] = [];
	try {
		for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
	} catch {
		// The caller has gone before all had arrived: nothing was asked.
		return;
	}
	const headers = Object.fromEntries(
		Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
	);
	const url = new URL(request.url ?? '/', `http://${headers.host}`);
	url.pathname = url.pathname.replace(/^\/world-\d+/, '');
	const whole = Buffer.concat(chunks);
	const body = readParts(headers['content-type'], whole) ?? whole;
	const destination = to();
	if (destination === undefined) return;
	const delivery = destination.handle({ method: request.method ?? 'GET', url, headers, body });
	if (delivery.end === 'never' && delivery.sent === 0) return;
	clock.schedule(delivery.afterMs, () => send(response, delivery), 'gateway');
}

function send(response: ServerResponse, delivery: Delivery): void {
	const { status, headers, body, sent, end, dripMs, onArrival } = delivery;
	const { socket } = response;
	if (socket === null || socket.destroyed) return;
	if (end === 'cut' && sent === 0) return void socket.resetAndDestroy();
	response.writeHead(status, { 'content-length': body.length, ...headers });
	const finish = (): void => {
		if (socket.destroyed) return;
		if (end === 'cut') socket.destroy();
		else if (end === 'whole') {
			onArrival?.(sent, true);
			response.end();
		}
	};
	if (dripMs === undefined) {
		response.write(body.subarray(0, sent));
		onArrival?.(sent, false);
		if (end === 'cut') clock.schedule(1, finish, 'gateway');
		else finish();
		return;
	}
	const size = Math.max(1, Math.ceil(sent / 40));
	const drip = (from: number): void => {
		if (socket.destroyed) return;
		if (from >= sent) return finish();
		response.write(body.subarray(from, Math.min(sent, from + size)));
		onArrival?.(Math.min(sent, from + size), false);
		clock.schedule(dripMs, () => drip(from + size), 'gateway');
	};
	drip(0);
}
