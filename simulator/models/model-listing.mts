import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { json, Refusal, type GatewayResponse } from '../http/gateway-response.mjs';
import type { MediaModel } from './default-models.mjs';

const comments: Record<string, string> = {
	model: 'name to send to the generation endpoints',
	media_type: 'image or video',
	modes: 'what it can be asked for',
	generation_modes: 'sync waits for the picture, async gives a task',
	parameters: 'allowed values by parameter name',
	inputs: 'limits of reference material',
	billing: 'price: fixed; ratio: multiplier',
};

/** Whether the commented variant is wanted: by query or by header (docs/protocol.md, "Model list"). */
export function wantsJsonc(query: Record<string, unknown>, headers: IncomingHttpHeaders): boolean {
	return query.format === 'jsonc' || /application\/jsonc/i.test(headers.accept ?? '');
}

/** `GET /v1/media/models`. */
export function listModels(
	models: readonly unknown[],
	jsonc: boolean,
	etag?: string,
): GatewayResponse {
	return cached({ success: true, data: { items: models, total: models.length } }, jsonc, etag);
}

/** `GET /v1/media/models/{model_name}`; 404 if it is not published. */
export function oneModel(
	models: readonly unknown[],
	name: string,
	jsonc: boolean,
	etag?: string,
): GatewayResponse {
	const found = models.find((record) => (record as MediaModel).model === name);
	if (found === undefined) {
		throw new Refusal(404, { success: false, message: `model ${name} is not published` });
	}
	return cached({ success: true, data: found }, jsonc, etag);
}

function cached(body: unknown, jsonc: boolean, etag: string | undefined): GatewayResponse {
	const response = jsonc
		? { status: 200, type: 'application/jsonc; charset=utf-8', body: commented(body) }
		: json(body);
	const tag = `"${createHash('sha1').update(String(response.body)).digest('base64url')}"`;
	const headers = { 'cache-control': 'public, max-age=60', etag: tag, vary: 'accept' };
	if (etag === tag) return { ...response, status: 304, body: '', headers };
	return { ...response, headers };
}

/** JSON with both kinds of comment; the comments stand where a parser has to skip them. */
function commented(body: unknown): string {
	const lines = JSON.stringify(body, null, 2).split('\n');
	const text = lines.map((line) => {
		const comment = comments[/^ *"(\w+)":/.exec(line)?.[1] ?? ''];
		return comment === undefined ? line : `${line} // ${comment}`;
	});
	return `/* The models that are published. Not standard JSON. */\n${text.join('\n')}\n`;
}
