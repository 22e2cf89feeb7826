import multipart from '@fastify/multipart';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { disabledKey, keys } from './http/accounts.mjs';
import { Refusal, refusal, json, type Answer } from './http/gateway-response.mjs';
import { Faults, handlesFirst, spoil } from './http/faults.mjs';
import type { Exchange, House } from './http/server-context.mjs';
import { download, edit, generate, query } from './images/image-endpoints.mjs';
import { Ledger } from './http/request-log.mjs';
import {
	defaultModels,
	listModels,
	oneModel,
	wantsJsonc,
	type MediaModel,
} from './models/model-listing.mjs';
import { message } from './messages/message-endpoint.mjs';
import type { Fault, Gateway, GatewayOptions, ReceivedRequest } from './gateway-options.mjs';
import { Pictures } from './images/image-store.mjs';
import { RateLimit } from './http/request-rate.mjs';
import { Tasks } from './images/task-store.mjs';

export { disabledKey } from './http/accounts.mjs';
export type * from './gateway-options.mjs';

declare module 'fastify' {
	interface FastifyRequest {
		/** Undefined for the admin endpoints, which are not recorded. */
		record: ReceivedRequest | undefined;
	}
}

type Understand = (
	request: FastifyRequest,
	record: ReceivedRequest,
) => Exchange | Promise<Exchange>;

const admin = '/__admin';
const listingPath = '/v1/media/models/';
const bodyLimit = 64 * 1024 * 1024;

/**
 * Starts an embedded gateway that serves the whole specification on loopback. It listens when the
 * promise resolves; `close()` also cuts the connections that still wait for an answer.
 */
export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
	const now = options.now ?? Date.now;
	const closing = new AbortController();
	const house: House = {
		options,
		now,
		models: (options.models as MediaModel[] | undefined) ?? defaultModels,
		ledger: new Ledger(),
		faults: new Faults(options.faults),
		tasks: new Tasks(options, now),
		pictures: new Pictures(options),
		closing: closing.signal,
	};
	const reset = () => {
		for (const part of [house.ledger, house.tasks, house.pictures]) part.reset();
		house.faults.set(options.faults ?? []);
	};

	const app = server(options);
	await app.register(multipart, {
		limits: { fileSize: Infinity, files: 100, fields: 1000, parts: 1100, fieldSize: bodyLimit },
	});
	record(app, house);
	routes(app, house);
	adminRoutes(app, house, reset);
	await app.listen({ host: options.host ?? '127.0.0.1', port: options.port ?? 0 });

	const { address, family, port } = app.server.address() as AddressInfo;
	const name = family === 'IPv6' ? `[${address}]` : address;
	const url = `${options.tls ? 'https' : 'http'}://${name}:${port}`;
	return {
		url,
		keys,
		disabledKey,
		adminUrl: url + admin,
		requests: house.ledger.requests,
		count: (call) => house.ledger.count(call),
		get paid() {
			return house.ledger.paid;
		},
		get paidByPrompt() {
			return house.ledger.paidByPrompt;
		},
		get inFlight() {
			return house.ledger.inFlight;
		},
		get maxInFlight() {
			return house.ledger.maxInFlight;
		},
		setFaults: (faults) => house.faults.set(faults),
		task: (id) => {
			const task = house.tasks.get(id);
			return task && { ...task, status: house.tasks.status(task) };
		},
		reset,
		close: async () => {
			closing.abort();
			await app.close();
		},
	};
}

function server(options: GatewayOptions): FastifyInstance {
	const common = {
		logger: options.logger ?? false,
		bodyLimit,
		forceCloseConnections: true,
		routerOptions: { maxParamLength: 2000 },
		exposeHeadRoutes: false,
	};
	// Two calls: the type of the instance follows from the options, and HTTPS has its own.
	if (options.tls === undefined) return Fastify(common);
	return Fastify({ ...common, https: options.tls }) as unknown as FastifyInstance;
}

/** Opens a record for each request, before anything can go wrong with it. */
function record(app: FastifyInstance, house: House): void {
	app.decorateRequest('record', undefined);
	app.addHook('onRequest', (request, reply, done) => {
		if (!request.url.startsWith(admin)) {
			request.record = house.ledger.receive(request, house.now(), 'other');
			reply.raw.once('close', () => {
				house.ledger.inFlight -= 1;
			});
		}
		done();
	});
	app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
		const status = error.statusCode ?? 500;
		// The specification knows 400 for every malformed request, 413 and 415 included.
		const refused =
			error instanceof Refusal ? error : refusal(status < 500 ? 400 : status, error.message);
		void send(reply, json(refused.body, refused.status, refused.headers), request.record);
	});
	app.setNotFoundHandler((request, reply) => {
		const { body } = refusal(404, `no such endpoint: ${request.method} ${request.url}`);
		void send(reply, json(body, 404), request.record);
	});
}

function routes(app: FastifyInstance, house: House): void {
	const limit = house.options.requestsPerSecond;
	const rate = limit === undefined ? undefined : new RateLimit(limit);
	const serve =
		(understand: Understand) => async (request: FastifyRequest, reply: FastifyReply) => {
			const exchange = await understand(request, request.record!);
			house.ledger.classify(request.record!, exchange.call);
			if (exchange.call !== 'download' && rate?.pass(house.now()) === false) {
				throw tooFrequent();
			}
			return await conduct(house, request, reply, exchange);
		};

	app.post(
		'/v1/images/generations',
		serve((request, to) => generate(house, request, to)),
	);
	app.post(
		'/v1/images/edits',
		serve((request, to) => edit(house, request, to)),
	);
	app.get(
		'/v1/images/generations/:id',
		serve((request, to) => query(house, request, to, 'generation')),
	);
	app.get(
		'/v1/images/edits/:id',
		serve((request, to) => query(house, request, to, 'edit')),
	);
	app.post(
		'/v1/messages',
		serve((request, to) => message(house, request, to)),
	);
	app.get(
		'/v1/media/models',
		serve((request) => listing(house, request)),
	);
	app.get(
		`${listingPath}*`,
		serve((request) => listing(house, request)),
	);
	app.get(
		'/images/:file',
		serve((request) => download(house, request)),
	);
}

function tooFrequent(): Refusal {
	const { body } = refusal(429, 'requests too frequent, retry later', 'rate_limit_error');
	return new Refusal(429, body, { 'retry-after': '1' });
}

function listing(house: House, request: FastifyRequest): Exchange {
	const [path = ''] = request.url.split('?');
	const name = path.startsWith(listingPath) ? path.slice(listingPath.length) : undefined;
	const jsonc = wantsJsonc(request.query as Record<string, unknown>, request.headers);
	const etag = request.headers['if-none-match'];
	const answer = () => {
		if (name === undefined) return listModels(house.models, jsonc, etag);
		// Read from the raw address: a slash that was not encoded is not part of a name (spec 4.7).
		return oneModel(house.models, name.includes('/') ? name : decoded(name), jsonc, etag);
	};
	return { call: 'listing', prompt: '', settled: true, answer };
}

function decoded(name: string): string {
	try {
		return decodeURIComponent(name);
	} catch {
		return name;
	}
}

/** Answers an exchange, rightly or as the faults in force have it. */
async function conduct(
	house: House,
	request: FastifyRequest,
	reply: FastifyReply,
	exchange: Exchange,
): Promise<FastifyReply> {
	const { delayMs, fault } = house.faults.strike(exchange);
	if (delayMs > 0) await sleep(delayMs, undefined, { signal: house.closing });
	if (fault === undefined) return send(reply, await exchange.answer(), request.record);

	let right: Answer | undefined;
	if (handlesFirst(fault)) {
		try {
			right = await exchange.answer();
		} catch (error) {
			// A refusal is no payment, but the fault spoils it all the same.
			if (!(error instanceof Refusal)) throw error;
			right = json(error.body, error.status, error.headers);
		}
	}
	const spoilt = spoil(fault, right, house.now());
	if (spoilt !== undefined) return send(reply, spoilt, request.record);
	reply.hijack();
	if (fault.kind !== 'silence') request.raw.socket.destroy();
	return reply;
}

function send(
	reply: FastifyReply,
	{ status, type, body, headers }: Answer,
	to: ReceivedRequest | undefined,
): FastifyReply {
	if (to !== undefined) to.status = status;
	return reply
		.code(status)
		.header('content-type', type)
		.headers(headers ?? {})
		.send(body);
}

function adminRoutes(app: FastifyInstance, house: House, reset: () => void): void {
	app.get(`${admin}/stats`, () => house.ledger.stats());
	app.get(`${admin}/requests`, () => house.ledger.requests);
	app.post(`${admin}/faults`, (request) => {
		if (!Array.isArray(request.body)) throw refusal(400, 'expected a JSON array of faults');
		house.faults.set(request.body as Fault[]);
		return { faults: request.body.length };
	});
	// A body, if any, does not matter here: neither does its type.
	app.post(
		`${admin}/reset`,
		{
			onRequest: (_request, reply) => {
				reset();
				void reply.send({ reset: true });
			},
		},
		() => undefined,
	);
}
