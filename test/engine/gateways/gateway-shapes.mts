/**
 * Gateways that speak nearly the protocol, as data: how a submit is answered, where the task is
 * polled, and what the poll is answered. Each was found in public sources (docs/gateways.md).
 */

export type Kind = 'generations' | 'edits';

export interface Task {
	id: string;
	kind: Kind;
	/** The address of the gateway. */
	gateway: string;
	/** The address of another host. */
	elsewhere: string;
}

export interface Reply {
	status?: number;
	headers?: Record<string, string>;
	body?: unknown;
	/** A body that isn't JSON, in place of the other. */
	raw?: string | Buffer;
	/** The response breaks off after the body. */
	isCut?: true;
}

/** What a task is at: a gateway spells it in its own words. */
export type Stage = 'waiting' | 'working' | 'success' | 'failure';
export type Words = Record<Stage, string>;

export interface Shape {
	name: string;
	/** What is added to the path of a submit. */
	submittedAt?: '/async';
	submit(task: Task): Reply;
	/** The only paths that know the task. */
	polledAt(task: Task): string[];
	words: Words;
	/** The response to a poll. */
	state(task: Task, status: string, urls: string[], reason?: string): unknown;
	/** The path of the result, which the task's state doesn't contain. */
	resultAt?(task: Task): string;
	/** The HTTP status of the response to a poll while the task is open. */
	openCode?: number;
	/** The 404 of other paths is a text and not the JSON error of the protocol. */
	textNotFound?: true;
	/** The response of other paths has its 404 in the body alone. */
	notFoundInBody?: true;
}

/** The words of the protocol. */
const PROTOCOL: Words = {
	waiting: 'queued',
	working: 'processing',
	success: 'completed',
	failure: 'failed',
};

const REQUEST_ID = 'req_0_not_the_task';

const listOf = (urls: string[]) => urls.map((url) => ({ url }));
const reasonOf = (message?: string) => (message === undefined ? {} : { error: { message } });

const ownPath = ({ kind, id }: Task) => [`/v1/images/${kind}/${id}`];
const generationsPath = ({ id }: Task) => [`/v1/images/generations/${id}`];
const imageTasksPath = ({ id }: Task) => [`/v1/images/tasks/${id}`];
const tasksPath = ({ id }: Task) => [`/v1/tasks/${id}`];
const jobsPath = ({ id }: Task) => [`/v1/async/jobs/${id}`];

const protocolState: Shape['state'] = ({ id }, status, urls, reason) => ({
	id,
	status,
	data: listOf(urls),
	...reasonOf(reason),
});
const PROTOCOL_POLL = { polledAt: ownPath, words: PROTOCOL, state: protocolState };

/** An envelope around the task, whose code says that the request succeeded. */
const enveloped: Shape['state'] = ({ id }, status, urls, fail_reason = '') => ({
	code: 'success',
	message: '',
	data: {
		task_id: id,
		status,
		fail_reason,
		progress: '30%',
		data: urls.length === 0 ? null : { created: 1_795_000_000, data: listOf(urls) },
	},
});
const CAPITALS: Words = {
	waiting: 'NOT_START',
	working: 'IN_PROGRESS',
	success: 'SUCCESS',
	failure: 'FAILURE',
};

/** A list around the task in the response to a submit, and a list as the address of an image. */
const listed: Shape['state'] = ({ id }, status, urls, reason) => ({
	code: 200,
	data: {
		id,
		status,
		progress: 40,
		result: { images: urls.map((url) => ({ url: [url], expires_at: 1_795_000_000 })) },
		...reasonOf(reason),
	},
});

export const SHAPES: Shape[] = [
	{
		name: 'the protocol as it is documented',
		submit: ({ id }) => ({ body: { id, status: 'queued' } }),
		...PROTOCOL_POLL,
	},
	{
		name: 'a request ID around the ID of the task',
		submit: ({ id }) => ({ body: { id: REQUEST_ID, data: { task_id: id } } }),
		...PROTOCOL_POLL,
	},
	{
		name: 'the status of the request around that of the task',
		submit: ({ id }) => ({
			body: { status: 'success', data: { task_id: id, status: 'queued' } },
		}),
		...PROTOCOL_POLL,
		state: (task, state, urls, reason) => ({
			status: 'success',
			data: protocolState(task, state, urls, reason),
		}),
	},
	{
		name: 'the ID as a text in place of the task, polled at one path for both kinds',
		submit: ({ id }) => ({ body: { code: 'success', message: '', data: id } }),
		polledAt: imageTasksPath,
		words: CAPITALS,
		state: enveloped,
	},
	{
		name: 'an ID alone, polled at one path for both kinds, with 404 as text elsewhere',
		submit: ({ id }) => ({ body: { task_id: id } }),
		polledAt: imageTasksPath,
		words: CAPITALS,
		state: enveloped,
		textNotFound: true,
	},
	{
		name: 'submitted at a path of its own, polled at one path for both kinds',
		submittedAt: '/async',
		submit: ({ id }) => ({ status: 202, body: { id, status: 'pending' } }),
		polledAt: imageTasksPath,
		words: { ...PROTOCOL, waiting: 'pending', working: 'in_progress' },
		state: protocolState,
	},
	{
		name: 'submitted at a path of its own, with the address to poll',
		submittedAt: '/async',
		submit: ({ id }) => ({
			body: { task_id: id, status: 'pending', query_url: `/v1/async/jobs/${id}` },
		}),
		polledAt: jobsPath,
		words: { ...PROTOCOL, waiting: 'pending', working: 'in_progress' },
		state: protocolState,
	},
	{
		name: 'a list around the task, polled at the path of all tasks, with 404 as text elsewhere',
		submit: ({ id }) => ({
			body: { code: 200, data: [{ status: 'submitted', task_id: id }] },
		}),
		polledAt: tasksPath,
		words: { ...PROTOCOL, waiting: 'submitted' },
		state: listed,
		textNotFound: true,
	},
	{
		name: 'a relative address to poll, and an image without an address',
		submit: ({ id }) => ({
			body: {
				id,
				task_id: id,
				poll_url: `/v1/tasks/${id}`,
				status: 'pending',
				data: [{ url: '' }],
			},
		}),
		polledAt: tasksPath,
		words: { ...PROTOCOL, waiting: 'pending' },
		state: (task, status, urls, reason) => ({
			...(protocolState(task, status, urls, reason) as object),
			...(status === 'failed' ? { cancelled: true } : {}),
		}),
	},
	{
		name: 'an absolute address to poll',
		submit: ({ id, gateway }) => ({
			body: { id, status: 'queued', status_url: `${gateway}/v1/async/jobs/${id}` },
		}),
		polledAt: jobsPath,
		words: PROTOCOL,
		state: protocolState,
	},
	{
		name: 'an address to poll at another host, which is not used',
		submit: ({ id, elsewhere }) => ({
			body: { id, status: 'queued', status_url: `${elsewhere}/v1/async/jobs/${id}` },
		}),
		...PROTOCOL_POLL,
	},
	{
		name: 'an address to poll that ends in a word, and no ID',
		submit: ({ id, gateway }) => ({
			body: { status: 'IN_QUEUE', status_url: `${gateway}/v1/async/jobs/${id}/status?full=1` },
		}),
		polledAt: ({ id }) => [`/v1/async/jobs/${id}/status?full=1`],
		words: PROTOCOL,
		state: ({ id: request_id }, status, urls, reason) => ({
			request_id,
			status,
			images: listOf(urls),
			...reasonOf(reason),
		}),
	},
	{
		name: 'generations and edits polled at the path of generations',
		submit: ({ id }) => ({ body: { task_id: id, status: 'queued' } }),
		polledAt: generationsPath,
		words: { ...PROTOCOL, success: 'succeeded' },
		state: ({ id }, status, urls, reason) => ({
			task_id: id,
			status,
			data: listOf(urls),
			...reasonOf(reason),
		}),
	},
	{
		name: '202 until the task has finished, and its images in a result',
		submit: ({ id }) => ({ status: 202, body: { id, status: 'pending' } }),
		polledAt: ownPath,
		openCode: 202,
		words: { ...PROTOCOL, waiting: 'pending' },
		state: ({ id }, status, urls, reason) => ({
			id,
			status,
			result: { created: 1_795_000_000, data: listOf(urls) },
			...reasonOf(reason),
		}),
	},
	{
		name: '202 with the address in the header Location, and a body without an ID',
		submit: ({ id }) => ({
			status: 202,
			headers: { location: `/v1/async/jobs/${id}` },
			body: { status: 'accepted' },
		}),
		polledAt: jobsPath,
		words: PROTOCOL,
		state: protocolState,
	},
	{
		name: '202 with the address in the header Location, and no body',
		submit: ({ id, kind }) => ({
			status: 202,
			headers: { location: `/v1/images/${kind}/${id}` },
		}),
		...PROTOCOL_POLL,
	},
	{
		name: 'code 0 around a task whose fields have its name',
		submit: ({ id }) => ({
			body: { code: 0, message: 'SUCCEED', data: { task_id: id, task_status: 'submitted' } },
		}),
		polledAt: ownPath,
		words: { waiting: 'submitted', working: 'processing', success: 'succeed', failure: 'failed' },
		state: ({ id }, task_status, urls, task_status_msg = '') => ({
			code: 0,
			message: 'SUCCEED',
			data: {
				task_id: id,
				task_status,
				task_status_msg,
				task_result: { images: urls.map((url, index) => ({ index, url })) },
			},
		}),
	},
	{
		name: 'a state in place of the status, and images in data',
		submit: ({ id }) => ({ body: { id, state: 'starting' } }),
		polledAt: ownPath,
		words: { waiting: 'starting', working: 'generating', success: 'done', failure: 'canceled' },
		state: ({ id }, state, urls, reason) => ({
			id,
			state,
			data: { images: listOf(urls) },
			...reasonOf(reason),
		}),
	},
	{
		name: 'a result that is JSON as a text',
		submit: ({ id }) => ({ body: { code: 200, msg: 'success', data: { taskId: id } } }),
		polledAt: tasksPath,
		words: { waiting: 'waiting', working: 'generating', success: 'success', failure: 'fail' },
		state: ({ id }, state, resultUrls, failMsg = '') => ({
			code: 200,
			data: { taskId: id, state, resultJson: JSON.stringify({ resultUrls }), failMsg },
		}),
		notFoundInBody: true,
	},
	{
		name: 'words with a prefix, and the address to poll in links inside',
		submit: ({ id }) => ({
			body: {
				data: { task: { status: 'TASK_STATUS_QUEUED', urls: { get: `/v1/async/jobs/${id}` } } },
			},
		}),
		polledAt: jobsPath,
		words: {
			waiting: 'TASK_STATUS_QUEUED',
			working: 'TASK_STATUS_PROCESSING',
			success: 'TASK_STATUS_SUCCEED',
			failure: 'TASK_STATUS_FAILED',
		},
		state: ({ id }, status, urls, reason) => ({
			task: { task_id: id, status, reason },
			images: urls.map((image_url) => ({ image_url })),
		}),
	},
	{
		name: 'names in Pascal case, and a link to the task itself',
		submit: ({ id, gateway }) => ({
			body: {
				RequestId: REQUEST_ID,
				Data: { TaskId: id, Links: { Self: `${gateway}/v1/async/jobs/${id}` } },
			},
		}),
		polledAt: jobsPath,
		words: { waiting: 'Waiting', working: 'InProgress', success: 'Done', failure: 'Failed' },
		state: ({ id }, TaskStatus, urls, Message) => ({
			RequestId: REQUEST_ID,
			Data: { TaskId: id, TaskStatus, Message, Result: { ResultUrls: urls } },
		}),
	},
	{
		name: 'the result at an address of its own, once the task has succeeded',
		submit: ({ id, gateway }) => ({
			body: {
				request_id: id,
				status: 'IN_QUEUE',
				status_url: `${gateway}/v1/async/jobs/${id}/status`,
				response_url: `${gateway}/v1/async/jobs/${id}`,
			},
		}),
		polledAt: ({ id }) => [`/v1/async/jobs/${id}/status`],
		resultAt: ({ id }) => `/v1/async/jobs/${id}`,
		words: {
			waiting: 'IN_QUEUE',
			working: 'IN_PROGRESS',
			success: 'COMPLETED',
			failure: 'FAILED',
		},
		state: ({ id, gateway }, status, _, error) => ({
			request_id: id,
			status,
			error,
			response_url: `${gateway}/v1/async/jobs/${id}`,
		}),
	},
];

/** A finished result that isn't in the places of the protocol, and what is beside it. */
export const PLACES: Array<[name: string, body: (image: string, other: string) => object]> = [
	['a list of texts with its own name', (image) => ({ output_images: [image] })],
	['a list of objects with its own name', (image) => ({ image_result: [{ url: image }] })],
	['an image in each object', (image) => ({ images: [{ image }] })],
	['an object as the address', (image) => ({ data: [{ image_url: { url: image } }] })],
	['an image of the output', (image) => ({ output: { image } })],
	['an object as the image', (image) => ({ output: { image: { url: image } } })],
	['content of the output', (image) => ({ data: { content: { image_url: image } } })],
	[
		'a chat that draws',
		(image) => ({
			output: { choices: [{ message: { role: 'assistant', content: [{ image }] } }] },
		}),
	],
	[
		'a message with images',
		(image) => ({
			choices: [{ message: { content: 'A fox', images: [{ image_url: { url: image } }] } }],
		}),
	],
	['a list beside the source of an edit', (image, image_url) => ({ image_url, images: [image] })],
	[
		'a list below the source of an edit',
		(image, url) => ({ data: { url, image_url: url, result_urls: [image] } }),
	],
	['names in Pascal case', (Url) => ({ Response: { OutputImages: [{ Url }] } })],
	['JSON as a text', (image) => ({ resultJson: JSON.stringify({ images: [{ image }] }) })],
];
