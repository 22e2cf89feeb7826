/** What is as short as a word is no key, and would take words away. */
const SHORTEST_KEY = 8;

/** What is put in the place of the key. */
const ERASED = '***';

/** How often an escape is looked for in what an escape stood for: JSON in JSON in an address. */
const MOST_LAYERS = 4;

/**
 * In characters. A longer text in which the key is escaped was made for that: no part of it is of
 * use, and it comes back decoded.
 */
const LONGEST_TEXT = 4_000_000;

/** A character as JSON writes it. */
const OF_JSON = /\\u([0-9a-f]{4})|\\(["\\/])/gi;

/** A character as JSON or an address writes it. */
const OF_BOTH = /\\u([0-9a-f]{4})|\\(["\\/])|%([0-9a-f]{2})/gi;

/**
 * Makes the function that takes a key out of texts of a gateway, some of which quote the key that
 * they refuse. It finds the key also where some or all of its characters are written as escapes of
 * JSON (`\/`, `\u0073`) or of an address (`%2D`), also of both, and where such a text was quoted in
 * another one. JSON stays JSON. In time that grows with the length of the text.
 *
 * @param key as it is sent; nothing is erased where it has less than 8 characters
 */
export function createKeyEraser(key: string): (text: string) => string {
	if (key.length < SHORTEST_KEY) return (text) => text;
	return (text) => {
		const erased = text.replaceAll(key, ERASED);
		if (!/[\\%]/.test(erased)) return erased;
		// A percent sign of the key itself begins no escape.
		const inJson = key.includes('%') ? withoutEscapedKey(erased, key, OF_JSON) : erased;
		return withoutEscapedKey(inJson, key, OF_BOTH);
	};
}

function withoutEscapedKey(text: string, key: string, escape: RegExp): string {
	let cleaned = text;
	let plain = text;
	for (let layers = 1; layers <= MOST_LAYERS; layers += 1) {
		const decoded = decode(plain, escape);
		if (decoded === plain) break;
		plain = decoded;
		if (!plain.includes(key)) continue;
		if (cleaned.length > LONGEST_TEXT) return plain.replaceAll(key, ERASED);
		// The places in the text are worked out only where there is something to erase.
		cleaned = eraseAt(cleaned, layers, key, escape);
		plain = cleaned;
		for (let layer = 0; layer < layers; layer += 1) plain = decode(plain, escape);
	}
	return cleaned;
}

const decode = (text: string, escape: RegExp): string =>
	text.replace(escape, (_, unicode?: string, plain?: string, percent?: string) =>
		meaning(unicode, plain, percent),
	);

function meaning(unicode?: string, plain?: string, percent?: string): string {
	return plain ?? String.fromCharCode(parseInt(unicode ?? percent ?? '', 16));
}

/** Erases what stands for the key once the text is decoded so many times. */
function eraseAt(text: string, layers: number, key: string, escape: RegExp): string {
	let plain = text;
	/** Where each character of `plain` begins in the text, and behind the last one where it ends. */
	let places = Array.from({ length: text.length + 1 }, (_, index) => index);
	for (let layer = 0; layer < layers; layer += 1) {
		const before: number[] = [];
		let from = 0;
		for (const { index, 0: written } of plain.matchAll(escape)) {
			for (; from <= index; from += 1) before.push(places[from] as number);
			from = index + written.length;
		}
		for (; from <= plain.length; from += 1) before.push(places[from] as number);
		places = before;
		plain = decode(plain, escape);
	}
	const pieces: string[] = [];
	let rest = 0;
	for (let at = plain.indexOf(key); at >= 0; at = plain.indexOf(key, at + key.length)) {
		pieces.push(text.slice(rest, places[at]), ERASED);
		rest = places[at + key.length] as number;
	}
	return pieces.join('') + text.slice(rest);
}
