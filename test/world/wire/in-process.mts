/**
 * The way to the gateway without sockets. It stands where axios, on which n8n's HTTP helper is
 * built, opens a connection: everything of n8n above that is the real thing. Streams, headers,
 * aborts and the codes of errors are those of axios' own adapter for Node.js.
 */
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { Readable } from 'node:stream';
import { clock, real } from '../time/take-over.mjs';
import { axiosOfN8n, type AxiosConfig } from './axios-of-n8n.mjs';
import type { Delivery, Destination, FormPart, WireRequest } from './messages.mjs';

/** A wire of its own for each of two executions: its gateway is not the other's. */
interface Wire {
	destination?: Destination;
	/** What is under way; another one for each process. */
	underWay: { count: number };
}

const current: Wire = { underWay: { count: 0 } };

/** The way between the nodes and the gateway. */
export const wire = {
	/** The gateway's address in a world: the package caches by address. @param world its number */
	origin: (world: number) => `http://gateway-${String(world).padStart(8, '0')}.test`,
	/** Another host, at which the same gateway answers. */
	foreignOrigin: 'http://pictures.foreign.test',
	connect: (to: Destination) => {
		current.destination = to;
		axiosOfN8n.defaults.adapter = send;
	},
	/** Resolves when nothing can happen any more without time passing. */
	settled: async () => {
		for (let turn = 0; turn < 2; turn += 1) {
			await new Promise<void>((resolve) => real.setImmediate(resolve));
		}
	},
	/** Requests that wait for an answer or for the rest of one. */
	inFlight: () => current.underWay.count,
	/** Forgets what is under way. */
	reset: () => {
		current.underWay = { count: 0 };
	},
};

async function send(config: AxiosConfig): Promise<unknown> {
	const url = new URL(config.url ?? '', config.baseURL);
	for (const [name, value] of Object.entries(config.params ?? {})) {
		url.searchParams.append(name, String(value));
	}
	const headers: Record<string, string> = {};
	for (const [name, value] of Object.entries(config.headers.toJSON())) {
		if (value === undefined || value === null || value === false) continue;
		validateHeaderName(name);
		validateHeaderValue(name, String(value));
		headers[name.toLowerCase()] = String(value);
	}
	const fail = (message: string, code: string): Error =>
		new axiosOfN8n.AxiosError(message, code, config, {});
	if (config.signal?.aborted) throw new axiosOfN8n.CanceledError(undefined, config, {});
	const { destination, underWay: own } = current;
	const to = destination!;
	// A killed process sends nothing, and hears nothing of it.
	if (!to.isAlive()) return await new Promise(() => undefined);
	own.count += 1;
	try {
		const body = await bodyOf(config.data);
		if (config.signal?.aborted) throw new axiosOfN8n.CanceledError(undefined, config, {});
		const method = (config.method ?? 'get').toUpperCase();
		const delivery = to.handle({ method, url, headers, body });
		return await new Promise((resolve, reject) => {
			const onAbort = () => reject(new axiosOfN8n.CanceledError(undefined, config, {}));
			config.signal?.addEventListener('abort', onAbort, { once: true });
			if (delivery.end === 'never' && delivery.sent === 0) return;
			const answer = () => {
				if (!to.isAlive() || config.signal?.aborted) return;
				config.signal?.removeEventListener('abort', onAbort);
				const { status, headers: told } = delivery;
				// As long as nobody has said that it must not, the library follows by itself.
				if (config.maxRedirects !== 0 && status >= 300 && status < 400 && told.location) {
					const target = new URL(told.location, url).href;
					resolve(send({ ...config, url: target, baseURL: undefined, params: {} }));
				} else if (delivery.refusal !== undefined) {
					reject(fail(`connect ${delivery.refusal} ${url.host}`, delivery.refusal));
				} else if (delivery.end === 'cut' && delivery.sent === 0) {
					reject(fail('socket hang up', 'ECONNRESET'));
				} else settle(config, delivery, to, resolve, reject);
			};
			clock.schedule(delivery.afterMs, answer, 'gateway');
		});
	} finally {
		own.count -= 1;
	}
}

function settle(
	config: AxiosConfig,
	delivery: Delivery,
	to: Destination,
	resolve: (response: unknown) => void,
	reject: (reason: unknown) => void,
): void {
	const { status, headers: given } = delivery;
	const length: Record<string, string> =
		delivery.end === 'whole' ? { 'content-length': String(delivery.body.length) } : {};
	const stream = streamOf(delivery, to, config.signal);
	const headers = new axiosOfN8n.AxiosHeaders({ ...length, ...given });
	const response = {
		data: stream as unknown,
		status,
		statusText: '',
		headers,
		config,
		request: {},
	};
	const finish = (): void => {
		if (config.validateStatus?.(status) ?? true) resolve(response);
		else {
			const message = `Request failed with status code ${status}`;
			const code = status >= 500 ? 'ERR_BAD_RESPONSE' : 'ERR_BAD_REQUEST';
			reject(new axiosOfN8n.AxiosError(message, code, config, {}, response));
		}
	};
	if (config.responseType === 'stream') return finish();
	const chunks: Buffer[] = [];
	stream.on('data', (chunk: Buffer) => chunks.push(chunk));
	stream.on('error', (error) => reject(axiosOfN8n.AxiosError.from(error, 'ECONNRESET', config)));
	stream.on('end', () => {
		const bytes = Buffer.concat(chunks);
		response.data = config.responseType === 'arraybuffer' ? bytes : bytes.toString();
		finish();
	});
}

/** A body as it comes from a socket: whole, cut, endless, in one piece or byte by byte. */
function streamOf(
	{ body, sent, end, dripMs, onArrival }: Delivery,
	to: Destination,
	signal: AxiosConfig['signal'],
): Readable {
	const own = current.underWay;
	own.count += 1;
	// Whoever has read it to the end, or thrown it away, goes on before it is closed.
	let isOpen = true;
	const over = (): void => {
		if (isOpen) own.count -= 1;
		isOpen = false;
	};
	const stream = new Readable({
		read: () => undefined,
		destroy: (error, done) => {
			over();
			done(error);
		},
	});
	stream.once('end', over);
	stream.once('error', over);
	stream.once('close', () => {
		over();
		signal?.removeEventListener('abort', onAbort);
	});
	const onAbort = (): void => {
		if (stream.destroyed) return;
		stream.emit('error', new axiosOfN8n.CanceledError());
		stream.destroy();
	};
	signal?.addEventListener('abort', onAbort, { once: true });
	const finish = (): void => {
		if (stream.destroyed || !to.isAlive()) return;
		if (end === 'whole') {
			onArrival?.(sent, true);
			stream.push(null);
		}
		// As an IncomingMessage whose connection is gone.
		else if (end === 'cut') {
			stream.destroy(Object.assign(new Error('aborted'), { code: 'ECONNRESET' }));
		}
		// All has come, and nothing says so.
		else onArrival?.(sent, true);
	};
	if (dripMs === undefined) {
		if (sent > 0) stream.push(body.subarray(0, sent));
		onArrival?.(sent, false);
		if (end === 'cut') clock.schedule(1, finish, 'gateway');
		else finish();
		return stream;
	}
	const size = Math.max(1, Math.ceil(sent / 40));
	const drip = (from: number): void => {
		if (stream.destroyed || !to.isAlive()) return;
		if (from >= sent) return finish();
		stream.push(body.subarray(from, Math.min(sent, from + size)));
		onArrival?.(Math.min(sent, from + size), false);
		clock.schedule(dripMs, () => drip(from + size), 'gateway');
	};
	drip(0);
	return stream;
}

async function bodyOf(data: unknown): Promise<WireRequest['body']> {
	if (data === undefined || data === null) return undefined;
	if (Buffer.isBuffer(data)) return data;
	if (typeof data === 'string') return Buffer.from(data);
	if (data instanceof URLSearchParams) return Buffer.from(data.toString());
	// JSON with files inside it.
	if (Object.prototype.toString.call(data) === '[object Blob]')
		return await bytesOf(data as FilePart);
	const parts: FormPart[] = [];
	for (const [name, value] of data as Iterable<[string, string | FilePart]>) {
		if (typeof value === 'string') parts.push({ name, value: Buffer.from(value) });
		else {
			const { name: fileName, type } = value;
			parts.push({ name, fileName, type, value: await bytesOf(value) });
		}
	}
	return parts;
}

async function bytesOf(part: FilePart): Promise<Buffer> {
	const chunks: Uint8Array[] = [];
	for await (const chunk of part.stream()) chunks.push(chunk);
	return Buffer.concat(chunks);
}

interface FilePart {
	name: string;
	type: string;
	stream(): AsyncIterable<Uint8Array>;
}
