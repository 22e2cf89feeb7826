import type { Setting } from '../protocol/gatewayError';
import type { Fault } from '../protocol/networkFault';
import type { FaultOutcome } from '../protocol/outcome';
import type { RequestPlan } from '../protocol/requestPlan';

/** The server of a request, as users know it. */
export interface Server {
	name: string;
	/** The field with its address, in words. */
	field: string;
	settings: Setting[];
}

/** The image and message endpoints. */
const GATEWAY: Server = { name: 'the gateway', field: 'the base URL', settings: ['baseUrl'] };

/** A plan doesn't say which of the two fields has the address of the model list. */
const LISTING: Server = {
	name: 'the model list',
	field: 'the base URL (or the media URL, if set)',
	settings: ['baseUrl', 'mediaUrl'],
};

/** The server of a plan. */
export function serverOf({ call }: Pick<RequestPlan, 'call'>): Server {
	return call === 'listing' ? LISTING : GATEWAY;
}

/** The advice for an address without a gateway. */
export function checkAddress({ name, field }: Server): string {
	return `Check ${field}, and that this server can reach ${name}.`;
}

/** The text of a fault for the middle of a sentence, the advice, and what that is about. */
export function faultTexts(
	{ fault, detail }: Pick<FaultOutcome, 'fault' | 'detail'>,
	server: Server,
): { happened: string; advice: string; settings?: Setting[] } {
	if (fault === 'invalidAddress' && /^(EPROTO$|ERR_SSL_)/.test(detail)) {
		return {
			happened: `${server.name}'s server doesn't use https at this address`,
			advice: `If it uses http, change "https://" to "http://" in ${server.field}.`,
			settings: server.settings,
		};
	}
	const [text, advice = checkAddress(server), settings = server.settings] = TEXTS[fault];
	return { happened: text.replace('{name}', server.name), advice, settings };
}

const LATER = 'Try again later.';

/** The default advice is to check the address. */
const TEXTS: Record<Fault, [happened: string, advice?: string, settings?: Setting[]]> = {
	refused: ['the connection to {name} was refused'],
	notFound: ['the host name of {name} was not found'],
	invalidAddress: ['the address is invalid'],
	unconnected: ["a secure connection to {name} couldn't be established"],
	connectTimeout: ['connecting to {name} timed out'],
	invalidHeader: [
		'a request header is invalid',
		"Check the names of the headers, which can't contain spaces, colons or special characters.",
		['headers', 'version'],
	],
	invalidBody: [
		"the request body can't be sent",
		'Check the prompt, the files and the extra fields.',
		[],
	],
	blocked: ['the request to this address was blocked', 'Have the host allowed.', ['allowedHosts']],
	certificate: [
		"the server's certificate isn't trusted",
		"If you trust the gateway's self-signed certificate, allow it.",
		['allowUnauthorizedCerts'],
	],
	reset: ['the connection was closed before the response was complete', LATER, []],
	timeout: ['the request timed out', 'Try again later, or increase the timeout.', ['timeout']],
	ended: ['the call was ended before the response arrived', LATER, []],
	tooSlow: ['the request timed out', LATER, []],
	notAnImage: ['{name} returned no image'],
	tooLarge: ['the response is too large', 'Check that the address belongs to a media gateway.'],
	diskFull: ['this server had no disk space left', 'Free up disk space on it.', []],
	other: ['the connection failed', LATER, []],
};
