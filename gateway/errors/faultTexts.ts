import type { Fault, FaultOutcome } from '../protocol/outcome';
import type { RequestPlan } from '../protocol/requestPlan';

/** Where a request goes, as people know it. */
export interface Place {
	name: string;
	/** The field of the credential that holds its address. */
	field: string;
}

/** Where the image and message endpoints are. */
export const GATEWAY: Place = { name: 'the gateway', field: "'Base URL'" };

/** Where the model listing is, if its address is set. */
export const LISTING: Place = { name: 'the model list', field: "'Media URL'" };

/** Whether the address of the listing is set, a plan does not say. */
const LISTING_OF_A_RUN: Place = {
	...LISTING,
	field: "'Media URL' (or 'Base URL' where that is empty)",
};

/** Where a plan goes. */
export function placeOf({ call }: Pick<RequestPlan, 'call'>): Place {
	return call === 'listing' ? LISTING_OF_A_RUN : GATEWAY;
}

/** What to do about an address at which there is no gateway. */
export function checkAddress({ name, field }: Place): string {
	return `Check ${field} in the Media Gateway credential, and that the n8n server can reach ${name}.`;
}

interface Texts {
	/** In the middle of a sentence. */
	happened: string;
	advice: string;
	/** What the test of the credential advises: it has no options, and always names a field. */
	adviceOfTest: string;
}

/** What a fault means, and what to do about it. */
export function faultTexts(
	{ fault, detail }: Pick<FaultOutcome, 'fault' | 'detail'>,
	place: Place,
): Texts {
	if (fault === 'invalidAddress' && /^(EPROTO$|ERR_SSL_)/.test(detail)) {
		const advice = `If it uses http, change "https://" to "http://" in ${place.field} of the Media Gateway credential.`;
		return {
			happened: `${place.name}'s server doesn't use https at this address`,
			advice,
			adviceOfTest: advice,
		};
	}
	const { happened, advice: own, adviceOfTest = own } = TEXTS[fault];
	const inPlace = (text: string | undefined): string =>
		text?.replace('{field}', place.field) ?? checkAddress(place);
	return {
		happened: happened.replace('{name}', place.name),
		advice: inPlace(own),
		adviceOfTest: inPlace(adviceOfTest),
	};
}

interface Template {
	happened: string;
	/** Default: to check the address. */
	advice?: string;
	/** Default: the same. */
	adviceOfTest?: string;
}

const LATER = { advice: 'Try again later.', adviceOfTest: 'Try again later. Check {field}.' };
const ALLOW =
	"Ask your n8n administrator to allow the host in n8n's protection against server-side request forgery (SSRF) and in the credential's allowed domains.";
const NO_GATEWAY = 'Check that the address belongs to a media gateway.';

const TEXTS: Record<Fault, Template> = {
	refused: { happened: 'the connection to {name} was refused' },
	notFound: { happened: 'the host name of {name} was not found' },
	invalidAddress: { happened: 'the address is invalid' },
	unconnected: { happened: "a secure connection to {name} couldn't be established" },
	tlsMismatch: {
		happened: "n8n and the server couldn't agree on a secure connection (TLS)",
		advice:
			"Ask the gateway's operator which TLS versions, ciphers and client certificates it requires, and check {field} in the Media Gateway credential.",
	},
	invalidHeader: {
		happened: 'a request header is invalid',
		advice:
			"Check 'API Key', 'Version Header Name' and 'Version Header Value' in the Media Gateway credential. A header name can't contain spaces, colons or special characters.",
	},
	invalidBody: {
		happened: "the request body can't be sent",
		advice: "Check the prompt, the files and 'Extra Fields'.",
	},
	blocked: {
		happened: 'n8n blocked the request to this address',
		advice: ALLOW,
		adviceOfTest: `${ALLOW} Check {field}.`,
	},
	certificate: {
		happened: "the server's certificate isn't trusted",
		advice:
			"If you trust the gateway's self-signed certificate, turn on 'Allow Self-Signed Certificates' in the Media Gateway credential.",
	},
	reset: { happened: 'the connection was closed before the response was complete', ...LATER },
	timeout: {
		happened: 'the request timed out',
		...LATER,
		advice: "Try again later, or increase 'Timeout' in the options.",
	},
	tooLarge: {
		happened: 'the response is too large',
		advice: NO_GATEWAY,
		adviceOfTest: `${NO_GATEWAY} Check {field}.`,
	},
	other: { happened: 'the connection failed', ...LATER },
};
