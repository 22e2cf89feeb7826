import multipart from '@fastify/multipart';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { disabledKey, imageAccount, keys } from './http/accounts.mjs';
import { Refusal, refusal, json, type GatewayResponse } from './http/gateway-response.mjs';
import { Faults, handlesFirst, spoil } from './http/faults.mjs';
import type { ParsedRequest, ServerContext } from './http/server-context.mjs';
import { createImages, download, edit, generate, query } from './images/image-endpoints.mjs';
import { PaymentKeys } from './http/payment-keys.mjs';
import { RequestLog } from './http/request-log.mjs';
import { defaultModels, type MediaModel } from './models/default-models.mjs';
import { endpointsOf, listImageModels } from './models/image-models.mjs';
import { listModels, oneModel, wantsJsonc } from './models/model-listing.mjs';
import { message } from './messages/message-endpoint.mjs';
import { messageModels } from './messages/reasoning.mjs';
import type { Fault, Gateway, GatewayOptions, ReceivedRequest } from './gateway-options.mjs';
import { ImageStore } from './images/image-store.mjs';
import { RequestRate } from './http/request-rate.mjs';
import { TaskStore } from './images/task-store.mjs';

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
) => ParsedRequest | Promise<ParsedRequest>;

const admin = '/__admin';
const bodyLimit = 64 * 1024 * 1024;

/**
 * Starts an embedded gateway that serves the whole protocol (docs/protocol.md) on loopback. It listens when the
 * promise resolves; `close()` also cuts the connections that still wait for a response.
 */
export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
	const now = options.now ?? Date.now;
	const closing = new AbortController();
	const context: ServerContext = {
		options,
		now,
		models: (options.models as MediaModel[] | undefined) ?? defaultModels,
		log: new RequestLog(),
		faults: new Faults(options.faults),
		tasks: new TaskStore(options, now),
		images: new ImageStore(options),
		closing: closing.signal,
	};
	const keysOfPayments = new PaymentKeys(options, now);
	const reset = () => {
		for (const part of [context.log, context.tasks, context.images, keysOfPayments]) part.reset();
		context.faults.set(options.faults ?? []);
	};

	const app = server(options);
	await app.register(multipart, {
		limits: { fileSize: Infinity, files: 100, fields: 1000, parts: 1100, fieldSize: bodyLimit },
	});
	record(app, context);
	routes(app, context, keysOfPayments);
	adminRoutes(app, context, reset);
	await app.listen({ host: options.host ?? '127.0.0.1', port: options.port ?? 0 });

	const { address, family, port } = app.server.address() as AddressInfo;
	const name = family === 'IPv6' ? `[${address}]` : address;
	const url = `${options.tls ? 'https' : 'http'}://${name}:${port}`;
	return {
		url,
		keys,
		disabledKey,
		adminUrl: url + admin,
		requests: context.log.requests,
		count: (call) => context.log.count(call),
		get paid() {
			return context.log.paid;
		},
		get paidByPrompt() {
			return context.log.paidByPrompt;
		},
		get inFlight() {
			return context.log.inFlight;
		},
		get maxInFlight() {
			return context.log.maxInFlight;
		},
		setFaults: (faults) => context.faults.set(faults),
		task: (id) => {
			const task = context.tasks.get(id);
			return task && { ...task, status: context.tasks.status(task) };
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
function record(app: FastifyInstance, context: ServerContext): void {
	app.decorateRequest('record', undefined);
	app.addHook('onRequest', (request, reply, done) => {
		if (!request.url.startsWith(admin)) {
			if (context.options.requestIds) void reply.header('x-request-id', `req_${request.id}`);
			request.record = context.log.receive(request, context.now(), 'other');
			reply.raw.once('close', () => {
				context.log.inFlight -= 1;
			});
		}
		done();
	});
	app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
		const status = error.statusCode ?? 500;
		// The protocol knows 400 for every malformed request, 413 and 415 included.
		const refused =
			error instanceof Refusal ? error : refusal(status < 500 ? 400 : status, error.message);
		void send(reply, json(refused.body, refused.status, refused.headers), request.record);
	});
	app.setNotFoundHandler((request, reply) => {
		const { body } = refusal(404, `no such endpoint: ${request.method} ${request.url}`);
		void send(reply, json(body, 404), request.record);
	});
}

function routes(app: FastifyInstance, context: ServerContext, keysOfPayments: PaymentKeys): void {
	const limit = context.options.requestsPerSecond;
	const rate = limit === undefined ? undefined : new RequestRate(limit);
	const root = rootOf(context);
	const serve =
		(understand: Understand) => async (request: FastifyRequest, reply: FastifyReply) => {
			const parsed = await understand(request, request.record!);
			context.log.classify(request.record!, parsed.call);
			if (parsed.call !== 'download' && rate?.pass(context.now()) === false) {
				throw tooFrequent();
			}
			const keyed = keysOfPayments.keyed(request, request.record!, parsed);
			return await conduct(context, request, reply, keyed);
		};

	if (context.options.imageApi === 'openRouter') routerRoutes(app, context, serve);
	else usualRoutes(app, context, serve);
	app.post(
		`${root}/messages`,
		serve((request, to) => message(context, request, to)),
	);
	app.get(
		`${root}/models`,
		serve((request) => names(context, request)),
	);
	app.get(
		'/images/:file',
		serve((request) => download(context, request)),
	);
}

type Serve = (
	understand: Understand,
) => (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** Images and the media list (docs/protocol.md, "Endpoints" and "Model list"). */
function usualRoutes(app: FastifyInstance, context: ServerContext, serve: Serve): void {
	const root = rootOf(context);
	app.post(
		`${root}/images/generations`,
		serve((request, to) => generate(context, request, to)),
	);
	if (context.options.imageApi !== 'generations') {
		app.post(
			`${root}/images/edits`,
			serve((request, to) => edit(context, request, to)),
		);
	}
	app.get(
		`${root}/images/generations/:id`,
		serve((request, to) => query(context, request, to, 'generation')),
	);
	app.get(
		`${root}/images/edits/:id`,
		serve((request, to) => query(context, request, to, 'edit')),
	);
	app.get(
		`${root}/media/models`,
		serve((request) => listing(context, request)),
	);
	app.get(
		`${root}/media/models/*`,
		serve((request) => listing(context, request)),
	);
}

/** OpenRouter's Image API (docs/protocol.md, "OpenRouter's Image API"). */
function routerRoutes(app: FastifyInstance, context: ServerContext, serve: Serve): void {
	const root = rootOf(context);
	const listed = (respond: () => GatewayResponse) =>
		serve(() => ({ call: 'listing', prompt: '', settled: true, respond }));
	app.post(
		`${root}/images`,
		serve((request, to) => createImages(context, request, to)),
	);
	app.get(
		`${root}/images/models`,
		listed(() => listImageModels(context.models, root)),
	);
	app.get<{ Params: { '*': string } }>(`${root}/images/models/*`, async (request, reply) => {
		const name = request.params['*'].replace(/\/endpoints$/, '');
		return await listed(() => endpointsOf(context.models, name))(request, reply);
	});
}

function tooFrequent(): Refusal {
	const { body } = refusal(429, 'requests too frequent, retry later', 'rate_limit_error');
	return new Refusal(429, body, { 'retry-after': '1' });
}

const rootOf = ({ options }: ServerContext): string => options.root ?? '/v1';

function listing(context: ServerContext, request: FastifyRequest): ParsedRequest {
	const [path = ''] = request.url.split('?');
	const listingPath = `${rootOf(context)}/media/models/`;
	const name = path.startsWith(listingPath) ? path.slice(listingPath.length) : undefined;
	const jsonc = wantsJsonc(request.query as Record<string, unknown>, request.headers);
	const etag = request.headers['if-none-match'];
	const respond = () => {
		if (name === undefined) return listModels(context.models, jsonc, etag);
		// Read from the raw address: a slash that was not encoded is not part of a name (docs/protocol.md, "Model list").
		return oneModel(context.models, name.includes('/') ? name : decoded(name), jsonc, etag);
	};
	return { call: 'listing', prompt: '', settled: true, respond };
}

/** `GET /v1/models`: the names of all models, to whoever has a key. */
function names(context: ServerContext, request: FastifyRequest): ParsedRequest {
	imageAccount(request.headers);
	const respond = () => {
		const ids = [...context.models.map(({ model }) => model), ...messageModels];
		const data = ids.map((id) => ({ id, object: 'model', created: 0, owned_by: 'embedded' }));
		return json({ object: 'list', data });
	};
	return { call: 'names', prompt: '', settled: true, respond };
}

function decoded(name: string): string {
	try {
		return decodeURIComponent(name);
	} catch {
		return name;
	}
}

/** Responds to a request, rightly or as the faults in force have it. */
async function conduct(
	context: ServerContext,
	request: FastifyRequest,
	reply: FastifyReply,
	parsed: ParsedRequest,
): Promise<FastifyReply> {
	const { delayMs, fault } = context.faults.strike(parsed);
	if (delayMs > 0) await context.faults.delay(delayMs, context.closing);
	if (fault === undefined) return send(reply, await parsed.respond(), request.record);

	let right: GatewayResponse | undefined;
	if (fault.kind === 'cutSilent') {
		const cut = sleep(fault.ms ?? 60_000, undefined, { signal: context.closing });
		const first = await Promise.race([Promise.resolve(parsed.respond()), cut]);
		if (first !== undefined) return send(reply, first, request.record);
	} else if (handlesFirst(fault)) {
		try {
			right = await parsed.respond();
		} catch (error) {
			// A refusal is no payment, but the fault spoils it all the same.
			if (!(error instanceof Refusal)) throw error;
			right = json(error.body, error.status, error.headers);
		}
	}
	const spoilt = spoil(fault, right, context.now());
	if (spoilt !== undefined) return send(reply, spoilt, request.record);
	reply.hijack();
	if (fault.kind !== 'silence') request.raw.socket.destroy();
	return reply;
}

function send(
	reply: FastifyReply,
	{ status, type, body, headers }: GatewayResponse,
	to: ReceivedRequest | undefined,
): FastifyReply {
	if (to !== undefined) to.status = status;
	return reply
		.code(status)
		.header('content-type', type)
		.headers(headers ?? {})
		.send(body);
}

function adminRoutes(app: FastifyInstance, context: ServerContext, reset: () => void): void {
	app.get(`${admin}/stats`, () => context.log.stats());
	app.get(`${admin}/requests`, () => context.log.requests);
	app.post(`${admin}/faults`, (request) => {
		if (!Array.isArray(request.body)) throw refusal(400, 'expected a JSON array of faults');
		context.faults.set(request.body as Fault[]);
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
