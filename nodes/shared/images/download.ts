import type { IBinaryData } from 'n8n-workflow';
import { GatewayError, type ImageSource } from '../../../gateway';
import { readDataUrl, type DataUrl } from '../../../util/dataUrl';
import { imageFileName, imageTypeOf } from '../../../util/imageType';
import { quote } from '../../../util/text';
import { problemOf } from '../errors/nodeErrors';
import type { Run } from '../run/runContext';

/**
 * Downloads the source image of an edit, once for all items of the run with the same address.
 *
 * @throws GatewayError also for the other items, if it fails
 */
export async function downloadSource(run: Run, url: string): Promise<IBinaryData> {
	const image = { url, isInput: true };
	const download = run.sources.get(url) ?? storeImage(run, image);
	run.sources.set(url, download);
	return await download;
}

/**
 * Stores an image as n8n's binary data: what is inside the response as it is, another one as a stream.
 *
 * @returns the binary data with its real MIME type, size and a safe file name
 * @throws GatewayError with the address, so that the user can still download the image
 */
export async function storeImage(run: Run, image: ImageSource): Promise<IBinaryData> {
	const inline = readDataUrl(image.url);
	if (inline !== undefined) return await storeInline(run, inline, image);
	return await run.gateway.download(
		image,
		async (content, fileName, mimeType) =>
			// The helper also takes a stream, whose type can't be imported here.
			await run.helpers.prepareBinaryData(content as Buffer, fileName, mimeType),
	);
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
			description: "Set 'Response Format' to 'URL' in the node that requests the image.",
		});
	}
	const mimeType = imageTypeOf(bytes, given) ?? 'application/octet-stream';
	const fileName = imageFileName('', mimeType, name);
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
