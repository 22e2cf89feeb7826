/** What is as short as a word is no key, and would take words away. */
export const SHORTEST_KEY = 8;

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
const OF_JSON = /\\u[0-9a-f]{4}|\\["\\/]/gi;

/** A character as JSON, a program, an address or a web page writes it. */
const OF_ALL =
	/\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\["\\/]|%[0-9a-f]{2}|&#x0{0,4}[0-9a-f]{2};|&#0{0,4}[0-9]{2,3};|&(?:amp|lt|gt|quot|apos);/gi;

/** Characters that a web page cannot hold as they are. */
const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** In characters: no escape of an escape is longer. */
const LONGEST_ESCAPE = 12;

/** In characters: more of a key is not looked for at the end of a text. */
const LONGEST_BEGINNING = 200;

/** In characters: a shorter beginning of a key may as well be a word. */
const SHORTEST_BEGINNING = 4;

/**
 * Makes the function that takes a key out of texts of a gateway, some of which quote the key that
 * they refuse. It finds the key also where some or all of its characters are written as escapes of
 * JSON (`\/`, `\u0073`), of an address (`%2D`) or of a web page (`&#45;`), also mixed, and where such a
 * text was quoted in another one. JSON stays JSON. In time that grows with the length of the text.
 *
 * @param key as it is sent; nothing is erased where it has less than 8 characters
 */
export function createKeyEraser(key: string): (text: string) => string {
	if (key.length < SHORTEST_KEY) return (text) => text;
	return (text) => {
		const erased = text.replaceAll(key, ERASED);
		if (!/[\\%&]/.test(erased)) return erased;
		// A percent sign or an ampersand of the key itself begins no escape.
		const inJson = /[%&]/.test(key) ? withoutEscapedKey(erased, key, OF_JSON) : erased;
		return withoutEscapedKey(inJson, key, OF_ALL);
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

/**
 * Makes the function that takes the beginning of a key away with which a text ends: what follows was
 * cut off. It finds it also where it is written as escapes, the last of which may be cut itself.
 *
 * @param key as it is sent; nothing is taken away where it has less than 8 characters
 */
export function createCutKeyEraser(key: string): (text: string) => string {
	if (key.length < SHORTEST_KEY) return (text) => text;
	const longest = Math.min(LONGEST_BEGINNING, key.length - 1);
	return (text) => {
		const start = Math.max(0, text.length - LONGEST_ESCAPE * (longest + 1));
		for (const tail of withoutHalfEscape(text.slice(start))) {
			for (let layers = 0; layers <= MOST_LAYERS; layers += 1) {
				const { plain, places } = decodeWithPlaces(tail, layers, OF_ALL);
				const length = lengthOfBeginning(plain, key, SHORTEST_BEGINNING, longest);
				if (length > 0) return text.slice(0, start + (places[plain.length - length] ?? 0)) + ERASED;
			}
		}
		return text;
	};
}

/** A text as it is, and without what may be an escape at its end that was cut. */
function withoutHalfEscape(text: string): string[] {
	const starts = [...text.slice(-LONGEST_ESCAPE).matchAll(/[\\%&]/g)];
	const from = Math.max(0, text.length - LONGEST_ESCAPE);
	return [text, ...starts.map(({ index }) => text.slice(0, from + index))];
}

/**
 * How much of the beginning of a key stands at the end of a text, in characters.
 *
 * @returns 0 where it is less than `shortest`
 */
export function lengthOfBeginning(
	text: string,
	key: string,
	shortest: number,
	longest: number,
): number {
	for (let length = longest; length >= shortest; length -= 1) {
		if (text.endsWith(key.slice(0, length))) return length;
	}
	return 0;
}

const decode = (text: string, escape: RegExp): string => text.replace(escape, meaning);

/** The character that an escape stands for. */
function meaning(escape: string): string {
	const code = /^(?:\\[ux]|%|&#x)([0-9a-f]+)/i.exec(escape)?.[1];
	if (code !== undefined) return String.fromCharCode(parseInt(code, 16));
	if (escape.startsWith('&#')) return String.fromCharCode(parseInt(escape.slice(2), 10));
	return ENTITIES[escape.slice(1, -1).toLowerCase()] ?? escape.slice(1);
}

/** Erases what stands for the key once the text is decoded so many times. */
function eraseAt(text: string, layers: number, key: string, escape: RegExp): string {
	const { plain, places } = decodeWithPlaces(text, layers, escape);
	const pieces: string[] = [];
	let rest = 0;
	for (let at = plain.indexOf(key); at >= 0; at = plain.indexOf(key, at + key.length)) {
		pieces.push(text.slice(rest, places[at]), ERASED);
		rest = places[at + key.length] as number;
	}
	return pieces.join('') + text.slice(rest);
}

/**
 * Decodes a text so many times.
 *
 * @returns also where in the text each character of `plain` begins, and behind the last one where it
 *   ends
 */
function decodeWithPlaces(
	text: string,
	layers: number,
	escape: RegExp,
): { plain: string; places: number[] } {
	let plain = text;
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
	return { plain, places };
}
