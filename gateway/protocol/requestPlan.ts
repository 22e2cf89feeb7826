import { jsonText, withoutUndefined, type JsonObject } from '../../util/json';
import { GatewayError, type Problem } from './gatewayError';
import { sourcesIn } from '../../util/httpAddresses';
import { LISTS_OF_INPUTS, type AsyncFlag, type Credential, type ImageApi } from './credential';
import { TASK_PATHS, type TaskType } from './taskType';
import type { ApiAddress } from './url';

/** The purpose of a request, which the error texts depend on. */
export type Call =
	| 'submit'
	| 'sync'
	| 'poll'
	| 'download'
	| 'listing'
	| 'names'
	| 'message'
	| 'test';

/** A request as a value, before it is sent. */
export interface RequestPlan {
	call: Call;
	method: 'GET' | 'POST';
	/**
	 * The URL-encoded path below the gateway's address, starting with `/v1`, which stands for the
	 * version of its API; for a download the whole address.
	 */
	path: string;
	query: Record<string, string>;
	headers: Record<string, string>;
	/** The JSON body. */
	body?: JsonObject;
	/** The multipart/form-data body; `wire/multipart.ts` adds the boundary and Content-Type. */
	form?: FormBody;
	/**
	 * The files of the JSON body. In place of their bytes it has their digests; `wire/multipart.ts`
	 * puts Base64 there.
	 */
	inside?: FormFile[];
	/** Whether the gateway charges the request once it has accepted it. */
	paid: boolean;
	/** Whether it goes without the key, which it would carry otherwise. */
	isKeyless?: boolean;
	/**
	 * How long somebody waits for the next attempt in all, in milliseconds; without it, as long as the
	 * retry rules say.
	 */
	patienceMs?: number;
	/**
	 * Whether the gateway knows the payment by a key in its headers: then it may be sent again after an
	 * unknown outcome.
	 */
	isIdempotent?: boolean;
	/** Whether the address comes from the input: then it gets no headers of the credential. */
	isFromInput?: boolean;
	/** Whether the response is asked for as a stream, which may be long but not silent. */
	isStreamed?: boolean;
	/** The index of the item that it is for, for the log. */
	item?: number;
	/** Ends it alone, wherever it is. */
	signal?: AbortSignal;
}

/** A request that is charged: only `pay` sends it. */
export type PaidPlan = RequestPlan & { method: 'POST'; paid: true };
/** A request that is free. By its method too, so that no paid one becomes free by its name. */
export type FreePlan = RequestPlan & { method: 'GET'; paid: false };

type FormField = readonly [name: string, value: string];

/** The parts of a multipart form in the order of sending: fields, then files. */
export interface FormBody {
	fields: FormField[];
	files: FormFile[];
}

/** A file to upload, which is opened again for each attempt. */
export interface FormFile {
	/** The name of the form field. */
	name: string;
	fileName: string;
	mimeType: string;
	/** The size in bytes. */
	size: number;
	/** The digest of its contents, in hexadecimal digits. */
	digest: string;
	/** Its web address, if that is sent in its place. */
	url?: string;
	/** Its ID at the gateway, if that is sent in its place. */
	fileId?: string;
	open: () => AsyncIterable<Uint8Array>;
}

/** The image request of an item (docs/protocol.md, "Generation" and "Edit"). */
export interface ImageRequest {
	model: string;
	/** Undefined for a model that takes none. */
	prompt?: string;
	/** The options of the node that are sent, by their names in the request; undefined isn't sent. */
	fields?: JsonObject;
	/** The model's own parameters, under their own names. */
	modelParameters?: JsonObject;
	/** Fields that override all others; one that is null is left out of the request. */
	extraFields?: JsonObject;
	/** The files of an edit: the images to edit, called `IMAGE_FIELD`, and others such as a mask. */
	files?: FormFile[];
	/** The number of images to edit. */
	imageCount?: number;
}

/** The kind of the task that a request creates: an edit may be sent as a generation. */
export const taskTypeOf = (kind: TaskType, imageApi: ImageApi): TaskType =>
	imageApi === 'generations' ? 'generation' : kind;

const JSON_ONLY = { Accept: 'application/json' };

/** The fields of a request, by the names under which they are sent. */
export function bodyOf(request: ImageRequest, asyncFlag?: AsyncFlag): JsonObject {
	const { model, prompt, fields = {} } = request;
	const body = {
		...request.modelParameters,
		model,
		prompt,
		// The model's own parameters may set a field that no option sets.
		...withoutUndefined(fields),
		...request.extraFields,
		...(asyncFlag === 'body' ? { async: true } : {}),
	};
	return Object.fromEntries(Object.entries(body).filter(([, value]) => (value ?? null) !== null));
}

/**
 * Plans a generation or an edit (docs/protocol.md, "Edit" and "Endpoints"), usually
 * `POST /v1/images/generations` or `POST /v1/images/edits`.
 *
 * @param asyncFlag how to ask for asynchronous mode; undefined means synchronous
 * @param style how the gateway takes images
 */
export function planImages(
	kind: TaskType,
	request: ImageRequest,
	asyncFlag?: AsyncFlag,
	{ imageApi, imageFieldName }: ImageStyle = USUAL_STYLE,
): PaidPlan {
	const path = imageApi === 'openRouter' ? '/v1/images' : TASK_PATHS[taskTypeOf(kind, imageApi)];
	const plan: PaidPlan = {
		call: asyncFlag === undefined ? 'sync' : 'submit',
		method: 'POST',
		path: path + (asyncFlag === 'path' ? '/async' : ''),
		query: asyncFlag === 'query' ? { async: 'true' } : {},
		headers: asyncFlag === 'header' ? { ...JSON_ONLY, 'X-Async': 'true' } : JSON_ONLY,
		paid: true,
	};
	const body = bodyOf(request, asyncFlag);
	// A generation has none, whatever a program gives it.
	const given = kind === 'edit' ? (request.files ?? []) : [];
	const files = given.map((file) =>
		file.name === IMAGE_FIELD ? { ...file, name: imageFieldName } : file,
	);
	const twice = files.find(({ name }) => Object.hasOwn(body, name))?.name;
	if (twice !== undefined) {
		throw new GatewayError({
			message: `${twice === imageFieldName ? 'The image' : 'A file'} and another field of the request have the name '${twice}'`,
			description: 'A gateway reads only one of them. Leave one out, or give it another name.',
			settings: ['extraFields', twice === imageFieldName ? 'imageFieldName' : 'extraFiles'],
		});
	}
	if (kind === 'edit' && imageApi === 'form') {
		const texts = Object.entries(body).map(([name, value]) => [name, fieldText(value)] as const);
		const fields = texts.filter((field): field is FormField => field[1] !== undefined);
		return { ...plan, form: { fields, files } };
	}
	const headers = { 'Content-Type': 'application/json', ...plan.headers };
	const names = [...new Set(files.map(({ name }) => name))];
	const grouped = names.map((name) => files.filter((file) => file.name === name));
	const inputs = grouped.map((group) => inputOf(group, imageApi as JsonApi));
	const inside = files.length === 0 ? undefined : grouped.flat();
	return { ...plan, headers, body: { ...body, ...Object.fromEntries(inputs) }, inside };
}

type JsonApi = Exclude<ImageApi, 'form'>;

/** How the JSON of an edit has the address of an image, by the image API. */
const INPUTS: Record<JsonApi, (url: string) => unknown> = {
	generations: (url) => url,
	json: (url) => ({ type: 'image_url', url }),
	images: (url) => ({ image_url: url }),
	openRouter: (url) => ({ type: 'image_url', image_url: { url } }),
};

/** The field of an edit in JSON for the files of one name: several are a list, and with some APIs one is, too. */
function inputOf([first, ...more]: FormFile[], imageApi: JsonApi) {
	const { name } = first!;
	const values = [first!, ...more].map(({ url, fileId, mimeType, digest }) =>
		fileId === undefined
			? INPUTS[imageApi](url ?? `data:${mimeType};base64,${digest}`)
			: { file_id: fileId },
	);
	const isList = more.length > 0 || name === LISTS_OF_INPUTS[imageApi];
	return [name, isList ? values : values[0]] as const;
}

/** The field of the images to edit (docs/protocol.md, "Edit"). */
export const IMAGE_FIELD = 'image';

/** What the credential says about the gateway's image requests. */
type ImageStyle = Pick<Credential, 'imageApi' | 'imageFieldName'>;

const USUAL_STYLE: ImageStyle = { imageApi: 'form', imageFieldName: IMAGE_FIELD };

/** The same plan of a synchronous request, whose response comes as a stream without previews. */
export function asStream<Plan extends RequestPlan>(plan: Plan): Plan {
	const asked = { stream: true, partial_images: 0 };
	const { body, form } = plan;
	const texts = Object.entries(asked).map(([name, value]) => [name, String(value)] as const);
	return {
		...plan,
		headers: { ...plan.headers, Accept: 'text/event-stream, application/json' },
		...(form === undefined
			? { body: { ...body, ...asked } }
			: { form: { ...form, fields: [...form.fields, ...texts] } }),
		isStreamed: true,
	};
}

/**
 * The text of a form field; undefined for null and for values without JSON (undefined, a function,
 * NaN, a circular value), which a form can't contain.
 */
function fieldText(value: unknown): string | undefined {
	const text = jsonText(value) || 'null';
	if (text === 'null') return undefined;
	// The JSON of a date is a string too. A form has no quotes around it.
	return text.startsWith('"') ? (JSON.parse(text) as string) : text;
}

/** The addresses that a request sends as its images; undefined without any. */
export function addressesSent({ body, form, inside = [] }: RequestPlan): string[] | undefined {
	const files = [...(form?.files ?? []), ...inside].map(({ url }) => url);
	const fields = form?.fields.map(([name, value]) => ({ [name]: value }));
	const sent = sourcesIn([body, fields, files]);
	return sent.length === 0 ? undefined : sent;
}

/**
 * A name encoded as a part of a path; an unpaired surrogate becomes a replacement character.
 *
 * @param kind the kind of name, for the error
 * @param details more fields of the error
 * @throws GatewayError for `.` and `..`, which lead to another path even if encoded: URL parsers
 *   read `%2e` as a dot
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

/** Plans a free request that changes nothing. */
export function planGet(
	call: Call,
	path: string,
	accept = 'application/json',
	query: Record<string, string> = {},
): FreePlan {
	return { call, method: 'GET', path, query, headers: { Accept: accept }, paid: false };
}

/** A task's ID as a part of a path. @throws GatewayError if it would lead to another path */
export const taskIdPart = (taskId: string, taskType?: TaskType): string =>
	pathPart(taskId, 'task ID', {
		description:
			"The task can't be checked: the request would go to another address of the gateway. Ask the gateway's operator about it.",
		taskId,
		taskType,
	});

/**
 * Plans `GET /v1/images/{generations|edits}/{task_id}` (docs/protocol.md, "Endpoints").
 *
 * @throws GatewayError if the ID would lead to another path
 */
export const planTaskQuery = (taskType: TaskType, taskId: string): FreePlan =>
	planGet('poll', `${TASK_PATHS[taskType]}/${taskIdPart(taskId, taskType)}`);

/**
 * Plans the download of an image from any host, without a key.
 *
 * @param isFromInput whether the address comes from the input, not from the gateway
 */
export function planDownload(url: string, isFromInput = false): FreePlan {
	return { ...planGet('download', url, 'image/*,*/*;q=0.5'), isFromInput };
}

/** The full address of a plan, with the query of the gateway's address. */
export function planUrl({ path, query }: RequestPlan, { url, version, query: own }: ApiAddress) {
	// The address of a task, as a gateway names it, may have a query.
	const [withoutQuery = '', named = ''] = path.split(/\?(.*)/s);
	const below = version === '' ? withoutQuery.replace(/^\/v1(?=\/)/, '') : withoutQuery;
	const all = [usualQuery(own, named, query), named, new URLSearchParams(query).toString()];
	const sent = all.filter((part) => part !== '').join('&');
	return `${url}${below}${sent === '' ? '' : `?${sent}`}`;
}

/** The query of the gateway's address without what a request sets itself. */
function usualQuery(own: string, named: string, query: Record<string, string>): string {
	if (own === '') return '';
	const usual = new URLSearchParams(own);
	for (const name of [...new URLSearchParams(named).keys(), ...Object.keys(query)]) {
		usual.delete(name);
	}
	return usual.toString();
}
