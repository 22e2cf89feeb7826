import { isJsonObject, nonEmptyString } from '../../util/json';
import { namedAddresses } from '../../util/httpAddresses';
import { afterColon, capital, excerpt, quote } from '../../util/text';
import type { Bill } from '../protocol/bill';
import { chargedAfter, leadsToTask, type HttpResponse, type Outcome } from '../protocol/outcome';
import { keyConflict, mayBeStored } from '../protocol/idempotency';
import type { Call, RequestPlan } from '../protocol/requestPlan';
import { GatewayError, unknownOutcome, withDetails, type Problem } from '../protocol/gatewayError';
import { readBill } from '../responses/cost';
import { readRequestId, withRequestId } from '../responses/requestId';
import { saysFailure, errorIn, errorTypeIn, reasonIn } from '../responses/errorBody';
import { idOfAddress, layersOf, readTaskId } from '../responses/responseFields';
import { isErrorWord } from '../protocol/status';
import { checkAddress, faultTexts, serverOf, type Server } from './faultTexts';
import { ERRORS, LONGEST_WAIT_S, pauseSecondsOf, NOT_CHARGED } from './errorTable';
import { refusalAdvice } from './messageAdvice';
import { afterTries } from '../../util/tries';

/** Where a request went, if there is no such endpoint: people rarely see that a path is wrong. */
function askedAt({ httpCode, url }: HttpResponse, { field }: Server): string {
	const isMissing = [404, 405, 501].includes(httpCode);
	return isMissing && url !== undefined ? ` ${capital(field)} led to ${quote(url)}.` : '';
}

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
	test: 'testing the credential',
};

const NOTHING_SENT = " Nothing was sent, and you weren't charged for this request.";

const NOT_SENT = 'Nothing was sent: an earlier request got this response.';

const HOW_TO_FIND_OUT =
	"The request wasn't sent again, because it may have been accepted and charged. Check the usage log in the gateway's console before you send it again.";

const HOW_TO_FIND_OUT_WITH_KEY =
	"It may have been accepted and charged. Retry sends it again with the same key, by which the gateway knows it; another execution pays for another image. The usage log in the gateway's console says what was charged.";

const OTHER_KEYS = 'run the workflow again: another execution has other keys.';

const KEY_WAS_USED = `The key belongs to a request that was sent before, perhaps with another content, and may have been charged. Nothing else was sent. To pay for this request, ${OTHER_KEYS}`;

const MAY_BE_STORED = `If its cause is gone and a retry gets this response again, the gateway has stored it for the request's key: ${OTHER_KEYS}`;

/**
 * The error for an outcome that is not a good response (docs/protocol.md, "Errors"), with the number of
 * its request and the gateway's word for its kind.
 */
export function errorFor(plan: RequestPlan, outcome: Outcome, attempts = 1): GatewayError {
	const error = errorWithoutId(plan, outcome, attempts);
	// What an image's host says of itself says nothing about the gateway.
	if (plan.call === 'download') return error;
	const requestId = readRequestId(outcome.headers);
	const description = withRequestId(error.problem.description, requestId);
	const errorType = outcome.kind === 'response' ? errorTypeIn(outcome.json) : undefined;
	return withDetails(error, { description, requestId, errorType });
}

/** What the gateway has billed for a request of unknown outcome, if it says so. */
const billOf = (outcome: Outcome): Bill =>
	outcome.kind === 'response' && isJsonObject(outcome.json)
		? readBill(layersOf(outcome.json), outcome.headers)
		: {};

function errorWithoutId(plan: RequestPlan, outcome: Outcome, attempts: number): GatewayError {
	const tried = afterTries(attempts);
	if (plan.paid && chargedAfter(outcome, plan.call, plan.isIdempotent) === 'maybe') {
		return unknownOutcome({
			message: `The outcome is unknown: while ${NAMES[plan.call]}, ${whatHappened(plan, outcome)}${plan.isIdempotent ? tried : ''}`,
			// What has arrived of a response that was cut off may name the image.
			description: `${howToFindOut(plan, outcome)}${outcome.kind === 'fault' ? namedAddresses(outcome.received) : ''}`,
			httpCode: outcome.httpCode,
			...billOf(outcome),
			taskId: plan.call === 'message' ? undefined : idInResponse(outcome),
			response: excerpt(outcome.kind === 'response' ? outcome.text : outcome.received),
		});
	}
	if (outcome.kind === 'fault') {
		const { happened, advice, settings } = faultTexts(outcome, serverOf(plan));
		return new GatewayError({
			settings,
			message: `While ${NAMES[plan.call]}, ${happened}${tried}`,
			description: `${advice}${plan.paid ? NOTHING_SENT : ''}${outcome.detail === '' ? '' : ` (${outcome.detail})`}`,
			httpCode: outcome.httpCode,
		});
	}
	const { message, description, settings } = problemFor(plan, outcome);
	return new GatewayError({
		settings,
		message: message + tried,
		description: attempts > 0 ? description : `${description} ${NOT_SENT}`,
		httpCode: outcome.httpCode,
	});
}

/** What to do about an unknown outcome. */
function howToFindOut({ isIdempotent }: RequestPlan, outcome: Outcome): string {
	if (isIdempotent !== true) return HOW_TO_FIND_OUT;
	const conflict = outcome.kind === 'response' ? keyConflict(outcome) : undefined;
	return conflict === 'used' ? KEY_WAS_USED : HOW_TO_FIND_OUT_WITH_KEY;
}

/** The ID in the response to a paid request, or at the end of the address that it leads to. */
function idInResponse({ headers: { location } = {}, ...outcome }: Outcome): string | undefined {
	const json = outcome.kind === 'response' ? outcome.json : undefined;
	const id = isJsonObject(json) ? readTaskId(json) : undefined;
	return id ?? (leadsToTask(location) ? idOfAddress(location) : undefined);
}

function whatHappened(plan: RequestPlan, outcome: Outcome): string {
	if (outcome.kind === 'fault') return faultTexts(outcome, serverOf(plan)).happened;
	const said = gatewayMessage(outcome);
	if (outcome.httpCode >= 500 || outcome.httpCode === 408) {
		return `the gateway responded with ${outcome.httpCode}${said === undefined ? '' : ` ("${said}")`}`;
	}
	if (plan.isIdempotent === true && keyConflict(outcome) !== undefined) {
		return `the gateway responded with ${outcome.httpCode} about the request's key${afterColon(said)}`;
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
	const hasError = json.error !== undefined && json.error !== null;
	const isError = hasError || isErrorWord(nonEmptyString(json.status) ?? '');
	return `${isError ? 'an error' : describeBody(response)}${afterColon(errorIn(json))}`;
}

function describeBody(response: HttpResponse): string {
	if (response.text.trim() === '') return 'an empty body';
	if (/^\s*</.test(response.text)) return 'a web page instead of JSON';
	if (response.json === undefined) return "a body that isn't JSON";
	return 'JSON without any of the expected fields';
}

/** A time as people say it. */
function timeText(seconds: number): string {
	if (seconds <= LONGEST_WAIT_S) return `${seconds} s`;
	const minutes = Math.ceil(seconds / 60);
	return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** The problem of an error response, or of one without usable content (`errorTable.ts`). */
function problemFor(plan: RequestPlan, response: HttpResponse): Problem {
	const { httpCode, headers, json } = response;
	// Of a success, only the words of an error count.
	const said = httpCode >= 400 || saysFailure(json) ? gatewayMessage(response) : undefined;
	const server = serverOf(plan);
	const waitS = pauseSecondsOf(response);
	const wait = waitS >= 1 ? `Retry after ${timeText(waitS)}. ` : '';
	const values: Record<string, string | number> = {
		code: httpCode,
		doing: NAMES[plan.call],
		field: server.field,
		checkAddress: checkAddress(server),
		location: quote(headers.location ?? 'it'),
		asked: askedAt(response, server),
		body: describeBody(response),
		unexpected: describeUnexpectedBody(response),
		wait,
		later: wait || 'Try again later. ',
	};
	const filled = (text: string): string =>
		text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]));
	// The last row fits all.
	const [, message, description, settings] = ERRORS.find(([fits]) =>
		fits(response, plan, said ?? ''),
	)!;
	const isRefused = plan.call === 'message' && httpCode === 400;
	const advice = isRefused ? refusalAdvice(plan.body ?? {}, said ?? '') : [];
	const stored = plan.isIdempotent === true && mayBeStored(response) ? [MAY_BE_STORED] : [];
	const advised = advice.flatMap((one) => one.settings ?? []);
	const usual = settings === 'address' ? server.settings : (settings ?? []);
	return {
		message: filled(message) + afterColon(said),
		description: [
			...advice.map((one) => one.description),
			filled(description).trim(),
			...stored,
			...(plan.paid ? [NOT_CHARGED] : []),
		].join(' '),
		settings: [...new Set([...advised, ...usual])],
	};
}
