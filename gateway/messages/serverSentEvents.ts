/** A server-sent event, or what of it matters here. */
export interface ServerEvent {
	event?: string;
	data: string;
}

/** In characters. An image in base64 is shorter. */
const LONGEST_EVENT = 32 * 1024 * 1024;

/**
 * Reads server-sent events from the bytes of a body. Events, lines and characters may be cut
 * anywhere. The last event needs no empty line behind it: not every gateway sends one, and one that
 * was cut is no JSON any more.
 *
 * @throws RangeError if an event is longer than any response
 */
export async function* readServerEvents(
	bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<ServerEvent> {
	const decoder = new TextDecoder();
	// The line that is not at its end yet, in the pieces in which it came: what was looked at once
	// is not looked at again.
	let rest: string[] = [];
	let length = 0;
	let endsInReturn = false;
	let event: string | undefined;
	let data: string[] = [];
	const read = (line: string): void => {
		const [field, value] = fieldOf(line);
		if (field === 'event') event = value;
		if (field === 'data') data.push(value);
	};
	for await (const chunk of bytes) {
		const text = decoder.decode(chunk, { stream: true });
		if (text === '') continue;
		length += text.length;
		if (length > LONGEST_EVENT) throw new RangeError('An event of the stream is too large');
		if (!endsInReturn && !text.includes('\n') && !text.includes('\r')) {
			rest.push(text);
			continue;
		}
		// The second half of a line break whose first half ended the chunk before.
		const lines = text.slice(endsInReturn && text.startsWith('\n') ? 1 : 0).split(/\r\n|\n|\r/);
		endsInReturn = text.endsWith('\r');
		const last = lines.pop() ?? '';
		for (const end of lines) {
			const line = rest.length === 0 ? end : rest.join('') + end;
			rest = [];
			if (line === '') {
				if (data.length > 0) yield { event, data: data.join('\n') };
				event = undefined;
				data = [];
				length = last.length;
				continue;
			}
			read(line);
		}
		if (last !== '') rest.push(last);
	}
	if (rest.length > 0) read(rest.join(''));
	if (data.length > 0) yield { event, data: data.join('\n') };
}

function fieldOf(line: string): [name: string, value: string] {
	const colon = line.indexOf(':');
	if (colon < 0) return [line, ''];
	return [line.slice(0, colon), line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)];
}
