import { isJsonObject } from '../util/json';
import { excerpt, quote } from '../util/text';
import {
	leadsToResult,
	wasNotAccepted,
	type HttpResponse,
	type Outcome,
} from '../protocol/outcome';
import { requestedPauseMs } from '../protocol/retryAfter';
import type { Call, RequestPlan } from '../protocol/requestPlan';
import { GatewayError, UnknownOutcomeError, type Problem } from '../util/gatewayError';
import { saysFailure } from '../protocol/models';
import { afterColon, errorIn, isGatewayError, needsHttps, reasonIn } from '../protocol/errorBody';
import { isOutOfQuota } from '../protocol/quota';
import { idOfAddress, readTaskId } from '../protocol/responseFields';
import { checkAddress, faultTexts, targetOf } from './faultTexts';
import { messageProblem, refusalAdvice } from './messageErrors';

/** The gateway's own words in an error response: its reason, or all of a plain text. */
export function gatewayMessage(response: HttpResponse): string | undefined {
	const isText = response.json === undefined && !/^\s*[<{[]/.test(response.text);
	return reasonIn(isText ? response.text : response.json);
}

const NAMES: Record<Call, string> = {
	submit: 'submitting the image task',
	sync: 'creating the image',
	poll: 'checking the task status',
	download: 'downloading the image',
	listing: 'loading the model list',
	names: 'loading the names of models',
	message: 'sending the message',
};

const NOTHING_SENT = " Nothing was sent, and you weren't charged for this request.";

const HOW_TO_FIND_OUT =
	"The request wasn't sent again, because it may have been accepted and charged. Check the usage log in the gateway's console before you send it again.";

/** The error for an outcome that is not a good response (docs/protocol.md, "Errors"). */
export function errorFor(plan: RequestPlan, outcome: Outcome, attempts = 1): GatewayError {
	const tried = attempts > 1 ? ` (tried ${attempts} times)` : '';
	if (plan.paid && !wasNotAccepted(outcome)) {
		return new UnknownOutcomeError({
			message: `The outcome is unknown: while ${NAMES[plan.call]}, ${whatHappened(plan, outcome)}`,
			description: HOW_TO_FIND_OUT,
			httpCode: outcome.httpCode,
			taskId:
				outcome.kind === 'response' && plan.call !== 'message' ? idInResponse(outcome) : undefined,
			response: excerpt(outcome.kind === 'response' ? outcome.text : outcome.received),
		});
	}
	if (outcome.kind === 'fault') {
		const { happened, advice } = faultTexts(outcome, targetOf(plan));
		return new GatewayError({
			message: `While ${NAMES[plan.call]}, ${happened}${tried}`,
			description: `${advice}${plan.paid ? NOTHING_SENT : ''}${outcome.detail === '' ? '' : ` (${outcome.detail})`}`,
			httpCode: outcome.httpCode,
		});
	}
	const { message, description } = problemFor(plan, outcome);
	return new GatewayError({ message: message + tried, description, httpCode: outcome.httpCode });
}

/** In characters: the part of a response that is searched for a word. */
const LONGEST_READ = 2000;

/** The ID in the response to a paid request, or at the end of the address that it leads to. */
function idInResponse({ json, headers: { location } }: HttpResponse): string | undefined {
	const id = isJsonObject(json) ? readTaskId(json) : undefined;
	return id ?? (leadsToResult(location) ? idOfAddress(location) : undefined);
}

function whatHappened(plan: RequestPlan, outcome: Outcome): string {
	if (outcome.kind === 'fault') return faultTexts(outcome, targetOf(plan)).happened;
	const said = gatewayMessage(outcome);
	if (outcome.httpCode >= 500 || outcome.httpCode === 408) {
		return `the gateway responded with ${outcome.httpCode}${said === undefined ? '' : ` ("${said}")`}`;
	}
	if (outcome.httpCode >= 300 && outcome.httpCode < 400) {
		return `the gateway responded with ${outcome.httpCode} and redirected to ${quote(outcome.headers.location ?? '') || 'nothing'}`;
	}
	return `the gateway responded with ${outcome.httpCode} and ${describeUnexpectedBody(outcome)}`;
}

/** A description of an unexpected body, with the words of an error that has a success status. */
function describeUnexpectedBody(response: HttpResponse): string {
	const { json } = response;
	if (!isJsonObject(json)) return describeBody(response);
	const isError = json.error !== undefined && json.error !== null;
	return `${isError ? 'an error' : describeBody(response)}${afterColon(errorIn(json))}`;
}

function describeBody(response: HttpResponse): string {
	if (response.text.trim() === '') return 'an empty body';
	if (/^\s*</.test(response.text)) return 'a web page instead of JSON';
	if (response.json === undefined) return "a body that isn't JSON";
	return 'JSON without any of the expected fields';
}

/** The problems that depend on the HTTP status alone. */
const STATUSES: Record<number, Problem> = {
	401: {
		message: 'The gateway rejected the API key (401)',
		description: 'Check the API key in the Media Gateway credential.',
	},
	403: {
		message: "The gateway doesn't allow this request (403)",
		description: "Check the key's permissions in the gateway's console.",
	},
	413: {
		message: 'The request is too large for the gateway (413)',
		description: 'Shorten the text, or send smaller images or fewer fields.',
	},
};

function problemFor(plan: RequestPlan, response: HttpResponse): Problem {
	const { httpCode } = response;
	if (httpCode < 400) return unexpectedResponse(plan, response);
	const said = gatewayMessage(response);
	const isMessage = plan.call === 'message';
	const { message, description } =
		(isMessage ? messageProblem(httpCode, said ?? '') : undefined) ??
		(isOutOfQuota(response) ? undefined : STATUSES[httpCode]) ??
		refusal(plan, response);
	const advice = isMessage && httpCode === 400 ? refusalAdvice(plan.body ?? {}, said ?? '') : [];
	return {
		message: message + afterColon(said),
		description: [...advice, description].join(' '),
	};
}

/** The problem of a success without usable content, or of a redirect that isn't followed. */
function unexpectedResponse(plan: RequestPlan, response: HttpResponse): Problem {
	const { httpCode, headers, json } = response;
	const target = targetOf(plan);
	if (httpCode >= 300) {
		return {
			message: `While ${NAMES[plan.call]}, the gateway redirected to another address (${httpCode})`,
			description: `The API key isn't sent to other addresses. If ${quote(headers.location ?? 'it')} is your gateway's address, enter it as ${target.field} in the Media Gateway credential.`,
		};
	}
	if (saysFailure(json)) {
		return {
			message: `While ${NAMES[plan.call]}, the gateway reported an error${afterColon(reasonIn(json))}`,
			description: "Try again later, or ask the gateway's operator.",
		};
	}
	return {
		message: `While ${NAMES[plan.call]}, the gateway responded with ${describeUnexpectedBody(response)}`,
		description: checkAddress(target),
	};
}

function refusal(plan: RequestPlan, response: HttpResponse): Problem {
	const { httpCode, text } = response;
	const target = targetOf(plan);
	if (httpCode === 404) return notFound(plan, response);
	if (needsHttps(response)) {
		return {
			message: 'The server uses https at this address (400)',
			description: `Change "http://" to "https://" in ${target.field} of the Media Gateway credential.`,
		};
	}
	if (isOutOfQuota(response)) {
		return {
			message: `Insufficient quota (${httpCode})`,
			description:
				"Top up the account in the gateway's console. You weren't charged for this request.",
		};
	}
	if (httpCode === 429) {
		return {
			message: 'Rate limit exceeded (429)',
			description: `${howLongToWait(response)}Lower 'Requests per Second' or 'Concurrency' in the options. The request wasn't accepted, and you weren't charged.`,
		};
	}
	if (httpCode >= 500 || httpCode === 408) {
		return {
			message: `While ${NAMES[plan.call]}, the gateway was unavailable (${httpCode})`,
			description: 'Try again later.',
		};
	}
	// The name of the flag, but not as a field in an echo of the request.
	if (plan.call === 'submit' && /\basync\b(?!\\?["']?\s*:)/i.test(text.slice(0, LONGEST_READ))) {
		return {
			message: `The gateway rejected the asynchronous mode (${httpCode})`,
			description:
				"Set 'Mode' to 'Synchronous', or try another 'Asynchronous Flag'. You weren't charged for this request.",
		};
	}
	return {
		message: `The gateway rejected the request (${httpCode})`,
		description: plan.paid
			? "Check the model, the prompt and the parameters. You weren't charged for this request."
			: 'Check the parameters.',
	};
}

/** What a 404 says: the path, the task or the address is wrong. */
function notFound(plan: RequestPlan, response: HttpResponse): Problem {
	const isPoll = plan.call === 'poll';
	if (isPoll && !isGatewayError(response)) {
		return {
			message: `A server in front of the gateway responded with 404 and ${describeBody(response)}`,
			description: `This says nothing about the task. ${checkAddress(targetOf(plan))}`,
		};
	}
	return {
		message: 'Not found on the gateway (404)',
		description: isPoll
			? "The task doesn't exist, or it belongs to another account. Use the credential that submitted it."
			: checkAddress(targetOf(plan)),
	};
}

/**
 * The pause that the gateway asks for, as a sentence with a space at its end, or an empty text.
 */
function howLongToWait(response: HttpResponse): string {
	const seconds = Math.ceil((requestedPauseMs(response, Date.now()) ?? 0) / 1000);
	return seconds >= 1 ? `Retry after ${seconds} s. ` : '';
}
