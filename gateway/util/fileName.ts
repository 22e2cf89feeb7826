import { trimBy } from './text';

/** What the placeholders of a file name stand for; what is not known leaves nothing behind. */
export interface FileNameValues {
	/** Position of the input item, from 1. */
	item: number;
	/** Position of the image among those of its item, from 1. */
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
	const { model = '', taskId: taskid = '', prompt = '', ...others } = values;
	const known = new Map<string, string | number>(
		Object.entries({ ...others, model, taskid, prompt: inShort(prompt) }),
	);
	const filled = template
		.slice(0, LONGEST_TEMPLATE)
		.replace(PLACEHOLDER, (whole, name: string, digits = '0') => {
			const value = known.get(name.toLowerCase()) ?? whole;
			return typeof value === 'number'
				? String(value).padStart(Math.min(MOST_DIGITS, Number(digits)), '0')
				: value.slice(0, LONGEST_VALUE);
		});
	return portableStem(filled);
}

/** The first words of a prompt, with hyphens between them. */
function inShort(prompt: string): string {
	const words = prompt
		.slice(0, LONGEST_VALUE)
		.normalize('NFC')
		.replace(IGNORED, '')
		.split(/[^\p{L}\p{M}\p{N}]+/u);
	const all = Array.from(words.filter((word) => word !== '').join('-'));
	const short = all.slice(0, LONGEST_PROMPT).join('');
	const end = short.lastIndexOf('-');
	const isWhole = (all[LONGEST_PROMPT] ?? '-') === '-';
	return isWhole || end < 0 ? short : short.slice(0, end);
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
	const bytes = Buffer.from(plain).subarray(0, LONGEST_STEM_BYTES - 1);
	// A character that was cut in two is read as this one, which no name holds.
	return trimmed(bytes.toString().replace(/\ufffd$/, '')).replace(DEVICE, '$1_');
}

/** Without what hides a file or looks like an option at the start, and what Windows drops at the end. */
const trimmed = (text: string): string => trimBy(text, /[\p{M} .-]/u, /[ .-]/);

/**
 * Makes file names differ, in the order in which they come: one that was given before
 * gets a number, `fox-2.png`. Names that differ only in case or in how their letters are composed
 * are the same: many file systems take them for one.
 */
export class UniqueNames {
	/** By each name that was given, how many were numbered after it: the search goes on from there. */
	private readonly counts = new Map<string, number>();

	/** The name itself, or one with a number before its extension. */
	claim(name: string): string {
		const dot = name.lastIndexOf('.');
		const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
		let unique = name;
		let count = this.counts.get(folded(name)) ?? 0;
		while (this.counts.has(folded(unique))) unique = `${stem}-${(count += 1)}${extension}`;
		this.counts.set(folded(name), count).set(folded(unique), 1);
		return unique;
	}
}

/** By way of the capitals: two letters may have one. Small ones before: so may two capitals. */
const folded = (name: string): string =>
	name.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFKC');

const LONGEST_STEM = 80;

/**
 * A file name made from a foreign text: no path, no control character, no markup, nothing hidden,
 * at most 80 characters. Empty where nothing is left.
 */
export function safeFileStem(foreign: string): string {
	const plain = foreign
		// First of all, so that a name of a million characters is not looked through.
		.slice(0, 2 * LONGEST_STEM)
		.replace(/[^\p{L}\p{M}\p{N}._ -]+/gu, '-')
		.replace(/\.{2,}/g, '.');
	const stem = Array.from(trimBy(plain, /[.\-_ ]/)).slice(0, LONGEST_STEM);
	return trimBy(stem.join(''), /[.\-_ ]/);
}
