import { underSettings } from '../protocol/credential';
import type { Fault } from '../protocol/networkFault';
import type { FaultOutcome } from '../protocol/outcome';
import type { RequestPlan } from '../protocol/requestPlan';

/** The server of a request, as users know it. */
export interface Server {
	name: string;
	/** The credential field with its address. */
	field: string;
}

/** The image and message endpoints. */
const GATEWAY: Server = { name: 'the gateway', field: "'Base URL'" };

/** A plan doesn't say which of the two fields has the address of the model list. */
const LISTING: Server = {
	name: 'the model list',
	field: `'Base URL' (or ${underSettings('Media URL')}, if set)`,
};

/** The server of a plan. */
export function serverOf({ call }: Pick<RequestPlan, 'call'>): Server {
	return call === 'listing' ? LISTING : GATEWAY;
}

/** The advice for an address without a gateway. */
export function checkAddress({ name, field }: Server): string {
	return `Check ${field} in the Media Gateway credential, and that the n8n server can reach ${name}.`;
}

/** The text of a fault for the middle of a sentence, and the advice. */
export function faultTexts(
	{ fault, detail }: Pick<FaultOutcome, 'fault' | 'detail'>,
	server: Server,
): { happened: string; advice: string } {
	if (fault === 'invalidAddress' && /^(EPROTO$|ERR_SSL_)/.test(detail)) {
		return {
			happened: `${server.name}'s server doesn't use https at this address`,
			advice: `If it uses http, change "https://" to "http://" in ${server.field} of the Media Gateway credential.`,
		};
	}
	const [happened, advice] = TEXTS[fault];
	return {
		happened: happened.replace('{name}', server.name),
		advice: advice?.replace('{field}', server.field) ?? checkAddress(server),
	};
}

const LATER = 'Try again later.';

/** The default advice is to check the address. */
const TEXTS: Record<Fault, [happened: string, advice?: string]> = {
	refused: ['the connection to {name} was refused'],
	notFound: ['the host name of {name} was not found'],
	invalidAddress: ['the address is invalid'],
	unconnected: ["a secure connection to {name} couldn't be established"],
	connectTimeout: ['connecting to {name} timed out'],
	invalidHeader: [
		'a request header is invalid',
		`Check ${underSettings('Additional Headers', 'Version Header Name')} in the Media Gateway credential. A header name can't contain spaces, colons or special characters.`,
	],
	invalidBody: [
		"the request body can't be sent",
		"Check the prompt, the files and 'Extra Fields'.",
	],
	blocked: [
		'n8n blocked the request to this address',
		"Ask your n8n administrator to allow the host in n8n's protection against server-side request forgery (SSRF) and in the credential's allowed domains.",
	],
	certificate: [
		"the server's certificate isn't trusted",
		`If you trust the gateway's self-signed certificate, turn on ${underSettings('Allow Self-Signed Certificates')} in the Media Gateway credential.`,
	],
	reset: ['the connection was closed before the response was complete', LATER],
	timeout: [
		'the request timed out',
		"Try again later, or increase 'Timeout' in the node's options.",
	],
	ended: ['the call was ended before the response arrived', LATER],
	tooSlow: ["{name} didn't send all of it in time", LATER],
	notAnImage: ['{name} returned no image'],
	tooLarge: ['the response is too large', 'Check that the address belongs to a media gateway.'],
	diskFull: ['the n8n server had no disk space left', 'Free up disk space on the n8n server.'],
	other: ['the connection failed', LATER],
};
