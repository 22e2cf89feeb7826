import type { Fault, FaultOutcome } from '../protocol/outcome';
import type { RequestPlan } from '../protocol/requestPlan';

/** Where a request goes, as people know it. */
export interface Place {
	name: string;
	/** The field of the credential that holds its address. */
	field: string;
}

/** Where the image and message endpoints are. */
export const GATEWAY: Place = { name: 'the gateway', field: '"Base URL"' };

/** Where the model listing is, if its address is set. */
export const LISTING: Place = { name: 'the model listing', field: '"Media URL"' };

/** Whether the address of the listing is set, a plan does not say. */
const LISTING_OF_A_RUN: Place = {
	...LISTING,
	field: '"Media URL" (or "Base URL" where that is empty)',
};

/** Where a plan goes. */
export function placeOf({ call }: Pick<RequestPlan, 'call'>): Place {
	return call === 'listing' ? LISTING_OF_A_RUN : GATEWAY;
}

/** What to do about an address at which there is no gateway. */
export function checkAddress({ name, field }: Place): string {
	return `Check ${field} in the Media Gateway credential and that ${name} can be reached from the machine that runs n8n.`;
}

interface Texts {
	/** In the middle of a sentence. */
	happened: string;
	advice: string;
}

/** What a fault means, and what to do about it. */
export function faultTexts(
	{ fault, detail }: Pick<FaultOutcome, 'fault' | 'detail'>,
	place: Place,
): Texts {
	if (fault === 'invalidAddress' && /^(EPROTO$|ERR_SSL_)/.test(detail)) {
		return {
			happened: `the server of ${place.name} does not use https at this address`,
			advice: `If it uses http, change "https://" to "http://" in ${place.field} of the Media Gateway credential.`,
		};
	}
	const { happened, advice } = TEXTS[fault];
	return {
		happened: happened.replace('{name}', place.name),
		advice: advice?.replace('{field}', place.field) ?? checkAddress(place),
	};
}

/** Without advice: the address is to be checked. */
const TEXTS: Record<Fault, { happened: string; advice?: string }> = {
	refused: { happened: 'nothing answers at the address of {name}' },
	notFound: { happened: 'the host name of {name} was not found' },
	invalidAddress: { happened: 'the address is not valid' },
	unconnected: { happened: 'no secure connection to {name} could be made' },
	tlsMismatch: {
		happened: 'the server and n8n could not agree on a secure connection (TLS)',
		advice:
			'Ask the operator of the gateway which TLS versions, ciphers and client certificates it needs, and check {field} in the Media Gateway credential.',
	},
	invalidHeader: {
		happened: 'a header of the request is not valid',
		advice:
			'Check "API Key", "Version Header Name" and "Version Header Value" in the Media Gateway credential: a header name has no blanks, umlauts or colons.',
	},
	invalidBody: {
		happened: 'the content of the request cannot be sent',
		advice: 'Check the prompt, the files and "Extra Fields".',
	},
	blocked: {
		happened: 'requests to the address are not allowed by n8n',
		advice:
			'Ask the administrator of n8n to allow the host in its protection against server-side request forgery (SSRF) and in the domains of the credential.',
	},
	certificate: {
		happened: 'the certificate of the server is not trusted',
		advice:
			'If the gateway uses a self-signed certificate that you trust, switch on "Allow Self-Signed Certificates" in the Media Gateway credential.',
	},
	reset: {
		happened: 'the connection was cut before the answer had arrived',
		advice: 'Try again later.',
	},
	timeout: {
		happened: 'no complete answer came within the time-out',
		advice: 'Try again later, or raise "Timeout" in the options.',
	},
	tooLarge: {
		happened: 'the answer is larger than the node accepts',
		advice: 'Check that the address is that of a media gateway.',
	},
	other: { happened: 'the connection failed', advice: 'Try again later.' },
};
