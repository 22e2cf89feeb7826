import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { imageAccount } from '../http/accounts.mjs';
import { json, refusal, type GatewayResponse } from '../http/gateway-response.mjs';
import { checkOrder, checkRouterFields, checkUploads, type Order } from './request-checks.mjs';
import type { ParsedRequest, ServerContext } from '../http/server-context.mjs';
import { small } from '../http/request-log.mjs';
import type { ReceivedRequest } from '../gateway-options.mjs';
import { promptDirectives } from './prompt-directives.mjs';
import { outcome, type Task, type TaskKind } from './task-store.mjs';
import { filesIn, readForm, recorded, type Form } from './upload-form.mjs';

/** `POST /v1/images/generations` (docs/protocol.md, "Endpoints"). */
export function generate(
	context: ServerContext,
	request: FastifyRequest,
	record: ReceivedRequest,
): ParsedRequest {
	record.body = small(request.body);
	const fields = isRecord(request.body) ? request.body : {};
	const asynchronous = asksAsync(request, fields.async === true);
	return order(context, request, record, 'generation', asynchronous, fields, ({ model }) => {
		const isEdit = context.options.imageApi === 'generations' && fields.image !== undefined;
		return isEdit ? checkUploads(filesIn(fields), model)[0] : undefined;
	});
}

/**
 * `POST /v1/images/edits` (docs/protocol.md, "Endpoints"): a form with one or more pictures, or JSON
 * where the gateway was started so.
 */
export async function edit(
	context: ServerContext,
	request: FastifyRequest,
	record: ReceivedRequest,
): Promise<ParsedRequest> {
	if (context.options.imageApi === 'json' || context.options.imageApi === 'images') {
		if (request.isMultipart()) throw refusal(415, 'the body must be application/json');
		const sent = isRecord(request.body) ? request.body : {};
		record.body = small(request.body);
		return order(
			context,
			request,
			record,
			'edit',
			asksAsync(request, sent.async === true),
			sent,
			({ model }) => checkUploads(filesIn(sent), model)[0],
		);
	}
	const form: Form = await readForm(request);
	record.body = recorded(form);
	const fields: Record<string, unknown> = Object.fromEntries(form.fields);
	const asynchronous = asksAsync(request, fields.async === 'true');
	return order(context, request, record, 'edit', asynchronous, fields, ({ model }) => {
		return checkUploads(form.files, model)[0];
	});
}

/**
 * `POST /v1/images` of OpenRouter's Image API: JSON, an edit if it has references; the images come as
 * Base64.
 */
export function createImages(
	context: ServerContext,
	request: FastifyRequest,
	record: ReceivedRequest,
): ParsedRequest {
	record.body = small(request.body);
	const { input_references: references, ...fields } = isRecord(request.body) ? request.body : {};
	const kind = references === undefined ? 'generation' : 'edit';
	// There are no tasks, so a model that has only those elsewhere responds at once.
	const models = context.models.map((model) => ({ ...model, generation_modes: ['sync'] }));
	const here = { ...context, models };
	const parsed = order(here, request, record, kind, false, fields, ({ model }) => {
		checkRouterFields(fields, references);
		return kind === 'edit' ? checkUploads(filesIn({ image: references }), model)[0] : undefined;
	});
	const respond = async (): Promise<GatewayResponse> => {
		const response = await parsed.respond();
		const { data, ...rest } = JSON.parse(String(response.body)) as { data: { url: string }[] };
		const images = data.map(async ({ url }) => {
			const id = /([^/]+)\.png$/.exec(url)?.[1] ?? '';
			const { body } = await context.images.respond(id);
			const bytes = Buffer.isBuffer(body) ? body : await buffer(body as Readable);
			return { b64_json: bytes.toString('base64'), media_type: 'image/png' };
		});
		return json({ ...rest, data: await Promise.all(images) });
	};
	return { ...parsed, respond };
}

/** `GET /v1/images/generations/{task_id}` and `GET /v1/images/edits/{task_id}`. */
export function query(
	context: ServerContext,
	request: FastifyRequest,
	record: ReceivedRequest,
	kind: TaskKind,
): ParsedRequest {
	const { id } = request.params as { id: string };
	const task = context.tasks.get(id);
	const settled = task !== undefined && context.tasks.settled(task);
	return {
		call: 'poll',
		prompt: task?.prompt ?? '',
		settled,
		respond: () => {
			record.account = imageAccount(request.headers);
			// The other kind's and the other account's tasks do not exist here (docs/protocol.md, "Endpoints").
			if (task === undefined || task.kind !== kind || task.account !== record.account) {
				throw refusal(404, `task ${id} does not exist`);
			}
			// By the same moment: its time may have ended since the request came.
			const status = context.tasks.status(task, settled);
			const body = taskBody(task, status, settled, origin(request));
			return json({ ...body, ...(body.data && billFor(context, body.data.length)) });
		},
	};
}

/** `GET /images/{id}.png`: public, the address is all it takes. */
export function download(context: ServerContext, request: FastifyRequest): ParsedRequest {
	const id = (request.params as { file: string }).file.replace(/\.png$/, '');
	const prompt = context.images.prompt(id);
	return { call: 'download', prompt, settled: true, respond: () => context.images.respond(id) };
}

/** The three forms of asking for a task (docs/protocol.md, "Asynchronous mode"). */
function asksAsync(request: FastifyRequest, inBody: boolean): boolean {
	const inQuery = (request.query as Record<string, unknown>).async;
	const inHeader = request.headers['x-async'];
	return inBody || inQuery === 'true' || String(inHeader).toLowerCase() === 'true';
}

type Source = { sha256: string; bytes: Buffer | undefined } | undefined;

function order(
	context: ServerContext,
	request: FastifyRequest,
	record: ReceivedRequest,
	kind: TaskKind,
	asynchronous: boolean,
	fields: Record<string, unknown>,
	sourceOf: (order: Order) => Source,
): ParsedRequest {
	const respond = (): GatewayResponse | Promise<GatewayResponse> => {
		const account = imageAccount(request.headers);
		record.account = account;
		const mode = asynchronous ? 'async' : 'sync';
		const checked = checkOrder(fields, kind, mode, context.models);
		const source = sourceOf(checked);
		const { prompt } = checked;
		const directives = promptDirectives(prompt);
		if (directives.quota)
			throw refusal(429, 'quota insufficient: top up the account', 'insufficient_quota');
		if (directives.refuse) {
			const message = 'the prompt was rejected by the content policy';
			throw refusal(400, message, 'content_policy_violation');
		}
		if (!asynchronous && outcome(directives.final ?? '') !== 'open') {
			throw refusal(400, `the picture could not be made: ${directives.final}`);
		}
		context.log.charge(record, prompt);
		const images = context.images.order(checked, source);
		if (!asynchronous) {
			const ms =
				directives.seconds === undefined
					? (context.options.syncMs ?? 0)
					: directives.seconds * 1000;
			const result = () => {
				const created = Math.floor(context.now() / 1000);
				const data = directives.empty ? [] : addressed(images, origin(request));
				return { created, data, ...billFor(context, images.length) };
			};
			if (fields.stream === true || fields.stream === 'true') {
				return streamed(context, kind, ms, result);
			}
			return ms > 0
				? sleep(ms, undefined, { signal: context.closing }).then(() => json(result()))
				: json(result());
		}
		const model = checked.model.model;
		const { id } = context.tasks.add({ kind, account, model, prompt, images });
		// Whatever comes later, a new task is queued (docs/protocol.md, "Task states").
		return json({ id, status: 'queued' });
	};
	const prompt = typeof fields.prompt === 'string' ? fields.prompt : '';
	return { call: asynchronous ? 'submit' : 'sync', prompt, settled: !asynchronous, respond };
}

/** Images as events, after comments that keep the line open while they are made. */
function streamed(
	{ options, closing }: ServerContext,
	kind: TaskKind,
	ms: number,
	result: () => { created: number; data: { url: string }[]; usage?: { cost: number } },
): GatewayResponse {
	const { keepAliveMs = 1000 } = options;
	const body = async function* (): AsyncGenerator<string> {
		yield ': keep-alive\n\n';
		for (let left = ms; left > 0; left -= keepAliveMs) {
			await sleep(Math.min(left, keepAliveMs), undefined, { signal: closing });
			yield ': keep-alive\n\n';
		}
		const { data, ...rest } = result();
		const type = `image_${kind === 'edit' ? 'edit' : 'generation'}.completed`;
		for (const image of data) {
			yield `event: ${type}\ndata: ${JSON.stringify({ type, ...rest, ...image })}\n\n`;
		}
	};
	return { status: 200, type: 'text/event-stream; charset=utf-8', body: Readable.from(body()) };
}

/** What so many images have cost, where the gateway bills. */
function billFor({ options: { bill } }: ServerContext, images: number) {
	if (bill === undefined) return {};
	return { usage: { cost: Number((bill * images).toFixed(12)) } };
}

interface TaskBody {
	id: string;
	status: string;
	created?: number;
	data?: { url: string }[];
	error?: { message: string; type: string };
}

function taskBody(task: Task, status: string, settled: boolean, from: string): TaskBody {
	const { id } = task;
	if (!settled) return { id, status };
	switch (outcome(status)) {
		case 'success': {
			const created = Math.floor((task.createdAt + task.lifetime) / 1000);
			return { id, status, created, data: addressed(task.images, from) };
		}
		case 'failed': {
			const message = `the picture could not be made: ${task.model} refused the prompt`;
			return { id, status, error: { message, type: 'generation_failed' } };
		}
		case 'cancelled': {
			const message = 'the task was cancelled by the operator';
			return { id, status, error: { message, type: 'cancelled' } };
		}
		default:
			return { id, status };
	}
}

/** Addresses on the host that the caller knows the gateway by. */
function addressed(paths: readonly string[], from: string): { url: string }[] {
	return paths.map((path) => ({ url: from + path }));
}

function origin(request: FastifyRequest): string {
	return `${request.protocol}://${request.host}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}
