import { refusal } from '../http/gateway-response.mjs';
import type { MediaModel } from '../models/default-models.mjs';
import type { TaskKind } from './task-store.mjs';
import type { Upload } from './upload-form.mjs';

/** A checked image request. */
export interface Order {
	model: MediaModel;
	prompt: string;
	count: number;
	parameters: Record<string, unknown>;
}

/**
 * Checks the fields of a generation or edit against the listing; throws a 400 that names what is
 * wrong. A form's values are texts, so values are compared as texts.
 */
export function checkOrder(
	fields: Record<string, unknown>,
	kind: TaskKind,
	mode: 'sync' | 'async',
	models: readonly MediaModel[],
): Order {
	const { model: name, prompt } = fields;
	if (typeof name !== 'string' || name === '') throw refusal(400, 'model is required');
	if (typeof prompt !== 'string' || prompt.trim() === '') {
		throw refusal(400, 'prompt is required');
	}
	const model = models.find((record) => record.model === name);
	if (model === undefined) throw refusal(400, `unknown model: ${name}`);
	if (model.media_type !== 'image') throw refusal(400, `${name} is not an image model`);
	const needed = kind === 'generation' ? 'text_to_image' : 'image_edit';
	if (model.modes && !model.modes.includes(needed)) {
		throw refusal(400, `${name} does not support ${needed}`);
	}
	if (model.generation_modes && !model.generation_modes.includes(mode)) {
		throw refusal(400, `${name} does not support ${mode} generation`);
	}
	if (fields.response_format !== undefined && fields.response_format !== 'url') {
		throw refusal(400, 'response_format must be url');
	}
	checkParameters(fields, model);
	return { model, prompt, count: imageCount(fields.n, kind, model), parameters: fields };
}

function imageCount(n: unknown, kind: TaskKind, model: MediaModel): number {
	if (n === undefined) return 1;
	const count = kind === 'edit' && typeof n === 'string' ? Number(n) : n;
	const most = model.parameters?.n ? Infinity : 10;
	if (typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= most) {
		return count;
	}
	throw refusal(400, `n must be a whole number from 1 to 10, not ${JSON.stringify(n)}`);
}

function checkParameters(fields: Record<string, unknown>, model: MediaModel): void {
	for (const [name, allowed] of Object.entries(model.parameters ?? {})) {
		const value = fields[name];
		if (value === undefined || !Array.isArray(allowed)) continue;
		if (allowed.some((one) => String(one) === String(value))) continue;
		const list = allowed.join(', ');
		throw refusal(400, `${name} of ${model.model} must be one of ${list}; got ${String(value)}`);
	}
}

/** Checks the uploaded pictures of an edit against the model's limits (docs/protocol.md, "Model list"). */
export function checkUploads(files: readonly Upload[], model: MediaModel): Upload[] {
	const images = files.filter(({ field }) => field === 'image' || field === 'image[]');
	if (images.length === 0) throw refusal(400, 'image is required: a file part named image');
	const limits = model.inputs?.reference_images ?? {};
	if (limits.max_count !== undefined && images.length > limits.max_count) {
		throw refusal(400, `too many images: ${images.length}, at most ${limits.max_count}`);
	}
	for (const { filename, mimeType, size, format } of images) {
		if (!mimeType.startsWith('image/')) {
			throw refusal(400, `${filename}: content type ${mimeType} is not an image type`);
		}
		if (format === undefined) throw refusal(400, `${filename} is not an image`);
		if (limits.max_size_mb !== undefined && size > limits.max_size_mb * 1024 * 1024) {
			throw refusal(400, `${filename} is too large: at most ${limits.max_size_mb} MB`);
		}
		if (limits.formats && !limits.formats.map(plainFormat).includes(format)) {
			const list = limits.formats.join(', ');
			throw refusal(400, `${filename}: format ${format} is not allowed, only ${list}`);
		}
	}
	return images;
}

/** What OpenRouter's Image API refuses before it looks at the model (docs/protocol.md). */
export function checkRouterFields(fields: Record<string, unknown>, references: unknown): void {
	const { size, resolution, aspect_ratio: ratio, async: task } = fields;
	if (task !== undefined) throw refusal(400, 'async is not supported');
	if (size !== undefined && (resolution ?? ratio) !== undefined) {
		throw refusal(400, 'size conflicts with resolution or aspect_ratio');
	}
	if (references === undefined) return;
	const isList = Array.isArray(references) && references.length <= 16;
	const isTyped = (one: unknown) => (one as { type?: unknown } | null)?.type === 'image_url';
	if (isList && references.every(isTyped)) return;
	throw refusal(400, 'input_references must be a list of at most 16 objects of the type image_url');
}

function plainFormat(format: string): string {
	const word = format.toLowerCase().replace(/^image\/|^\./, '');
	return word === 'jpg' ? 'jpeg' : word;
}
