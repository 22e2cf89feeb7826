const FIELDS = ['event', 'data', 'id', 'retry'];

/**
 * A body without what may stand before what it holds: blanks and comments, by which some gateways
 * keep a connection open. A comment that is not at its end yet is one colon, however long it is, so
 * that nothing is looked at twice.
 */
export function withoutPreamble(text: string): string {
	let at = 0;
	for (;;) {
		while (at < text.length && ' \t\r\n'.includes(text.charAt(at))) at += 1;
		if (text[at] !== ':') return text.slice(at);
		while (at < text.length && text[at] !== '\n' && text[at] !== '\r') at += 1;
		if (at === text.length) return ':';
	}
}

/**
 * A body as far as it holds no events. Where events are sent as something else (inside a list, say),
 * they are shown to nobody: a key that the gateway quotes may be spread over several of them.
 */
export function withoutEvents(text: string): string {
	const at = text.search(/(?<![^\r\n])data:/);
	return at < 0 ? text : text.slice(0, at);
}

/**
 * Whether a body is a stream of events, told from how it begins: not every gateway names the type
 * rightly.
 *
 * @param start of the body, without its preamble; more of it may come
 * @param isAnnounced whether its type says that it is one
 * @param isAll whether nothing more will come, or should be waited for
 * @returns undefined if more of it is needed
 */
export function isEventStream(
	start: string,
	isAnnounced: boolean,
	isAll: boolean,
): boolean | undefined {
	if (start === '' || start.startsWith(':')) return isAll ? isAnnounced : undefined;
	if (/^[[{"<]/.test(start)) return false;
	// No name of a field is longer.
	const [name = ''] = start.slice(0, 10).split(/[:\r\n]/, 1);
	const isCut = name.length === start.length && !isAll;
	if (isCut && FIELDS.some((field) => field.startsWith(name))) return undefined;
	return isAnnounced || (!isCut && FIELDS.includes(name));
}
