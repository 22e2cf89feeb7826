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
	bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<ServerEvent> {
	const decoder = new TextDecoder();
	let rest = '';
	let event: string | undefined;
	let data: string[] = [];
	const eventsIn = (line: string): ServerEvent[] => {
		const [, name, value = ''] = /^([^:\r]*)(?:: ?(.*?))?\r?$/s.exec(line) ?? [];
		if (name === 'event') event = value;
		if (name === 'data') data.push(value);
		if (line !== '' && line !== '\r') return [];
		const events = data.length === 0 ? [] : [{ event, data: data.join('\n') }];
		event = undefined;
		data = [];
		return events;
	};
	for await (const chunk of bytes) {
		const lines = decoder.decode(chunk, { stream: true }).split('\n');
		lines[0] = rest + lines[0];
		rest = lines.pop() ?? '';
		yield* lines.flatMap(eventsIn);
	}
	yield* [rest, ''].flatMap(eventsIn);
}
