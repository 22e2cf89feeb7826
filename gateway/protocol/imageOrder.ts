import { withoutFields, type JsonObject } from '../../util/json';
import type { Account } from './account';
import {
	asStream,
	planImages,
	planUrl,
	taskTypeOf,
	type ImageRequest,
	type PaidPlan,
} from './requestPlan';
import type { TaskType } from './taskType';

/** An image request as it will be sent: checks, prices and dry runs look at it before it is paid for. */
export interface Order {
	/** What is sent, for `showOrder` and whoever pays. */
	plan: PaidPlan;
	request: ImageRequest;
	/** The kind of the task that it creates: an edit may be sent as a generation. */
	taskType: TaskType;
	/** Its fields, by the names under which they are sent. */
	fields: JsonObject;
	/** The number of images that it requests, if whoever knows the model's parameters has set it. */
	requested?: number;
	/** Its address, without secrets. */
	url: string;
}

/**
 * The order of an image request.
 *
 * @param asynchronous for a task
 * @param stream for a response that comes as a stream without previews; not for a task
 */
export function orderOf(
	kind: TaskType,
	request: ImageRequest,
	account: Account,
	{ asynchronous, stream }: { asynchronous: boolean; stream: boolean },
): Order {
	// OpenRouter's Image API has no tasks.
	const flag = asynchronous && account.imageApi !== 'openRouter' ? account.asyncFlag : undefined;
	const usual = planImages(kind, request, flag, account);
	const { form, body = {}, inside = [] } = usual;
	const files = inside.map(({ name }) => name);
	const plan = stream ? asStream(usual) : usual;
	return {
		plan,
		request,
		taskType: taskTypeOf(kind, account.imageApi),
		fields: form ? Object.fromEntries(form.fields) : withoutFields(body, files),
		url: account.withoutKey(planUrl(plan, account.base)),
	};
}

/** What an order sends, for people to read: without the key, and with files by their names. */
export function showOrder({ plan, url }: Order): JsonObject {
	const { method, headers, body, form, inside } = plan;
	const files = (form?.files ?? inside)?.map(
		({ name, fileName, mimeType, size, url: address, fileId }) => {
			if (fileId !== undefined) return { name, fileId };
			return address === undefined ? { name, fileName, mimeType, size } : { name, url: address };
		},
	);
	return {
		method,
		url,
		headers: { ...headers, Authorization: 'Bearer ***' },
		body,
		form: form === undefined ? undefined : { fields: Object.fromEntries(form.fields), files },
		files: inside && files,
	};
}
