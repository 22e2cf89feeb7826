import { imageFileName, imageTypeOf, type FileName } from '../util/imageType';
import { afterTries } from '../util/tries';
import { MB } from '../util/megabyte';
import { quote } from '../util/text';
import { faultTexts, type Server } from './errors/faultTexts';
import type { Client } from './pace/client';
import type { Account } from './protocol/account';
import { GatewayError, type Setting } from './protocol/gatewayError';
import type { Fault } from './protocol/networkFault';
import { isGood, isSuccess, type HttpResponse, type Outcome } from './protocol/outcome';
import { planDownload } from './protocol/requestPlan';
import { absoluteAddress } from './protocol/url';
import { bound, peek, readBody, TooLargeError, type ResponseBody } from './wire/responseBody';
import {
	LARGEST_IMAGE_BYTES,
	type RunLimits,
	plainHeaders,
	type SendOnce,
	type ReadBody,
} from './wire/sendOnce';
import type { WireResponse } from './wire/transport';
import { isByteStream, type ByteStream } from '../util/byteStream';

/** An image to download. */
export interface ImageSource {
	/** The address from the gateway, which may be relative to the gateway's own. */
	url: string;
	/** The name of its file, as for `imageFileName`. */
	name?: FileName;
	/** The index of its item, for a log. */
	item?: number;
	/** Whether it is the source of an edit; otherwise it is a finished image, which was paid for. */
	isInput?: boolean;
	/** Ends this download alone. */
	signal?: AbortSignal;
}

/** The longest download of a source image: all items wait for it before anything is sent. */
const LONGEST_SOURCE_MS = 60_000;

/**
 * Keeps the bytes of an image, as a stream or whole.
 *
 * @returns what `downloadImage` returns
 */
export type StoreImage<T extends object> = (
	content: ByteStream | Buffer,
	fileName: string,
	mimeType: string,
) => Promise<T>;

/** What the downloads of a run share. */
interface DownloadContext {
	account: Pick<Account, 'baseUrl'>;
	client: Pick<Client, 'request'>;
	limits: Pick<RunLimits, 'timeoutMs' | 'maxResponseBytes'>;
	createSendOnce: (readBody: ReadBody) => SendOnce;
}

/**
 * Downloads an image, as a stream and without the key: its address may be on any host.
 *
 * @param store gets the bytes with their real MIME type and a safe file name
 * @returns what `store` has returned
 * @throws GatewayError with the address, so that the user can still download the image
 */
export async function downloadImage<T extends object>(
	context: DownloadContext,
	image: ImageSource,
	store: StoreImage<T>,
): Promise<T> {
	const { url, isInput = false } = image;
	const address = absoluteAddress(url, context.account.baseUrl);
	if (address === undefined) {
		throw new GatewayError({
			message: 'The gateway returned an invalid image address',
			description: `The gateway sent ${quote(url)}`,
			url: quote(url),
		});
	}
	const plan = { ...planDownload(address, isInput), item: image.item, signal: image.signal };
	const { timeoutMs, maxResponseBytes: maxBytes = LARGEST_IMAGE_BYTES } = context.limits;
	const sendOnce = context.createSendOnce(
		async (response) => await readImage(response, { ...image, url: address }, { store, maxBytes }),
	);
	const attempt = attemptOf(sendOnce, timeoutMs, isInput);
	const { outcome, attempts } = await context.client.request(plan, attempt);
	if (isGood(outcome)) return outcome.json as T;
	const shown = address.length > LONGEST_SHOWN ? `${address.slice(0, LONGEST_SHOWN)}…` : address;
	const rest = isInput
		? `Nothing was sent to the gateway. Check the address of the image: ${shown}`
		: `The image is finished and paid for. You can download it from ${shown}`;
	const [advice, settings] = (outcome.kind === 'fault' && ADVICE[outcome.fault]) || [''];
	const tried = afterTries(attempts);
	throw new GatewayError({
		message: `The image couldn't be downloaded: ${whatHappened(outcome, maxBytes)}${tried}`,
		description: `${advice}${rest}`,
		settings,
		httpCode: outcome.kind === 'response' ? outcome.httpCode : undefined,
		// Whoever reads it there takes it for an image that was made.
		url: isInput ? undefined : shown,
	});
}

/** The longest address in an error, in characters: signed addresses are shorter. */
const LONGEST_SHOWN = 4000;

/** The server in errors: it is any host, not the gateway. */
const HOST: Server = { name: 'its server', field: '', settings: [] };

function whatHappened(outcome: Outcome, maxBytes: number): string {
	if (outcome.kind === 'fault') {
		if (outcome.fault === 'tooLarge') return `it is larger than ${maxBytes / MB} MB`;
		if (outcome.fault === 'tooSlow') return `its server took longer than ${outcome.detail}`;
		if (outcome.fault === 'notAnImage') return `its address returned ${outcome.detail} instead`;
		return faultTexts(outcome, HOST).happened;
	}
	const { httpCode, text } = outcome;
	if (!isSuccess(httpCode)) return `its server responded with ${httpCode}`;
	return `its address returned ${foundIn(text)} instead`;
}

/** What a response contains in place of an image, by its first characters. */
const IN_PLACE_OF_IMAGE: Array<[start: RegExp, found: string]> = [
	[/^$/, 'nothing'],
	[/^\s*</, 'a web page'],
	[/^\s*[{[]/, 'JSON'],
];

const foundIn = (text: string): string =>
	IN_PLACE_OF_IMAGE.find(([pattern]) => pattern.test(text))?.[1] ?? "a file that isn't an image";

/** Advice for some of the faults. */
const ADVICE: Partial<Record<Fault, [advice: string, settings: Setting[]]>> = {
	tooSlow: ['Load the image in another way, and send its bytes. ', ['source']],
	timeout: ['Increase the timeout. ', ['timeout']],
};

/** An attempt to download, in which what another one wouldn't change is a fault. */
function attemptOf(sendOnce: SendOnce, usualMs: number, isInput: boolean): SendOnce {
	const longestMs = isInput ? Math.min(usualMs, LONGEST_SOURCE_MS) : usualMs;
	return async (plan, timeoutMs = longestMs) => {
		const outcome = await sendOnce(plan, timeoutMs);
		// A finished image may be there a moment later in place of a text, but not of a film or an archive.
		if (isAnotherFile(outcome) && (isInput || /[^\P{Cc}\s]/u.test(outcome.text))) {
			return { kind: 'fault', fault: 'notAnImage', detail: foundIn(outcome.text) };
		}
		if (!isInput || outcome.kind !== 'fault' || outcome.fault !== 'timeout') return outcome;
		return { kind: 'fault', fault: 'tooSlow', detail: `${longestMs / 1000} s` };
	};
}

/** Whether a response has a body that is no image. */
const isAnotherFile = (outcome: Outcome): outcome is HttpResponse =>
	outcome.kind === 'response' &&
	isSuccess(outcome.httpCode) &&
	!isGood(outcome) &&
	outcome.text !== '';

/** Bytes that show what kind of image it is; every image is longer. */
const FEWEST_BYTES = 64;

/**
 * Stores the image in a response.
 *
 * @returns what is stored as JSON; the beginning of the body as text if it is no image
 */
async function readImage<T extends object>(
	{ httpCode, headers, body }: WireResponse,
	{ url, name }: ImageSource,
	{ store, maxBytes }: { store: StoreImage<T>; maxBytes: number },
): Promise<ResponseBody> {
	const isError = !isSuccess(httpCode);
	const { 'content-length': length = 0, 'content-type': type } = plainHeaders(headers);
	const isTooLarge = Number(length) > maxBytes;
	const stream = isByteStream(body) ? body : undefined;
	if (isError || isTooLarge) {
		// n8n's stream ends its connection only if somebody has begun to read.
		stream?.read();
		stream?.destroy();
	}
	if (isError) return { text: '', json: undefined };
	if (isTooLarge) throw new TooLargeError('Content-Length');
	let source = stream ?? (await readBody(body, maxBytes));
	let start = stream === undefined ? (source as Buffer) : await peek(stream);
	// A server may send a byte at a time: then the whole body is read.
	if (stream !== undefined && start.length > 0 && start.length < FEWEST_BYTES) {
		source = await readBody(stream, maxBytes);
		start = source;
	}
	if (start.length > maxBytes) throw new TooLargeError(`More than ${maxBytes} bytes`);
	const mimeType = imageTypeOf(start, type);
	if (mimeType === undefined || start.length === 0) {
		stream?.destroy();
		return { text: Buffer.from(start.subarray(0, 100)).toString('utf8'), json: undefined };
	}
	if (stream !== undefined && source === stream) bound(stream, maxBytes);
	const fileName = imageFileName(url, mimeType, name);
	return { text: '', json: await store(source, fileName, mimeType) };
}
