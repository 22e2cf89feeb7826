/** The relevant fields of a server-sent event. */
export interface ServerEvent {
	event?: string;
	data: string;
}

/**
 * Reads server-sent events from the bytes of a body, which may be split anywhere. The last event
 * needs no empty line after it, which some gateways don't send; a truncated one isn't valid JSON
 * anyway.
 */
export async function* readServerEvents(
	bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<ServerEvent> {
	const decoder = new TextDecoder();
	let rest = '';
	let event: string | undefined;
	let data: string[] = [];
	const eventsIn = (line: string): ServerEvent[] => {
		const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
		if (name === 'event') event = value;
		if (name === 'data') data.push(value);
		if (line !== '') return [];
		const events = data.length === 0 ? [] : [{ event, data: data.join('\n') }];
		event = undefined;
		data = [];
		return events;
	};
	let endsWithCr = false;
	for await (const chunk of bytes) {
		const text = decoder.decode(chunk, { stream: true });
		// A line may end with CR, LF or both, which may come in two chunks.
		const lines = (endsWithCr ? text.replace(/^\n/, '') : text).split(/\r\n|\r|\n/);
		if (text !== '') endsWithCr = text.endsWith('\r');
		lines[0] = rest + lines[0];
		rest = lines.pop() ?? '';
		yield* lines.flatMap(eventsIn);
	}
	yield* [rest, ''].flatMap(eventsIn);
}

/** JSON without comments of events, which some gateways send as `: PING` until it is there. */
export const withoutComments = (text: string): string =>
	text.replace(/^(?:[ \t]{0,9}(?::[^\r\n]*)?(?:[\r\n]|$))+/, '');
