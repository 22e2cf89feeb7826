import type { IBinaryData } from 'n8n-workflow';
import type { WireResponse } from '../../../gateway/wire/transport';
import { readDataUrl, type DataUrl } from '../../../util/dataUrl';
import { MB } from '../../../util/megabyte';
import { quote } from '../../../util/text';
import { imageFileName, imageTypeOf } from '../../../util/imageType';
import { isGood, type HttpResponse, type Outcome } from '../../../gateway/protocol/outcome';
import type { Fault } from '../../../gateway/protocol/networkFault';
import { absoluteAddress } from '../../../gateway/protocol/url';
import { planDownload } from '../../../gateway/protocol/requestPlan';
import { faultTexts, type Target } from '../../../gateway/errors/faultTexts';
import { GatewayError } from '../../../gateway/protocol/gatewayError';
import { type SendOnce, plainHeaders } from '../../../gateway/wire/sendOnce';
import { problemOf } from '../run/nodeErrors';
import type { Run } from '../run/runContext';
import {
	bound,
	peek,
	readBody,
	TooLargeError,
	type ByteStream,
	type ResponseBody,
} from '../../../gateway/wire/responseBody';

/** An image to download. */
export interface ImageSource {
	/** The address from the gateway, which may be relative to the gateway's own. */
	url: string;
	/** The size limit, in MB. */
	maxMb: number;
	/**
	 * The name of its file, without extension: `chosen` is already safe; where it is empty, that of the
	 * address follows, then `fallback`.
	 */
	name: { fallback: string; chosen?: string };
	/** Whether it is the source of an edit; otherwise it is a finished image, which was paid for. */
	isInput?: boolean;
}

/** The longest download of a source image: all items wait for it before anything is sent. */
const LONGEST_SOURCE_MS = 60_000;

/**
 * Downloads the source image of an edit, once for all items of the run with the same address.
 *
 * @throws GatewayError also for the other items, if it fails
 */
export async function downloadSource(run: Run, url: string, maxMb: number): Promise<IBinaryData> {
	const key = `${maxMb} ${url}`;
	const image = { url, maxMb, name: { fallback: 'image' }, isInput: true };
	const download = run.sources.get(key) ?? downloadImage(run, image);
	run.sources.set(key, download);
	return await download;
}

/**
 * Downloads an image into n8n's binary data store, as a stream and without the key: its address may
 * be on any host.
 *
 * @returns the binary data with its real MIME type, size and a safe file name
 * @throws GatewayError with the address, so that the user can still download the image
 */
export async function downloadImage(run: Run, image: ImageSource): Promise<IBinaryData> {
	const { url, isInput = false } = image;
	const inline = readDataUrl(url);
	if (inline !== undefined) return await storeInline(run, inline, image);

	const address = absoluteAddress(url, run.account.baseUrl);
	if (address === undefined) {
		throw new GatewayError({
			message: 'The gateway returned an invalid image address',
			description: `The gateway sent ${quote(url)}`,
			url: quote(url),
		});
	}
	const { outcome, attempts } = await run.client.request(planDownload(address, isInput), {
		sendOnce: createDownloader(run, { ...image, url: address }),
		isForPaid: !isInput,
	});
	if (isGood(outcome)) return outcome.json as unknown as IBinaryData;
	const shown = address.length > LONGEST_SHOWN ? `${address.slice(0, LONGEST_SHOWN)}…` : address;
	const rest = isInput
		? 'Check the address of the image. Nothing was sent to the gateway.'
		: `The image is finished and paid for. You can download it from ${shown}`;
	const advice = outcome.kind === 'fault' ? (ADVICE[outcome.fault] ?? '') : '';
	const tried = attempts > 1 ? ` (tried ${attempts} times)` : '';
	throw new GatewayError({
		message: `The image couldn't be downloaded: ${whatHappened(outcome, image.maxMb)}${tried}`,
		description: `${advice}${rest}`,
		httpCode: outcome.kind === 'response' ? outcome.httpCode : undefined,
		url: shown,
	});
}

/** The longest address in an error, in characters: signed addresses are shorter. */
const LONGEST_SHOWN = 4000;

/** The server in errors: it is any host, not the gateway. */
const HOST: Target = { name: 'its server', field: '' };

function whatHappened(outcome: Outcome, maxMb: number): string {
	if (outcome.kind === 'fault') {
		if (outcome.fault === 'tooLarge') return `it is larger than ${maxMb} MB`;
		if (outcome.fault === 'tooSlow') return `its server took longer than ${outcome.detail}`;
		if (outcome.fault === 'notAnImage') return `its address returned ${outcome.detail} instead`;
		return faultTexts(outcome, HOST).happened;
	}
	const { httpCode, text } = outcome;
	if (httpCode < 200 || httpCode >= 300) return `its server responded with ${httpCode}`;
	return `its address returned ${foundIn(text)} instead`;
}

/** What a response contains in place of an image, by its first characters. */
const NO_IMAGE: Array<[start: RegExp, found: string]> = [
	[/^$/, 'nothing'],
	[/^\s*</, 'a web page'],
	[/^\s*[{[]/, 'JSON'],
];

const foundIn = (text: string): string =>
	NO_IMAGE.find(([pattern]) => pattern.test(text))?.[1] ?? "a file that isn't an image";

/** Advice for some of the faults. */
const ADVICE: Partial<Record<Fault, string>> = {
	tooLarge: "Increase 'Max Download Size' in the options. ",
	tooSlow: "Load the image with an HTTP Request node, and set 'Image Source' to 'Binary Field'. ",
	timeout: "Increase 'Timeout' in the options. ",
};

function createDownloader(run: Run, image: ImageSource): SendOnce {
	const { limits, slowHosts } = run;
	const sendOnce = run.createSendOnce({
		read: async (response) => await readImage(run, response, image),
	});
	if (image.isInput !== true) return async (...request) => withoutRetry(await sendOnce(...request));
	const longestMs = Math.min(limits.timeoutMs, LONGEST_SOURCE_MS);
	const tooSlow = { kind: 'fault', fault: 'tooSlow', detail: `${longestMs / 1000} s` } as const;
	const { host } = new URL(image.url);
	return async (plan, timeoutMs = longestMs) => {
		if (slowHosts.has(host)) return tooSlow;
		const outcome = await sendOnce(plan, timeoutMs);
		if (isAnotherFile(outcome)) return notAnImage(outcome);
		if (outcome.kind !== 'fault' || outcome.fault !== 'timeout') return outcome;
		slowHosts.add(host);
		return tooSlow;
	};
}

/** Whether a response has a body that is no image: another attempt would bring the same. */
const isAnotherFile = (outcome: Outcome): outcome is HttpResponse =>
	outcome.kind === 'response' &&
	outcome.httpCode >= 200 &&
	outcome.httpCode < 300 &&
	!isGood(outcome) &&
	outcome.text !== '';

const notAnImage = ({ text }: HttpResponse): Outcome => ({
	kind: 'fault',
	fault: 'notAnImage',
	detail: foundIn(text),
});

/** A finished image may be there a moment later in place of a text, but not of a film or an archive. */
const withoutRetry = (outcome: Outcome): Outcome =>
	isAnotherFile(outcome) && /[^\P{Cc}\s]/u.test(outcome.text) ? notAnImage(outcome) : outcome;

/** Bytes that show what kind of image it is; every image is longer. */
const FEWEST_BYTES = 64;

/**
 * Stores the image in a response.
 *
 * @returns the binary data as JSON; the beginning of the body as text if it is no image
 */
async function readImage(
	{ helpers }: Run,
	{ httpCode, headers, body }: WireResponse,
	{ url, maxMb, name }: ImageSource,
): Promise<ResponseBody> {
	const maxBytes = Math.floor(maxMb * MB);
	const isError = httpCode < 200 || httpCode >= 300;
	const { 'content-length': length = 0, 'content-type': type } = plainHeaders(headers);
	const isTooLarge = Number(length) > maxBytes;
	const stream = body as ByteStream;
	if (isError || isTooLarge) stream.destroy();
	if (isError) return { text: '', json: undefined };
	if (isTooLarge) throw new TooLargeError('Content-Length');
	let source: unknown = stream;
	let start = await peek(stream);
	// A server may send a byte at a time: then the whole body is read.
	if (start.length > 0 && start.length < FEWEST_BYTES) {
		source = start = await readBody(stream, maxBytes);
	}
	const isSvgz = /\.svgz([?#]|$)/i.test(url);
	const mimeType = imageTypeOf(start, isSvgz ? 'image/svg+xml' : type);
	if (mimeType === undefined || start.length === 0) {
		stream.destroy();
		return { text: Buffer.from(start.subarray(0, 100)).toString('utf8'), json: undefined };
	}
	if (source === stream) bound(stream, maxBytes);
	const fileName = imageFileName(url, mimeType, name.fallback, name.chosen);
	// The helper also takes a stream, whose type can't be imported here.
	const json = await helpers.prepareBinaryData(source as Buffer, fileName, mimeType);
	return { text: '', json };
}

/**
 * Stores an image from inside a response. It was paid for, so bytes that are no image are kept
 * as well, without the type that the response claims: a browser might show them as a web page.
 */
async function storeInline(
	{ helpers }: Run,
	{ mimeType: given, base64 }: DataUrl,
	{ name }: ImageSource,
): Promise<IBinaryData> {
	const bytes = Buffer.from(base64, 'base64');
	if (bytes.length === 0) {
		throw new GatewayError({
			message: 'The image in the response is empty',
			description: "Set 'Response Format' to 'URL' in the options.",
		});
	}
	const mimeType = imageTypeOf(bytes, given) ?? 'application/octet-stream';
	const fileName = imageFileName('', mimeType, name.fallback, name.chosen);
	try {
		return await helpers.prepareBinaryData(bytes, fileName, mimeType);
	} catch (error) {
		const told = new GatewayError({
			message: `n8n couldn't store the image: ${quote(problemOf(error).message)}`,
			description: 'The image is finished and paid for. Check where n8n stores binary data.',
		});
		throw told;
	}
}
