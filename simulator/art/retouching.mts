import { loadImage } from '@napi-rs/canvas';
import { Canvas } from './canvas.mjs';
import { hsl, mix, type Color } from './color.mjs';
import { colorIn, hourIn } from './scene.mjs';
import { hash, seeded } from '../seed.mjs';
import { paintMoon, paintSnowfall, paintStars } from './sky.mjs';

const biggestEdge = 2048;

/** What asks for a picture without its background. */
const NO_BACKGROUND =
	/\b(remove|delete|erase|drop|without|transparent|cut ?out)\b.{0,40}\bbackground\b|\bbackground (removal|removed)\b/i;

export const removesBackground = (prompt: string): boolean => NO_BACKGROUND.test(prompt);

/** How light and dark of a picture are mapped to colors, and how much of it shows. */
interface Tone {
	dark: Color;
	light: Color;
	share: number;
}

/**
 * An uploaded picture, changed as the prompt says (`night`, `snow`, a color, `black and white`, an
 * hour) or else toned in colors drawn from it, and framed. Undefined if it cannot be decoded.
 */
export async function retouch(
	original: Buffer,
	prompt: string,
	index: number,
): Promise<Canvas | undefined> {
	const canvas = await opened(original);
	if (canvas === undefined) return undefined;
	const random = seeded(hash(`${prompt}\n${index}`));
	const night = hourIn(prompt) === 'night';
	const unit = Math.min(canvas.width, canvas.height);
	const { dark, light, share } = toneFor(prompt, random() * 360);
	canvas.tone(dark, light, share);
	if (night) {
		paintStars(canvas, random, 0.45);
		paintMoon(canvas, [canvas.width * (0.2 + random() * 0.6), canvas.height * 0.16], unit * 0.055);
	}
	if (/\b(snow\w*|winter)\b/i.test(prompt)) paintSnowfall(canvas, random);
	framed(canvas, Math.max(2, unit * 0.018), night ? hsl(225, 0.3, 0.2) : [250, 246, 236]);
	return canvas;
}

async function opened(original: Buffer): Promise<Canvas | undefined> {
	try {
		const image = await loadImage(original);
		const factor = Math.min(1, biggestEdge / Math.max(image.width, image.height));
		const edge = (pixels: number) => Math.max(1, Math.round(pixels * factor));
		return new Canvas(edge(image.width), edge(image.height), image);
	} catch {
		// The right first bytes and nothing sensible behind them, or a format it does not know.
		return undefined;
	}
}

function toneFor(prompt: string, hue: number): Tone {
	const hour = hourIn(prompt);
	if (/\b(black and white|monochrome|sketch|pencil)\b/i.test(prompt)) {
		return { dark: [20, 20, 22], light: [250, 248, 244], share: 1 };
	}
	if (hour === 'night') return { dark: [4, 7, 24], light: [112, 140, 200], share: 0.82 };
	if (hour === 'dusk') return { dark: [52, 16, 66], light: [255, 190, 120], share: 0.6 };
	if (hour === 'dawn') return { dark: [70, 50, 110], light: [255, 222, 200], share: 0.55 };
	if (hour === 'day') return { dark: [30, 70, 110], light: [255, 255, 236], share: 0.5 };
	const color = colorIn(prompt);
	if (color)
		return {
			dark: mix(color, [0, 0, 0], 0.8),
			light: mix(color, [255, 255, 255], 0.55),
			share: 0.7,
		};
	if (/\b(snow\w*|winter)\b/i.test(prompt)) {
		return { dark: [40, 56, 90], light: [248, 251, 255], share: 0.6 };
	}
	return { dark: hsl(hue, 0.6, 0.16), light: hsl(hue + 60, 0.75, 0.86), share: 0.65 };
}

function framed(canvas: Canvas, thick: number, color: Color): void {
	const { width, height } = canvas;
	canvas.box([0, 0], [width, thick], color);
	canvas.box([0, height - thick], [width, height], color);
	canvas.box([0, 0], [thick, height], color);
	canvas.box([width - thick, 0], [width, height], color);
}
