import { jsonText, withoutUndefined, type JsonObject } from '../util/json';
import { GatewayError, type Problem } from '../util/gatewayError';

/** What a request is for. The rules of sending again and the error map are kept by call. */
export type Call = 'submit' | 'sync' | 'poll' | 'download' | 'listing' | 'message';

/** The two kinds of image task. Each is queried at its own endpoint (docs/protocol.md, "Endpoints"). */
export type TaskType = 'generation' | 'edit';

/** The three ways to ask for asynchronous mode (docs/protocol.md, "Asynchronous mode"). */
export type AsyncFlag = 'query' | 'header' | 'body';

/** A request as a value: what would be sent, before anything is sent. */
export interface RequestPlan {
	call: Call;
	method: 'GET' | 'POST';
	/** Below the gateway's address, URL-encoded, starting with `/v1`; for a download the whole address. */
	path: string;
	query: Record<string, string>;
	headers: Record<string, string>;
	/** Sent as JSON. */
	body?: JsonObject;
	/** Sent as multipart/form-data; the boundary, and so the Content-Type, is left to the transport. */
	form?: FormBody;
	/** Whether the gateway charges for it once it has accepted it. */
	paid: boolean;
}

/** The parts of a multipart form, in the order in which they are sent: fields, then files. */
export interface FormBody {
	fields: Array<[name: string, value: string]>;
	files: FormFile[];
}

/** A file to upload. It is opened anew for each attempt. */
export interface FormFile {
	/** Name of the part. */
	name: string;
	fileName: string;
	mimeType: string;
	/** In bytes. */
	size: number;
	/** Of its contents, in hexadecimal digits. */
	digest: string;
	open: () => AsyncIterable<Uint8Array>;
}

/** What a generation is made from (docs/protocol.md, "Generation"). */
export interface GenerationRequest {
	model: string;
	prompt: string;
	/** The options of the node that are sent, by their names in the request; undefined isn't sent. */
	fields?: JsonObject;
	/** The model's own parameters, under their own names. */
	modelParameters?: JsonObject;
	/** Sent as they are; they win over everything above. */
	extraFields?: JsonObject;
}

/** What an edit is made from (docs/protocol.md, "Edit"). */
export interface EditRequest extends GenerationRequest {
	/** The images to edit and whatever files go with them, a mask say. */
	files: FormFile[];
}

const PATHS: Record<TaskType, string> = {
	generation: '/v1/images/generations',
	edit: '/v1/images/edits',
};

/** What the plans of both kinds of task have in common. @param asyncFlag undefined means synchronous */
function planImages(taskType: TaskType, asyncFlag: AsyncFlag | undefined): RequestPlan {
	return {
		call: asyncFlag === undefined ? 'sync' : 'submit',
		method: 'POST',
		path: PATHS[taskType],
		query: asyncFlag === 'query' ? { async: 'true' } : {},
		headers: asyncFlag === 'header' ? { ...JSON_ONLY, 'X-Async': 'true' } : JSON_ONLY,
		paid: true,
	};
}

const JSON_ONLY = { Accept: 'application/json' };

function bodyOf(request: GenerationRequest, asyncFlag: AsyncFlag | undefined): JsonObject {
	const { model, prompt, fields = {} } = request;
	return {
		...request.modelParameters,
		model,
		prompt,
		// The model's own parameters may set a field that no option sets.
		...withoutUndefined(fields),
		...request.extraFields,
		...(asyncFlag === 'body' ? { async: true } : {}),
	};
}

/**
 * Plans `POST /v1/images/generations` (docs/protocol.md, "Endpoints").
 *
 * @param asyncFlag how to ask for asynchronous mode; undefined means synchronous
 */
export function planGeneration(request: GenerationRequest, asyncFlag?: AsyncFlag): RequestPlan {
	const plan = planImages('generation', asyncFlag);
	const headers = { ...plan.headers, 'Content-Type': 'application/json' };
	return { ...plan, headers, body: bodyOf(request, asyncFlag) };
}

/**
 * Plans `POST /v1/images/edits` (docs/protocol.md, "Edit" and "Endpoints").
 *
 * @param asyncFlag how to ask for asynchronous mode; undefined means synchronous
 */
export function planEdit(request: EditRequest, asyncFlag?: AsyncFlag): RequestPlan {
	const fields: FormBody['fields'] = [];
	for (const [name, value] of Object.entries(bodyOf(request, asyncFlag))) {
		const text = fieldText(name, value);
		if (text !== undefined) fields.push([name, text]);
	}
	return { ...planImages('edit', asyncFlag), form: { fields, files: request.files } };
}

/**
 * The text of a form field. A form knows no null: what has no value is left out, and so is what JSON
 * knows no text for (undefined, a function, NaN).
 *
 * @throws GatewayError if the value cannot be written as JSON
 */
function fieldText(name: string, value: unknown): string | undefined {
	if (typeof value === 'string') return value;
	if (value === null || (typeof value === 'number' && !Number.isFinite(value))) return undefined;
	const text = jsonText(value);
	// A date is a text in JSON, and a form has no quotes around its texts.
	if (text !== false) return text?.startsWith('"') ? (JSON.parse(text) as string) : text;
	throw new GatewayError({
		message: `The value of the field "${name.slice(0, 100)}" can't be sent`,
		description: "It can't be converted to JSON. Nothing was sent for this item.",
	});
}

/**
 * A name as a part of a path. Half a character, which cannot be encoded, becomes a question mark.
 *
 * @param kind what it names, for the error
 * @param details of the error
 * @throws GatewayError for `.` and `..`: they lead to another path, and no encoding changes that, as
 *   every parser of addresses reads `%2e` as a dot
 */
export function pathPart(name: string, kind: string, details: Partial<Problem> = {}): string {
	if (name === '.' || name === '..') {
		throw new GatewayError({
			message: `The ${kind} "${name}" is not valid`,
			description:
				'Nothing was sent, because the request would go to another address of the gateway.',
			...details,
		});
	}
	return encodeURIComponent(name.replace(/\p{Cs}/gu, '\ufffd'));
}

/** Plans a request that costs nothing and changes nothing. */
export function planGet(
	call: Call,
	path: string,
	accept = 'application/json',
	query: Record<string, string> = {},
): RequestPlan {
	return { call, method: 'GET', path, query, headers: { Accept: accept }, paid: false };
}

/**
 * Plans `GET /v1/images/{generations|edits}/{task_id}` (docs/protocol.md, "Endpoints").
 *
 * @throws GatewayError if the ID would lead to another path
 */
export function planTaskQuery(taskType: TaskType, taskId: string): RequestPlan {
	const id = pathPart(taskId, 'task ID', { taskId, taskType });
	return planGet('poll', `${PATHS[taskType]}/${id}`);
}

/** Plans the download of a finished image. It goes to whatever host the gateway named, without a key. */
export function planDownload(url: string): RequestPlan {
	return planGet('download', url, 'image/*,*/*;q=0.5');
}

/** The full address of a plan. */
export function planUrl(plan: RequestPlan, address: string): string {
	const query = new URLSearchParams(plan.query).toString();
	return `${address}${plan.path}${query === '' ? '' : `?${query}`}`;
}
