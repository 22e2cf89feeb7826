/** What the placeholders of a file name stand for; what is not known leaves nothing behind. */
export interface FileNameValues {
	/** Position of the input item, from 0. */
	item: number;
	/** Position of the image among those of its item, from 0. */
	index: number;
	model?: string;
	taskId?: string;
	prompt?: string;
	/** `2026-11-22` */
	date: string;
	/** `14-05-59` */
	time: string;
}

/** In characters. Longer templates and values are cut before anything looks through them. */
const LONGEST_TEMPLATE = 1000;
const LONGEST_VALUE = 200;
const LONGEST_PROMPT = 40;
const MOST_DIGITS = 12;
/**
 * In bytes of UTF-8, without the extension. File systems take 255 for the whole name; what is left
 * is for a number that makes it unique and for what programs put behind a file while they write it.
 */
const LONGEST_STEM_BYTES = 200;

const PLACEHOLDER = /\{ {0,9}([A-Za-z]{1,20})(?: {0,9}: {0,9}(\d{1,3}))? {0,9}\}/g;
/** What stands in names everywhere: no separator, no wildcard, no quote, nothing invisible. */
const UNSAFE = /[^\p{L}\p{M}\p{N} ._()+,=@-]+/gu;
const IGNORED = /\p{Default_Ignorable_Code_Point}+/gu;
/** Devices of Windows, also with something behind a dot. */
const DEVICE = /^(con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³])(?= *(\.|$))/i;
const IMAGE_EXTENSION = /\.(png|jpe?g|gif|webp|avif|heic|heif|bmp|tiff?|svg)$/i;

/**
 * A template of a file name with its placeholders filled in: `{item}`, `{index}`, `{model}`,
 * `{taskId}`, `{prompt}`, `{date}` and `{time}`, in whatever case. `{item:3}` and `{index:3}` have
 * at least three digits, so that names sort as numbers do. What is no placeholder stays as it is;
 * what a value holds is not read as one.
 *
 * @returns a name without extension, safe on every file system; empty where nothing is left
 */
export function fillFileName(template: string, values: FileNameValues): string {
	const texts: Record<string, (digits: number) => string> = {
		item: (digits) => String(values.item).padStart(digits, '0'),
		index: (digits) => String(values.index).padStart(digits, '0'),
		model: () => (values.model ?? '').slice(0, LONGEST_VALUE),
		taskid: () => (values.taskId ?? '').slice(0, LONGEST_VALUE),
		prompt: () => inShort(values.prompt ?? ''),
		date: () => values.date,
		time: () => values.time,
	};
	const filled = template
		.slice(0, LONGEST_TEMPLATE)
		.replace(PLACEHOLDER, (whole, name: string, digits: string | undefined) => {
			const key = name.toLowerCase();
			const text = Object.hasOwn(texts, key) ? texts[key] : undefined;
			return text?.(Math.min(MOST_DIGITS, Number(digits ?? 0))) ?? whole;
		});
	return portableStem(filled);
}

/** The first words of a prompt, with hyphens between them. */
function inShort(prompt: string): string {
	const words = prompt
		.slice(0, LONGEST_VALUE)
		.normalize('NFC')
		.replace(IGNORED, '')
		.split(/[^\p{L}\p{M}\p{N}]+/u)
		.filter((word) => word !== '');
	let short = '';
	for (const word of words) {
		const longer = short === '' ? word : `${short}-${word}`;
		if (Array.from(longer).length > LONGEST_PROMPT) break;
		short = longer;
	}
	return (
		short ||
		Array.from(words[0] ?? '')
			.slice(0, LONGEST_PROMPT)
			.join('')
	);
}

/**
 * A text as a file name without extension that every file system takes: no path, no control
 * character, nothing hidden or turned around, no device of Windows, no dot or blank at its ends, at
 * most 200 bytes. An image extension at its end is left out. Empty where nothing is left.
 */
export function portableStem(text: string): string {
	const plain = trimmed(
		text
			.slice(0, LONGEST_TEMPLATE)
			.normalize('NFC')
			.replace(IGNORED, '')
			.replace(UNSAFE, '-')
			.replace(/\.{2,}/g, '.')
			.replace(/-{2,}/g, '-'),
	).replace(IMAGE_EXTENSION, '');
	const stem = trimmed(cut(plain, LONGEST_STEM_BYTES - 1));
	return stem.replace(DEVICE, '$1_');
}

/** Without what hides a file or looks like an option at the start, and what Windows drops at the end. */
function trimmed(text: string): string {
	const characters = Array.from(text);
	let from = 0;
	let to = characters.length;
	while (from < to && /^[\p{M} .-]$/u.test(characters[from] ?? '')) from += 1;
	while (to > from && /^[ .-]$/.test(characters[to - 1] ?? '')) to -= 1;
	return characters.slice(from, to).join('');
}

/** As many whole characters as fit into so many bytes of UTF-8. */
function cut(text: string, most: number): string {
	let bytes = 0;
	let end = 0;
	for (const character of text) {
		bytes += Buffer.byteLength(character);
		if (bytes > most) break;
		end += character.length;
	}
	return text.slice(0, end);
}

/**
 * Makes file names differ, in the order in which they come: one that was given before
 * gets a number, `fox-2.png`. Names that differ only in case or in how their letters are composed
 * are the same: many file systems take them for one.
 */
export class UniqueNames {
	private readonly taken = new Set<string>();
	/** Where the search for a free number goes on: a thousand equal names take a thousand steps. */
	private readonly counts = new Map<string, number>();

	/** The name itself, or one with a number before its extension. */
	claim(name: string): string {
		if (this.take(name)) return name;
		const dot = name.lastIndexOf('.');
		const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
		const key = folded(name);
		for (let count = (this.counts.get(key) ?? 1) + 1; ; count += 1) {
			const numbered = `${stem}-${count}${extension}`;
			if (!this.take(numbered)) continue;
			this.counts.set(key, count);
			return numbered;
		}
	}

	private take(name: string): boolean {
		const key = folded(name);
		if (this.taken.has(key)) return false;
		this.taken.add(key);
		return true;
	}
}

/** By way of the capitals: two letters may have one. Small ones before: so may two capitals. */
const folded = (name: string): string =>
	name.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFKC');
