/**
 * The way to the gateway over real sockets, so that the other way is not merely believed: axios' own
 * adapter, a server of Node.js, and time that passes when nothing moves on the wire any more.
 */
import { subscribe } from 'node:diagnostics_channel';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { clock, real } from '../time/take-over.mjs';
import { axiosOfN8n, type AxiosConfig } from './axios-of-n8n.mjs';
import { readParts } from './form-parts.mjs';
import type { Delivery, Destination, Way } from './messages.mjs';

/**
 * Nothing has moved for so many turns of a millisecond: whatever was sent has arrived. A busy machine
 * takes longer over what is known to be on its way.
 */
const QUIET_TURNS = 3;
const QUIET_TURNS_ON_THE_WAY = 500;

/** Told whether the server keeps a request until its time comes, or sends something. */
type Keep = (isKept: boolean) => void;

/** Opens the server. */
export async function openSockets(): Promise<Way> {
	/** Axios' own. */
	const usual = axiosOfN8n.getAdapter(axiosOfN8n.defaults.adapter);
	let moves = 0;
	let movesBefore = -1;
	let open = 0;
	/** Calls that wait for their response, and requests that the server keeps until their time comes. */
	let calls = { count: 0 };
	let kept = 0;
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
		let isKept = false;
		const keep = (whether: boolean): void => {
			kept += Number(whether) - Number(isKept);
			isKept = whether;
			moved();
		};
		response.once('close', () => {
			open -= 1;
			keep(false);
		});
		void answer(request, response, () => to, keep).finally(moved);
	});
	server.on('connection', moved);
	server.keepAliveTimeout = 0;
	await new Promise<void>((resolve) => server.listen(0, resolve));
	server.unref();
	const { port } = server.address() as AddressInfo;

	const call = async (config: AxiosConfig): Promise<unknown> => {
		const own = calls;
		own.count += 1;
		moved();
		try {
			return await usual(config);
		} finally {
			own.count -= 1;
			moved();
		}
	};
	const isQuiet = (): boolean => moves === movesBefore && calls.count === kept;

	return {
		name: 'sockets',
		origin: (world) => `http://127.0.0.1:${port}/world-${String(world).padStart(8, '0')}`,
		foreignOrigin: `http://localhost:${port}`,
		connect: (destination) => {
			axiosOfN8n.defaults.adapter = call;
			to = destination;
		},
		settled: async () => {
			// What happens within the process takes no longer than without sockets.
			for (let turn = 0; turn < 2; turn += 1) {
				await new Promise<void>((resolve) => real.setImmediate(resolve));
			}
			if (isQuiet()) return;
			for (let quiet = 0; quiet < turnsOf(calls.count > kept); movesBefore = moves) {
				await new Promise<void>((resolve) => real.setTimeout(resolve, 1));
				quiet = movesBefore === moves ? quiet + 1 : 0;
			}
		},
		inFlight: () => open,
		reset: () => {
			calls = { count: 0 };
			movesBefore = -1;
			server.closeAllConnections();
		},
	};
}

const turnsOf = (isOnTheWay: boolean): number =>
	isOnTheWay ? QUIET_TURNS_ON_THE_WAY : QUIET_TURNS;

async function answer(
	request: IncomingMessage,
	response: ServerResponse,
	to: () => Destination | undefined,
	keep: Keep,
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
	keep(true);
	if (delivery.end === 'never' && delivery.sent === 0) return;
	clock.schedule(delivery.afterMs, () => send(response, delivery, keep), 'gateway');
}

function send(response: ServerResponse, delivery: Delivery, keep: Keep): void {
	const { status, headers, body, sent, end, dripMs, onArrival } = delivery;
	const { socket } = response;
	if (socket === null || socket.destroyed) return;
	keep(false);
	if (end === 'cut' && sent === 0) return void socket.resetAndDestroy();
	response.writeHead(status, { 'content-length': body.length, ...headers });
	const finish = (): void => {
		if (socket.destroyed) return;
		if (end === 'cut') socket.destroy();
		// An open connection would be closed by the caller, which takes its time on a wire.
		else if (end === 'whole' || sent > 0) {
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
		if (from >= sent) {
			keep(false);
			return finish();
		}
		response.write(body.subarray(from, Math.min(sent, from + size)));
		onArrival?.(Math.min(sent, from + size), false);
		keep(true);
		clock.schedule(dripMs, () => drip(from + size), 'gateway');
	};
	drip(0);
}
