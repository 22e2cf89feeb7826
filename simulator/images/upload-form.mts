import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { refusal } from '../http/gateway-response.mjs';
import { formatOf } from './image-format.mjs';
import type { ReceivedFile } from '../gateway-options.mjs';

/** A larger file is counted and hashed but not kept. */
const keptBytes = 32 * 1024 * 1024;

export interface Upload extends ReceivedFile {
	/** What its first bytes say it is; undefined if that is no picture. */
	format: string | undefined;
	/** Undefined if it is too large to keep. */
	bytes: Buffer | undefined;
}

export interface Form {
	fields: [name: string, value: string][];
	files: Upload[];
}

/** Reads a multipart form; files are hashed as they stream in, so that their size does not matter. */
export async function readForm(request: FastifyRequest): Promise<Form> {
	if (!request.isMultipart()) {
		throw refusal(400, 'the body must be multipart/form-data with a boundary');
	}
	const form: Form = { fields: [], files: [] };
	for await (const part of request.parts()) {
		if (part.type === 'field') {
			form.fields.push([part.fieldname, String(part.value)]);
			continue;
		}
		const digest = createHash('sha256');
		const chunks: Buffer[] = [];
		let size = 0;
		let start = Buffer.alloc(0);
		for await (const chunk of part.file as AsyncIterable<Buffer>) {
			digest.update(chunk);
			size += chunk.length;
			if (start.length < 16) start = Buffer.concat([start, chunk.subarray(0, 16)]);
			if (size <= keptBytes) chunks.push(chunk);
			else chunks.length = 0;
		}
		form.files.push({
			field: part.fieldname,
			filename: part.filename,
			mimeType: part.mimetype,
			size,
			sha256: digest.digest('hex'),
			format: formatOf(start),
			bytes: size <= keptBytes ? Buffer.concat(chunks) : undefined,
		});
	}
	return form;
}

/**
 * The images in a JSON body: `data:` URLs, alone or in objects. Of an address, which isn't fetched,
 * only a hash is known.
 */
export function filesIn(body: Record<string, unknown>): Upload[] {
	return ['image', 'images', 'mask'].flatMap((name) => {
		const field = name === 'images' ? 'image' : name;
		const values = [body[name] ?? []].flat() as unknown[];
		return values.map((value) => uploadOf(field, value));
	});
}

function uploadOf(field: string, value: unknown): Upload {
	const named = value as { url?: unknown; image_url?: unknown; file_id?: unknown } | null;
	const own = named?.url ?? named?.image_url;
	const nested = (own as { url?: unknown } | undefined)?.url;
	const given = typeof value === 'string' ? value : (nested ?? own);
	// A file that was uploaded earlier is taken for any.
	const url =
		given ?? (named?.file_id === undefined ? undefined : `https://files/${named.file_id}`);
	const data = /^data:([\w/+.-]+);base64,/.exec(String(url));
	if (data === null && !/^https?:/.test(String(url))) throw refusal(400, `${field} has no image`);
	const mimeType = data?.[1] ?? 'image/png';
	const bytes = data && Buffer.from(String(url).slice(data[0].length), 'base64');
	return {
		field,
		filename: field,
		mimeType,
		size: bytes?.length ?? 0,
		sha256: createHash('sha256')
			.update(bytes ?? String(url))
			.digest('hex'),
		format: bytes ? formatOf(bytes.subarray(0, 16)) : 'png',
		bytes: bytes ?? undefined,
	};
}

/** The form as it is recorded: without the bytes. */
export function recorded(form: Form): { fields: [string, string][]; files: ReceivedFile[] } {
	const files = form.files.map(({ field, filename, mimeType, size, sha256 }) => {
		return { field, filename, mimeType, size, sha256 };
	});
	return { fields: form.fields, files };
}
