/** A grammar of answers that say the right thing wrongly, or nothing at all. */
type Change = (body: Buffer) => Buffer | string;

/** The value of a body that is JSON; anything else is left as it is. */
const alter =
	(change: (value: Record<string, unknown>) => unknown): Change =>
	(body) => {
		try {
			// An ID of more digits than a number holds must not be rounded on the way.
			const text = body.toString().replace(/:(\d{16,})/g, ':"#$1#"');
			const changed = textOf(change(JSON.parse(text) as Record<string, unknown>));
			return changed.replace(/"#(\d+)#"/g, '$1');
		} catch {
			return body;
		}
	};

const textOf = (value: unknown): string =>
	typeof value === 'string' ? value : JSON.stringify(value);

/** Each image as an event of its own, the last one first; undefined without any. */
function eventsOf(data: unknown): string | undefined {
	if (!Array.isArray(data) || data.length === 0) return undefined;
	const events = data.map((image: object, index) => JSON.stringify({ index, ...image }));
	return events
		.reverse()
		.map((event) => `event: image\ndata: ${event}\n\n`)
		.join('');
}

/** The addresses of the images under a name that no table has. */
function unknownPlace(data: unknown, rest: object): object {
	const images = Array.isArray(data) ? (data as Array<{ url?: unknown }>) : [];
	const isShown = images.length > 0 && images.every(({ url }) => typeof url === 'string');
	if (!isShown) return { ...rest, data };
	return { ...rest, pictures: images.map(({ url }) => ({ src: url })) };
}

export const SHAPES: Array<[name: string, change: Change]> = [
	['half of the JSON', (body) => body.subarray(0, Math.floor(body.length * 0.8))],
	['cut behind the first value', (body) => body.subarray(0, body.indexOf(',') + 1 || 5)],
	['nothing at all', () => ''],
	['an empty object', () => '{}'],
	['null', () => 'null'],
	['an empty list', () => '[]'],
	['a word', () => 'OK'],
	['the ID as task_id', alter(({ id, ...rest }) => ({ ...rest, task_id: id }))],
	['everything inside data', alter((value) => ({ success: true, data: value }))],
	['everything inside result', alter((value) => ({ result: value }))],
	['its images in events', alter(({ data, ...rest }) => eventsOf(data) ?? { data, ...rest })],
	['its image in an unknown place', alter(({ data, ...rest }) => unknownPlace(data, rest))],
	['data as one object', alter(({ data, ...rest }) => ({ ...rest, data: one(data) }))],
	['images instead of data', alter(({ data, ...rest }) => ({ ...rest, images: data }))],
	['no status', alter(({ status: _, ...rest }) => rest)],
	['another status', alter((value) => ({ ...value, status: 'warming_up' }))],
	['no images', alter((value) => ({ ...value, data: [] }))],
	['a status that is a number', alter((value) => ({ ...value, status: 7 }))],
	['a page', () => '<html><body>Welcome</body></html>'],
	['a mark in front', (body) => Buffer.concat([Buffer.from('\ufeff'), body])],
	['a guard in front', (body) => Buffer.concat([Buffer.from(")]}',\n"), body])],
	['a list around it', (body) => Buffer.concat([Buffer.from('['), body, Buffer.from(']')])],
	['it twice', (body) => Buffer.concat([body, body])],
	['an error with status 200', () => '{"error":{"message":"upstream failed","type":"server"}}'],
	['not successful', () => '{"success":false,"message":"try later"}'],
	['many brackets', () => '['.repeat(20_000)],
	['many comments', (body) => Buffer.concat([Buffer.from('<!---->'.repeat(60)), body])],
	['a long line', (body) => Buffer.concat([Buffer.alloc(60_000, '='), body])],
];

/** Of a picture, only what a caller can know to be none. */
export const PICTURE_SHAPES: typeof SHAPES = SHAPES.filter(([name]) =>
	['nothing at all', 'a page', 'an empty object', 'not successful', 'a word'].includes(name),
);

function one(data: unknown): unknown {
	return Array.isArray(data) && data.length === 1 ? (data as unknown[])[0] : data;
}
