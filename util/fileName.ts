import { trimBy } from './text';

/** In characters: longer texts are cut first. */
const LONGEST_TEXT = 1000;
const LONGEST_PROMPT = 200;
/**
 * In bytes of UTF-8, without the extension. File systems allow 255 for the whole name; the rest is
 * for a number that makes it unique, and for suffixes of programs that write the file.
 */
const LONGEST_STEM_BYTES = 200;

/**
 * Characters outside of those that every file system accepts: separators, wildcards, quotes,
 * invisible ones.
 */
const UNSAFE = /[^\p{L}\p{M}\p{N} ._()+,=@-]+/gu;
const IGNORED = /\p{Default_Ignorable_Code_Point}+/gu;
/** Device names of Windows, also with an extension. */
const DEVICE = /^(con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³])(?= *(\.|$))/i;
const IMAGE_EXTENSION = /\.(png|jpe?g|gif|webp|avif|heic|heif|bmp|tiff?|svg)[ .-]*$/i;

/**
 * The name of an image that nobody has named, without extension: the first words of its prompt, else
 * its model and its task. Empty if neither is known.
 */
export function defaultFileStem({
	prompt = '',
	model = '',
	taskId = '',
}: Partial<Record<'prompt' | 'model' | 'taskId', string>>): string {
	const ids = [model, taskId].map(safeFileStem).filter((part) => part !== '');
	return portableStem(firstWords(prompt).toLowerCase()) || portableStem(ids.join('-'));
}

/** Whole words with up to 40 characters, or the beginning of a longer word. */
const FIRST_WORDS = /^.{1,40}(?=-|$)|^.{1,40}/u;

/** The first words of a prompt, with hyphens between them. */
function firstWords(prompt: string): string {
	const words = prompt
		.slice(0, LONGEST_PROMPT)
		.normalize('NFC')
		.replace(IGNORED, '')
		.split(/[^\p{L}\p{M}\p{N}]+/u);
	return FIRST_WORDS.exec(words.filter((word) => word !== '').join('-'))?.[0] ?? '';
}

/**
 * A text as a file name without extension for every file system: no path, control character, hidden
 * or right-to-left mark, Windows device, dot or space at its ends, at most 200 bytes. An image
 * extension at its end is removed. May be empty.
 */
export function portableStem(text: string): string {
	const plain = trimmed(
		text
			.slice(0, LONGEST_TEXT)
			.normalize('NFC')
			.replace(IGNORED, '')
			.replace(UNSAFE, '-')
			.replace(/\.{2,}/g, '.')
			.replace(/-{2,}/g, '-')
			.replace(IMAGE_EXTENSION, ''),
	);
	const bytes = Buffer.from(plain).subarray(0, LONGEST_STEM_BYTES - 1);
	// A character cut in two is decoded as this one, which no name contains.
	return trimmed(bytes.toString().replace(/\ufffd$/, '')).replace(DEVICE, '$1_');
}

const LONGEST_FOREIGN = 80;

/** The same for a foreign text: shorter, and without what a user may have meant, such as `=`. */
export const safeFileStem = (foreign: string): string =>
	portableStem(foreign.slice(0, LONGEST_FOREIGN).replace(/[()+,=@]+/g, '-'));

/**
 * Without characters that hide a file or look like an option at the start, and those that Windows
 * drops at the end.
 */
const trimmed = (text: string): string => trimBy(text, /[\p{M} ._-]/u, /[ .-]/);

/**
 * Makes file names unique in their order: a repeated one gets a number, `fox-2.png`. Names that
 * differ only in case or Unicode composition count as equal, because many file systems treat them
 * so.
 */
export class UniqueNames {
	/**
	 * By name, the number of names numbered after it, where the search for the next number starts.
	 */
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

/**
 * Lower, upper, lower: two letters can have the same capital, and two capitals the same small
 * letter.
 */
const folded = (name: string): string =>
	name.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFKC');
