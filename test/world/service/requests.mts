/** Reads what arrived at the gateway. */
import type { FormPart, WireRequest } from '../wire/messages.mjs';
import { SECRETS } from './accounts-of-world.mjs';
import { fileAt } from './one-pixel-pictures.mjs';

interface Reference {
	image_url: { url: string };
}

export interface Fields {
	model: string;
	prompt: string;
	n: number;
	files: number;
	/** The bytes of the first one. */
	file?: Buffer;
	raw: Record<string, unknown>;
}

/** The fields of a JSON body or a form; undefined if there is no reading it. */
export function fieldsOf({ body }: WireRequest): Fields | undefined {
	const raw = Array.isArray(body) ? formFields(body) : jsonFields(body);
	if (raw === undefined) return undefined;
	const { model, prompt, n, num_images, batch_size } = raw;
	const files = Array.isArray(body)
		? body.flatMap(({ fileName, value }) => (fileName === undefined ? [] : value))
		: referencesIn(raw);
	return {
		model: typeof model === 'string' ? model : '',
		prompt: typeof prompt === 'string' ? prompt : '',
		n: Number(n ?? num_images ?? batch_size ?? 1),
		files: files.length,
		file: files[0],
		raw,
	};
}

/** The images to edit of OpenRouter's Image API: their bytes, or those at their addresses. */
function referencesIn({ input_references: references }: Record<string, unknown>): Buffer[] {
	const list = Array.isArray(references) ? (references as Reference[]) : [];
	return list.map(({ image_url: { url } }) =>
		url.startsWith('data:')
			? Buffer.from(url.slice(url.indexOf(',') + 1), 'base64')
			: (fileAt(new URL(url).pathname) ?? Buffer.alloc(0)),
	);
}

/** The three forms of asking for a task (docs/protocol.md, "Asynchronous mode"). */
export function asksAsync({ url, headers }: WireRequest, { raw }: Fields): boolean {
	return (
		url.searchParams.get('async') === 'true' ||
		headers['x-async'] === 'true' ||
		String(raw.async) === 'true'
	);
}

/** The text of a block, or that of the result of a tool. */
function textIn({ text, content }: Record<string, unknown>): string {
	if (Array.isArray(content)) return content.map(textIn).join('\n');
	return [text, content].find((one) => typeof one === 'string') ?? '';
}

/** Whether a key stands in the address of a request, or in its body. */
export function hasKey({ url, body = [] }: WireRequest): boolean {
	const values = Array.isArray(body) ? body.map(({ value }) => value) : [body];
	return SECRETS.some((key) => url.href.includes(key) || values.some((one) => one.includes(key)));
}

/** The last text of the user in a conversation. */
export function lastText(messages: unknown): string {
	const turns = Array.isArray(messages) ? (messages as Array<{ content?: unknown }>) : [];
	const content = turns.at(-1)?.content;
	if (typeof content === 'string') return content;
	const blocks = Array.isArray(content) ? (content as Array<Record<string, unknown>>) : [];
	return blocks.map(textIn).join('\n');
}

function formFields(parts: FormPart[]): Record<string, unknown> {
	const texts = parts.filter(({ fileName }) => fileName === undefined);
	return Object.fromEntries(texts.map(({ name, value }) => [name, value.toString()]));
}

function jsonFields(body: Buffer | undefined): Record<string, unknown> | undefined {
	try {
		const value: unknown = JSON.parse(String(body));
		return typeof value === 'object' && value !== null
			? (value as Record<string, unknown>)
			: undefined;
	} catch {
		return undefined;
	}
}
