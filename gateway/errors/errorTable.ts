import type { Setting } from '../protocol/gatewayError';
import { isGatewayError, needsHttps, saysFailure } from '../responses/errorBody';
import { hasNoModel, isOverloaded, saysRefused, type HttpResponse } from '../protocol/outcome';
import { isOutOfQuota } from '../responses/quota';
import type { RequestPlan } from '../protocol/requestPlan';
import { requestedPauseMs } from '../protocol/retryAfter';

/** Whether an entry fits a response. @param said the gateway's reason, or an empty text */
type Fits = (response: HttpResponse, plan: RequestPlan, said: string) => boolean;

const isPoll = ({ call }: RequestPlan): boolean => call === 'poll';

const status =
	(expected: number): Fits =>
	({ httpCode }) =>
		httpCode === expected;

/** In characters: the part of a response that is searched for a word. */
const LONGEST_READ = 2000;

/** Statuses of an address at which there is no such endpoint. */
const isMissing: Fits = ({ httpCode }) => [404, 405, 501].includes(httpCode);

/**
 * Whether a submit was refused because it asks for a task: by its path, by the gateway's words, or
 * by the flag's name, which in an echo of the request is a field or a part of the address.
 */
const refusesTasks: Fits = (response, plan, said) => {
	if (plan.call !== 'submit') return false;
	if (/\basynchronous|异步/i.test(said)) return true;
	if (isMissing(response, plan, said)) return plan.path.endsWith('/async');
	return /\basync\b(?!\\?["']?\s*:)/i.test(response.text.slice(0, LONGEST_READ));
};

/** In words, a refusal for the model, which an error about a wrong address has none of. */
const ABOUT_MODEL = /\bmodels?\b|模型|no endpoints found/i;

/** Whether a paid request was refused for its model. */
const refusesModel: Fits = (response, { paid }, said) =>
	paid &&
	(hasNoModel(response) ||
		/incorrect model id/i.test(said) ||
		(response.httpCode === 404 && ABOUT_MODEL.test(said)));

/** Words about what a request contains. */
const ABOUT_CONTENT =
	/\bcontent[ _-]?(policy|policies|filter|moderation|safety|violation)|\bsafety\b|moderation|\bnsfw\b|sensitive[ _]words?|敏感|违规|审核/i;

/** Whether a paid request was refused for its prompt or images, which isn't a matter of permissions. */
const refusesContent: Fits = ({ httpCode, text }, { paid }) =>
	paid && httpCode === 403 && ABOUT_CONTENT.test(text.slice(0, LONGEST_READ));

/** Whether an edit was refused in a way that says nothing about its contents. Only edits have files. */
const refusesEdits: Fits = (response, plan, said) =>
	plan.call !== 'message' &&
	(plan.form ?? plan.inside) !== undefined &&
	(isMissing(response, plan, said) || response.httpCode === 415);

/** In seconds: a longer pause is told in minutes, and fewer requests don't make it shorter. */
export const LONGEST_WAIT_S = 300;

/** The pause that a response asks for, in seconds. */
export const pauseSecondsOf = (response: HttpResponse): number =>
	Math.ceil((requestedPauseMs(response, Date.now()) ?? 0) / 1000);

/** Whether a 429 came to a request that is sent alone, or asks for so long a pause that a slower pace changes nothing. */
const hasNoPace: Fits = (response, { call }) =>
	response.httpCode === 429 &&
	(['test', 'listing', 'names'].includes(call) || pauseSecondsOf(response) > LONGEST_WAIT_S);

/** Said of every refusal of a paid request. */
export const NOT_CHARGED = "You weren't charged for this request.";

/**
 * What happened and what to do, by the response (docs/protocol.md, "Errors"); the first entry that
 * fits counts. `{…}` are the values in `problemFor`, which also says that a paid request wasn't charged;
 * `address` are the settings of the server.
 */
export const ERRORS: Array<
	[fits: Fits, message: string, description: string, settings?: Setting[] | 'address']
> = [
	[
		({ httpCode }) => httpCode >= 300 && httpCode < 400,
		'While {doing}, the gateway redirected to another address ({code})',
		"The API key isn't sent to other addresses. If {location} is your gateway's address, enter it as {field}.",
		'address',
	],
	[
		({ httpCode, json }) => httpCode < 300 && saysFailure(json),
		'While {doing}, the gateway reported an error',
		"Try again later, or ask the gateway's operator.",
	],
	[
		(response, { call }) => isOverloaded(response, call),
		'The gateway is overloaded ({code})',
		'{wait}Try again later, or use another model.',
	],
	[
		({ httpCode }) => httpCode < 300,
		'While {doing}, the gateway responded with {unexpected}',
		'{checkAddress}',
		'address',
	],
	// 402, and others that speak of money (`responses/quota.ts`).
	[isOutOfQuota, 'Insufficient quota ({code})', "Top up the account in the gateway's console."],
	[
		({ httpCode }, { call }) => httpCode === 401 && call === 'message',
		'The gateway rejected the API key (401)',
		"Check the API key, and in the gateway's console whether it is enabled and has quota. If it works for images, this gateway may expect it in another form, usually in 'Authorization: Bearer' or 'X-Api-Key'.",
		['apiKey', 'messageAuth'],
	],
	[
		refusesModel,
		"The model isn't available to this API key ({code})",
		"Check the spelling of the model in the gateway's console, and that the key may use it.",
	],
	[status(401), 'The gateway rejected the API key (401)', 'Check the API key.', ['apiKey']],
	[refusesContent, 'The gateway refused the content (403)', 'Change the prompt or the images.'],
	[
		status(403),
		"The gateway doesn't allow this request (403)",
		"Check the key's permissions in the gateway's console.",
	],
	[
		status(413),
		'The request is too large for the gateway (413)',
		'Shorten the text, or send smaller images or fewer fields.',
	],
	[
		// The chat model has no such options.
		({ httpCode }, { patienceMs }) => httpCode === 429 && patienceMs !== undefined,
		'Rate limit exceeded (429)',
		'{wait}Send fewer messages at the same time, or connect a fallback model.',
	],
	[hasNoPace, 'Rate limit exceeded (429)', '{later}'],
	[
		status(429),
		'Rate limit exceeded (429)',
		'{wait}Send fewer requests per second or at a time.',
		['requestsPerSecond', 'concurrency'],
	],
	[
		refusesTasks,
		'The gateway rejected the asynchronous mode ({code})',
		'Send it synchronously, or ask for tasks in another way.{asked}',
		['mode', 'asyncFlag'],
	],
	[
		refusesEdits,
		"The gateway doesn't take this edit ({code})",
		'Send edits by another image API, or use a gateway that edits images.{asked}',
		['imageApi'],
	],
	[
		(response, plan) => response.httpCode === 404 && isPoll(plan) && !isGatewayError(response),
		'A server in front of the gateway responded with 404 and {body}',
		'This says nothing about the task. {checkAddress}',
		'address',
	],
	[
		({ httpCode }, plan) => httpCode === 404 && isPoll(plan),
		'Not found on the gateway (404)',
		'The gateway no longer has the task, or another account submitted it: then use its key.',
	],
	[
		(response, plan, said) =>
			plan.paid && plan.call !== 'message' && isMissing(response, plan, said),
		'Not found on the gateway ({code})',
		"{checkAddress} A gateway may also have another image API, such as OpenRouter's.{asked}",
		['baseUrl', 'imageApi'],
	],
	[isMissing, 'Not found on the gateway ({code})', '{checkAddress}{asked}', 'address'],
	[
		needsHttps,
		'The server uses https at this address (400)',
		'Change "http://" to "https://" in {field}.',
		'address',
	],
	[
		(response) => (response.httpCode >= 500 || response.httpCode === 408) && !saysRefused(response),
		'While {doing}, the gateway was unavailable ({code})',
		'Try again later.',
	],
	[
		({ httpCode }, _, said) => httpCode === 400 && /\bheaders?\b/i.test(said),
		'The gateway rejected the request (400)',
		'If it needs another header, add it.',
		['headers'],
	],
	[
		(_, { paid }) => paid,
		'The gateway rejected the request ({code})',
		'Check the model, the prompt and the parameters.',
	],
	[
		() => true,
		'The gateway rejected the request ({code})',
		'Check the parameters, the address and the key.',
		['baseUrl', 'apiKey'],
	],
];
