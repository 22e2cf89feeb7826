import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { json, Refusal, type Answer } from '../http/gateway-response.mjs';

/** A record of the capability listing (spec 2.8); all but the first two may be absent. */
export interface MediaModel {
	model: string;
	media_type: 'image' | 'video';
	modes?: string[];
	generation_modes?: string[];
	parameters?: Record<string, unknown[]>;
	inputs?: {
		reference_images?: {
			max_count?: number;
			max_size_mb?: number;
			formats?: string[];
			source_types?: string[];
		};
		[material: string]: unknown;
	};
	billing?: { unit?: string; mode?: string; value?: number };
	note?: string;
}

/** The listing where the options name no other: each record shows another side of the format. */
export const defaultModels: MediaModel[] = [
	{
		model: 'aurora-image-1',
		media_type: 'image',
		modes: ['text_to_image', 'image_edit'],
		generation_modes: ['sync', 'async'],
		parameters: {
			size: ['512x512', '1024x1024', '1536x1024', '1024x1536'],
			quality: ['standard', 'high'],
			n: [1, 2, 3, 4],
		},
		inputs: {
			reference_images: {
				max_count: 4,
				max_size_mb: 10,
				formats: ['png', 'jpeg', 'webp'],
				source_types: ['url', 'base64'],
			},
		},
		billing: { unit: 'image', mode: 'price', value: 0.04 },
		// The slashes are no comment, as whoever strips comments finds out.
		note: 'Pictures for every purpose; see https://example.com/models//aurora /* really */',
	},
	{
		model: 'aurora-edit-1',
		media_type: 'image',
		modes: ['image_edit'],
		generation_modes: ['sync', 'async'],
		parameters: { strength: [0.25, 0.5, 0.75, 1] },
		inputs: {
			reference_images: {
				max_count: 2,
				max_size_mb: 1.5,
				formats: ['png', 'jpg'],
				source_types: ['base64'],
			},
		},
		billing: { unit: 'request', mode: 'price', value: 0.06 },
	},
	{
		model: 'aurora-studio',
		media_type: 'image',
		modes: ['text_to_image'],
		generation_modes: ['async'],
		parameters: { ratio: ['1:1', '16:9', '9:16', '4:3'], resolution: ['1k', '2k'] },
		billing: { unit: 'request', mode: 'price', value: 0.12 },
		note: 'Asynchronous only',
	},
	{
		model: 'cinema-1',
		media_type: 'video',
		modes: ['text_to_video', 'image_to_video'],
		generation_modes: ['async'],
		parameters: { duration: [5, 10], resolution: ['720p', '1080p'], ratio: ['16:9', '9:16'] },
		inputs: {
			reference_images: { max_count: 1, max_size_mb: 20, formats: ['png', 'jpeg'] },
			reference_videos: { max_count: 1, max_size_mb: 100, formats: ['mp4'] },
		},
		billing: { unit: 'second', mode: 'price', value: 0.1 },
	},
	{ model: 'plain-image', media_type: 'image' },
	{
		model: 'atelier/Schöne Farben 2',
		media_type: 'image',
		modes: ['text_to_image'],
		generation_modes: ['sync', 'async'],
		parameters: { size: ['512x512', '768x512'], style: ['oil', 'watercolour', 'ink'] },
		billing: { unit: 'image', mode: 'ratio', value: 1.5 },
		note: 'Billed as a multiple of the base price',
	},
];

const comments: Record<string, string> = {
	model: 'name to send to the generation endpoints',
	media_type: 'image or video',
	modes: 'what it can be asked for',
	generation_modes: 'sync waits for the picture, async gives a task',
	parameters: 'allowed values by parameter name',
	inputs: 'limits of reference material',
	billing: 'price: fixed; ratio: multiplier',
};

/** Whether the commented variant is wanted: by query or by header (spec 4.7). */
export function wantsJsonc(query: Record<string, unknown>, headers: IncomingHttpHeaders): boolean {
	return query.format === 'jsonc' || /application\/jsonc/i.test(headers.accept ?? '');
}

/** `GET /v1/media/models`. */
export function listModels(models: readonly unknown[], jsonc: boolean, etag?: string): Answer {
	return cached({ success: true, data: { items: models, total: models.length } }, jsonc, etag);
}

/** `GET /v1/media/models/{model_name}`; 404 if it is not published. */
export function oneModel(
	models: readonly unknown[],
	name: string,
	jsonc: boolean,
	etag?: string,
): Answer {
	const found = models.find((record) => (record as MediaModel).model === name);
	if (found === undefined) {
		throw new Refusal(404, { success: false, message: `model ${name} is not published` });
	}
	return cached({ success: true, data: found }, jsonc, etag);
}

function cached(body: unknown, jsonc: boolean, etag: string | undefined): Answer {
	const answer = jsonc
		? { status: 200, type: 'application/jsonc; charset=utf-8', body: commented(body) }
		: json(body);
	const tag = `"${createHash('sha1').update(String(answer.body)).digest('base64url')}"`;
	const headers = { 'cache-control': 'public, max-age=60', etag: tag, vary: 'accept' };
	if (etag === tag) return { ...answer, status: 304, body: '', headers };
	return { ...answer, headers };
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
