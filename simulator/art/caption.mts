import { Jimp } from 'jimp';
import { SANS_16_WHITE, SANS_32_WHITE } from 'jimp/fonts';
import { Canvas, type Bitmap } from './canvas.mjs';
import { Lettering } from './lettering.mjs';

/** Smaller pictures have no room for words. */
const leastEdge = 160;

const fonts = new Map<string, Promise<Lettering>>();

/** The PNG of a picture, with the caption on a dark band at its foot. */
export async function encode(picture: Bitmap, caption: string): Promise<Buffer> {
	const { data, width, height } = picture;
	if (Math.min(width, height) >= leastEdge) {
		const canvas = new Canvas(width, height, data);
		const large = Math.min(width, height) >= 1000;
		const font = await fontOf(large ? SANS_32_WHITE : SANS_16_WHITE);
		const [margin, band] = large ? [28, 64] : [14, 32];
		canvas.box([0, height - band], [width, height], [20, 20, 32]);
		const text = fitted(font, caption, width - 2 * margin);
		font.write(canvas, [margin, height - band + (large ? 10 : 5)], text);
	}
	// Fast rather than small: these are drawn by the hundred.
	const options = { deflateLevel: 3, filterType: 2, colorType: 2 } as const;
	return await Jimp.fromBitmap({ data, width, height }).getBuffer('image/png', options);
}

function fontOf(path: string): Promise<Lettering> {
	const font = fonts.get(path) ?? Lettering.load(path);
	fonts.set(path, font);
	return font;
}

function fitted(font: Lettering, caption: string, width: number): string {
	const text = font.known(caption.slice(0, 500)).trim();
	if (font.width(text) <= width) return text;
	let length = text.length;
	while (length > 0 && font.width(`${text.slice(0, length)}...`) > width) length -= 1;
	return `${text.slice(0, length).trimEnd()}...`;
}
