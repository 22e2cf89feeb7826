import type { IN8nHttpFullResponse } from 'n8n-workflow';
import { MessageAssembly, readServerEvents, type Piece } from '../../gateway/events';
import type { GatewayAddress } from '../shared/run';
import { bound, isByteStream, peek } from '../shared/stream';
import { readJson, type AnswerBody } from '../shared/transport';

const LARGEST_STREAM_BYTES = 64 * 1024 * 1024;

/**
 * Reads an answer that was asked for as a stream. What is none (an error, or the whole answer as
 * JSON from a gateway that does not stream) is read in one piece: how it begins decides, because
 * not every gateway names the type rightly.
 *
 * @param onPiece gets what is written as soon as it is there
 * @param withoutKey takes out the key, should the gateway quote it
 * @returns the whole answer, in the form in which it comes when it is not streamed
 * @throws the error of the connection if it ends too early
 */
export async function readStreamed(
	response: IN8nHttpFullResponse,
	onPiece: (piece: Piece) => void,
	withoutKey: GatewayAddress['withoutKey'],
): Promise<AnswerBody> {
	const { body, statusCode } = response;
	if (statusCode < 200 || statusCode >= 300 || !isByteStream(body)) return await readJson(response);
	const start = Buffer.from(await peek(body)).toString('utf8');
	if (!/^\ufeff?\s*(event|data|id|retry)?:/.test(start)) return await readJson(response);

	bound(body, LARGEST_STREAM_BYTES);
	const assembly = new MessageAssembly();
	for await (const event of readServerEvents(body)) {
		assembly.add({ ...event, data: withoutKey(event.data) }).forEach(onPiece);
		// Leaving the loop closes the connection: some gateways keep it open.
		if (assembly.done) break;
	}
	if (!assembly.whole) return await Promise.reject(new Error('premature close'));
	return { text: withoutKey(start), json: JSON.parse(withoutKey(JSON.stringify(assembly.body))) };
}
