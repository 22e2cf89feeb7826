import type { IBinaryData, IExecuteFunctions, IN8nHttpFullResponse } from 'n8n-workflow';
import { readDataUrl, type DataUrl } from '../../../gateway/util/dataUrl';
import { quote } from '../../../gateway/util/text';
import { detectImageType, imageFileName, safeMimeType } from '../../../gateway/protocol/imageType';
import type { JsonObject } from '../../../gateway/util/json';
import {
	isGood,
	type HttpResponse,
	type Fault,
	type Outcome,
} from '../../../gateway/protocol/outcome';
import { planDownload, type RequestPlan } from '../../../gateway/protocol/requestPlan';
import { GatewayError } from '../../../gateway/util/gatewayError';
import { downloadTarget } from '../../../gateway/protocol/redirect';
import type { Client, SendOnce } from '../../../gateway/client/client';
import { bound, isByteStream, peek, readBody, TooLargeError } from './responseBody';
import { faultFrom, plainHeaders, skipsCertificate, type TransportOptions } from './http';

const MB = 1024 * 1024;
/** An error page is quoted, not stored. */
const LARGEST_ERROR_BYTES = 64 * 1024;
const MOST_REDIRECTS = 10;

/** What the file of an image is to be called, without extension. */
export interface ImageName {
	/** Where neither the user nor the address of the image suggests one. */
	fallback: string;
	/** By the user; safe as it is. */
	chosen?: string;
}

/** What a download needs of a run. */
interface Transport extends Pick<TransportOptions, 'address' | 'limits' | 'requests'> {
	context: IExecuteFunctions;
	client: Client;
}

/**
 * Downloads an image into n8n's binary store, as a stream and without any credential: the
 * address may lie on a foreign host.
 *
 * @param url as the gateway gave it; a relative one counts from the gateway's address
 * @param maxMb refused beyond this, in MB
 * @param name for the file
 * @param role a finished image, or the one that an edit starts from
 * @returns the binary data with its real MIME type, size and a safe file name
 * @throws GatewayError that holds the address, so that the image can still be fetched
 */
export async function downloadImage(
	transport: Transport,
	url: string,
	maxMb: number,
	name: ImageName,
	role: 'result' | 'source' = 'result',
): Promise<IBinaryData> {
	const inline = readDataUrl(url);
	if (inline !== undefined) return await storeInline(transport, inline, name);

	const address = imageAddress(url, transport.address.baseUrl);
	if (address === undefined) {
		throw new GatewayError({
			message: 'The gateway returned an invalid image address',
			description: `The gateway sent ${quote(url)}`,
			url: quote(url),
		});
	}
	const maxBytes = Math.floor(maxMb * MB);
	const { outcome, attempts } = await transport.client.sendWithRetry(
		planDownload(address),
		createDownloader(transport, maxBytes, name),
		role === 'result',
	);
	if (isGood(outcome)) return outcome.json as unknown as IBinaryData;
	const shown =
		address.length > LONGEST_ADDRESS ? `${address.slice(0, LONGEST_ADDRESS)}…` : address;
	const rest =
		role === 'source'
			? "Check 'Image URL'. Nothing was sent to the gateway."
			: `The image is finished and paid for. You can download it from ${shown}`;
	const tried = attempts > 1 ? ` (tried ${attempts} times)` : '';
	throw new GatewayError({
		message: `The image couldn't be downloaded: ${whatHappened(outcome, maxMb)}${tried}`,
		description: `${adviceFor(outcome)}${rest}`,
		httpCode: outcome.kind === 'response' ? outcome.httpCode : undefined,
		url: shown,
	});
}

/** In characters: signed addresses are shorter. */
const LONGEST_ADDRESS = 4000;

/** The address may lie on any host: the sentences about the gateway and its key do not fit here. */
const FAULTS: Record<Fault, string> = {
	refused: 'its server refused the connection',
	notFound: 'the host name in its address was not found',
	invalidAddress: 'its address is invalid',
	unconnected: "a connection to its server couldn't be established",
	tlsMismatch: "n8n and its server couldn't agree on a secure connection (TLS)",
	invalidHeader: 'its address is invalid',
	invalidBody: "the request couldn't be built",
	blocked: 'n8n blocked the request to its address',
	certificate: "its server's certificate isn't trusted",
	reset: 'the connection was closed before the download was complete',
	timeout: 'the download timed out',
	tooLarge: 'it is too large',
	other: 'the connection failed',
};

function whatHappened(outcome: Outcome, maxMb: number): string {
	if (outcome.kind === 'response') {
		const { httpCode } = outcome;
		return httpCode >= 200 && httpCode < 300
			? `its address returned ${describeBody(outcome)} instead`
			: `its server responded with ${httpCode}`;
	}
	return outcome.fault === 'tooLarge' ? `it is larger than ${maxMb} MB` : FAULTS[outcome.fault];
}

function describeBody({ text }: HttpResponse): string {
	if (text === '') return 'nothing';
	if (/^\s*</.test(text)) return 'a web page';
	return /^\s*[{[]/.test(text) ? 'JSON' : "a file that isn't an image";
}

/** What can be done about some of the reasons, with a blank behind it. */
function adviceFor(outcome: Outcome): string {
	if (outcome.kind !== 'fault') return '';
	if (outcome.fault === 'tooLarge') return "Increase 'Max Download Size' in the options. ";
	return outcome.fault === 'timeout' ? "Increase 'Timeout' in the options. " : '';
}

function imageAddress(url: string, baseUrl: string): string | undefined {
	try {
		const address = new URL(url, `${baseUrl}/`);
		return ['http:', 'https:'].includes(address.protocol) ? address.href : undefined;
	} catch {
		return undefined;
	}
}

function createDownloader(transport: Transport, maxBytes: number, name: ImageName): SendOnce {
	const { limits, requests } = transport;
	return async (plan, timeoutMs = limits.timeoutMs) => {
		const load = async (signal: AbortSignal): Promise<Outcome> => {
			const response = await follow(transport, plan, signal);
			const head = { kind: 'response' as const, httpCode: response.statusCode };
			const headers = plainHeaders(response.headers);
			if (response.statusCode < 200 || response.statusCode >= 300) {
				const text = (await readBody(response.body, LARGEST_ERROR_BYTES)).toString('utf8');
				return { ...head, headers, text, json: undefined };
			}
			const stored = await store(transport, response.body, plan.path, headers, maxBytes, name);
			if (typeof stored === 'string') return { ...head, headers, text: stored, json: undefined };
			return { ...head, headers, text: '', json: stored as unknown as JsonObject };
		};
		return await requests.run(timeoutMs, load, faultFrom);
	};
}

/**
 * Follows redirects by hand: whether an untrusted certificate is accepted is a question of its own
 * for each address on the transport.
 */
async function follow(
	{ context, address }: Transport,
	plan: RequestPlan,
	signal: AbortSignal,
): Promise<IN8nHttpFullResponse> {
	let url = plan.path;
	for (let hop = 0; ; hop += 1) {
		const response = (await context.helpers.httpRequest({
			method: 'GET',
			url,
			headers: { ...plan.headers },
			encoding: 'stream',
			returnFullResponse: true,
			ignoreHttpStatusErrors: true,
			disableFollowRedirect: true,
			skipSslCertificateValidation: skipsCertificate(url, address),
			abortSignal: signal,
		})) as IN8nHttpFullResponse;
		const { location } = plainHeaders(response.headers);
		const target = downloadTarget(response.statusCode, location, url);
		if (target === undefined || hop >= MOST_REDIRECTS) return response;
		if (isByteStream(response.body)) response.body.destroy();
		url = target;
	}
}

/** In bytes. Every image is longer, and tells in fewer what it is. */
const FEWEST_BYTES = 64;

/** Puts a body into the binary store, or returns how it begins if it is no image. */
async function store(
	{ context }: Transport,
	body: unknown,
	url: string,
	headers: Record<string, string>,
	maxBytes: number,
	{ fallback, chosen }: ImageName,
): Promise<IBinaryData | string> {
	if (Number(headers['content-length'] ?? 0) > maxBytes) {
		if (isByteStream(body)) body.destroy();
		return await Promise.reject(new TooLargeError('Content-Length'));
	}
	const first = isByteStream(body) ? await peek(body) : await readBody(body, maxBytes);
	// A server that sends a byte at a time: what cannot be told by its beginning is read as a whole.
	const isTiny = isByteStream(body) && first.length > 0 && first.length < FEWEST_BYTES;
	const whole = isTiny ? await readBody(body, maxBytes) : undefined;
	const start = whole ?? first;
	const source = whole ?? (isByteStream(body) ? body : start);
	const mimeType = detectImageType(start) ?? imageTypeIn(headers);
	if (mimeType === undefined || start.length === 0) {
		if (isByteStream(source)) source.destroy();
		return Buffer.from(start.subarray(0, 100)).toString('utf8');
	}
	if (isByteStream(source)) bound(source, maxBytes);
	return await context.helpers.prepareBinaryData(
		// A stream of Node.js, but for the type, which may not be imported.
		source as Buffer,
		imageFileName(url, mimeType, fallback, chosen),
		mimeType,
	);
}

/** The image type that the server names, if its form is that of one. */
function imageTypeIn(headers: Record<string, string>): string | undefined {
	return /^\s*(image\/[a-z0-9.+-]{1,40})\s*(;|$)/i
		.exec(headers['content-type'] ?? '')?.[1]
		?.toLowerCase();
}

/** What came inside a response is paid for: it is kept also where no known image type is in it. */
async function storeInline(
	{ context }: Transport,
	{ mimeType: given, base64 }: DataUrl,
	{ fallback, chosen }: ImageName,
): Promise<IBinaryData> {
	const bytes = Buffer.from(base64, 'base64');
	if (bytes.length === 0) {
		throw new GatewayError({
			message: 'The image in the response is empty',
			description: "Set 'Response Format' to 'URL' in the options.",
		});
	}
	const mimeType =
		detectImageType(bytes) ?? safeMimeType(given)?.split(';')[0] ?? 'application/octet-stream';
	return await context.helpers.prepareBinaryData(
		bytes,
		imageFileName('', mimeType, fallback, chosen),
		mimeType,
	);
}
