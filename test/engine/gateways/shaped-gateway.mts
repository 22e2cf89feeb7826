import type { IncomingMessage, ServerResponse } from 'node:http';
import { opened } from '../opened.mjs';
import { sendJson, serve, TINY_PNG, type OwnServer } from '../workbench.mjs';
import type { Kind, Reply, Shape, Stage, Task } from './gateway-shapes.mjs';

/** An ID that no other part of a response contains. */
export const TASK_ID = 'task_7f3a90c1';
export const REASON = 'The prompt was refused by the safety system';

export interface ShapedGateway {
	url: string;
	requests: OwnServer['requests'];
	/** The host of the images, which isn't the gateway's. */
	images: OwnServer;
	/** Requests that cost money. */
	posts(): string[];
	/** The paths of all polls. */
	polls(): string[];
	/** The address of the finished image. */
	image: string;
	/** The address that open tasks list, which isn't their result. */
	preview: string;
}

export interface ShapedOptions {
	/** What each poll finds; the last one stays. By default a working task that finishes then. */
	stages?: Stage[];
	/** The task is unknown everywhere. */
	isLost?: boolean;
	/** The response to a poll in place of the shape's. @param count how many came before */
	polled?: (task: Task, count: number) => Reply | undefined;
	/** The response to each submit in place of the shape's. */
	submit?: (task: Task) => Reply;
}

const SUBMIT = /^\/v1\/images\/(generations|edits)(\/async)?(\?|$)/;

/** Starts a gateway of a shape, and a host for its images. */
export async function shapedGateway(
	shape: Shape,
	{
		stages = ['working', 'success'],
		isLost = false,
		submit = shape.submit,
		polled: polledWith,
	}: ShapedOptions = {},
): Promise<ShapedGateway> {
	const images = await opened(serve((_, response) => void response.end(TINY_PNG)));
	const files = /^\/v1\/files\//;
	const image = `${images.url}/finished.png`;
	const preview = `${images.url}/preview.png`;
	let task: Task | undefined;
	let polled = 0;
	let polls = 0;

	function onSubmit(url: string, [, kind, suffix = '']: RegExpExecArray): Reply | undefined {
		if (suffix !== (shape.submittedAt ?? '')) return undefined;
		task = { id: TASK_ID, kind: kind as Kind, gateway: url, elsewhere: images.url };
		return submit(task);
	}

	function onPoll(known: Task): Reply {
		const own = polledWith?.(known, polls++);
		if (own !== undefined) return own;
		const stage = stages[Math.min(polled++, stages.length - 1)] as Stage;
		const urls = { waiting: [], working: [preview], success: [image], failure: [] }[stage];
		const isOpen = stage === 'waiting' || stage === 'working';
		return {
			status: isOpen ? shape.openCode : 200,
			body: shape.state(known, shape.words[stage], urls, stage === 'failure' ? REASON : undefined),
		};
	}

	function respond(
		{ method, url: path = '' }: IncomingMessage,
		response: ServerResponse,
		url: string,
	) {
		if (method === 'GET' && files.test(path)) return void response.end(TINY_PNG);
		const submitted = method === 'POST' ? SUBMIT.exec(path) : null;
		let reply = submitted === null ? undefined : onSubmit(url, submitted);
		const knows = task !== undefined && !isLost && shape.polledAt(task).includes(path);
		if (method === 'GET' && knows && task !== undefined) reply = onPoll(task);
		const isResult = method === 'GET' && polled > 0 && task && shape.resultAt?.(task) === path;
		if (isResult === true) reply = { body: { images: [{ url: image }] } };
		if (reply === undefined) return notFound(response, shape);
		const { status = 200, headers = {}, body, raw, isCut } = reply;
		for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
		if (isCut) return void response.write(raw, () => response.destroy());
		if (raw !== undefined) return void response.writeHead(status).end(raw);
		if (body === undefined) return void response.writeHead(status).end();
		return sendJson(response, body, status);
	}

	const server = await opened(serve(respond));
	const paths = (wanted: string) =>
		server.requests.filter(({ method }) => method === wanted).map(({ url }) => url);
	return {
		url: server.url,
		requests: server.requests,
		images,
		image,
		preview,
		posts: () => paths('POST'),
		polls: () => paths('GET').filter((path) => !/\/models/.test(path)),
	};
}

function notFound(response: ServerResponse, { textNotFound, notFoundInBody }: Shape): void {
	if (notFoundInBody) return sendJson(response, { code: 404, msg: 'no such path' });
	if (textNotFound) {
		response.writeHead(404, { 'content-type': 'text/plain' });
		return void response.end('404 page not found');
	}
	const error = { message: 'Invalid URL or unknown task', type: 'invalid_request_error' };
	return sendJson(response, { error }, 404);
}
