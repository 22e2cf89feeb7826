import { createCanvas, loadImage, type Canvas, type SKRSContext2D } from '@napi-rs/canvas';
import { hash, seeded, type Random } from '../seed.mjs';
import { SUBJECTS } from './subjects.mjs';

const LARGEST_EDGE = 2048;

/** The sky from top to bottom, and the ground: the first whose words a prompt has, or else any. */
const HOURS: Array<[words: RegExp, high: string, low: string, ground: string]> = [
	[/\b(night|midnight|moon\w*|dark|stars?|starry)\b/i, '#080e24', '#2f4675', '#1d2a33'],
	[/\b(dawn|sunrise|morning|early)\b/i, '#5d679f', '#fbd9a6', '#4f6a4d'],
	[/\b(dusk|sunset|evening|twilight|autumn)\b/i, '#371f5e', '#fb9d5c', '#40383f'],
	[/\b(day|noon|sunny|summer|bright)\b/i, '#3c8fd6', '#d9f1f5', '#5f9a58'],
];
const SEA = /\b(sea|ocean|lake|harbou?r|boats?|ships?|sail\w*|coast|beach|island|lighthouse)\b/i;
const SNOW = /\b(snow\w*|winter|ice|icy|frozen)\b/i;
const COLOR =
	/\b(red|orange|yellow|gold|green|turquoise|blue|purple|violet|pink|brown|white|black|gr[ae]y)\b/i;
const NO_COLOR = /\b(black and white|monochrome|sketch|pencil)\b/i;
/** What asks for a picture without its background. */
const NO_BACKGROUND =
	/\b(remove|delete|erase|drop|without|transparent|cut ?out)\b.{0,40}\bbackground\b|\bbackground (removal|removed)\b/i;

export const removesBackground = (prompt: string): boolean => NO_BACKGROUND.test(prompt);

const seedOf = (prompt: string, index: number) => seeded(hash(`${prompt}\n${index}`));

/**
 * Paints a picture from a prompt: a sky, a ground and what the prompt names. The same prompt, index and
 * size give the same picture, another index another view.
 */
export function paint(prompt: string, index: number, width: number, height: number): Canvas {
	const canvas = createCanvas(width, height);
	const random = seedOf(prompt, index);
	paintSubject(canvas, prompt, random, () => paintLand(canvas, prompt, random));
	return canvas;
}

/** What a prompt names, as `paint` paints it in the same place, with nothing behind it. */
export function cutOut(prompt: string, index: number, width: number, height: number): Canvas {
	const canvas = createCanvas(width, height);
	paintSubject(canvas, prompt, seedOf(prompt, index));
	return canvas;
}

/**
 * An uploaded picture, toned as the prompt says (an hour, a color, `black and white`) or else in any
 * color, and framed. Undefined if it cannot be decoded.
 */
export async function retouch(
	original: Buffer,
	prompt: string,
	index: number,
): Promise<Canvas | undefined> {
	// The right first bytes and nothing sensible behind them, or a format it does not know.
	const image = await loadImage(original).catch(() => undefined);
	if (image === undefined) return undefined;
	const factor = Math.min(1, LARGEST_EDGE / Math.max(image.width, image.height));
	const [width, height] = [image.width, image.height].map((edge) =>
		Math.max(1, Math.round(edge * factor)),
	) as [number, number];
	const canvas = createCanvas(width, height);
	const context = canvas.getContext('2d');
	context.drawImage(image, 0, 0, width, height);
	const hour = HOURS.find(([words]) => words.test(prompt));
	const anyColor = `hsl(${Math.round(seedOf(prompt, index)() * 360)}, 60%, 60%)`;
	context.fillStyle = hour?.[2] ?? COLOR.exec(prompt)?.[0] ?? anyColor;
	context.globalCompositeOperation = 'multiply';
	context.globalAlpha = 0.7;
	if (NO_COLOR.test(prompt)) {
		context.fillStyle = 'gray';
		context.globalCompositeOperation = 'saturation';
		context.globalAlpha = 1;
	}
	context.fillRect(0, 0, width, height);
	context.globalCompositeOperation = 'source-over';
	context.globalAlpha = 1;
	if (SNOW.test(prompt)) paintSnow(context, seedOf(prompt, index));
	context.strokeStyle = '#faf6ec';
	context.lineWidth = Math.max(2, Math.min(width, height) * 0.036);
	context.strokeRect(0, 0, width, height);
	return canvas;
}

function paintLand(canvas: Canvas, prompt: string, random: Random): void {
	const { width, height } = canvas;
	const context = canvas.getContext('2d');
	const named = HOURS.findIndex(([words]) => words.test(prompt));
	const hour = named < 0 ? Math.floor(random() * HOURS.length) : named;
	const [, high, low, land] = HOURS[hour]!;
	const sky = context.createLinearGradient(0, 0, 0, height * 0.7);
	sky.addColorStop(0, high);
	sky.addColorStop(1, low);
	context.fillStyle = sky;
	context.fillRect(0, 0, width, height);
	disc(context, width * (0.1 + random() * 0.8), height * 0.16, height * 0.06, '#fff6d8');
	const phase = random() * 9;
	context.fillStyle = SNOW.test(prompt) ? '#eef3fa' : SEA.test(prompt) ? '#2b5f7d' : land;
	for (const [layer, alpha] of [0.5, 1].entries()) {
		context.globalAlpha = alpha;
		context.beginPath();
		context.moveTo(0, height);
		for (let x = 0; x <= width + 4; x += 4) {
			const wave = SEA.test(prompt) ? 0 : Math.sin((x / width) * (4 + layer) + phase * (layer + 1));
			context.lineTo(x, height * (0.6 + layer * 0.12 + wave * 0.05));
		}
		context.lineTo(width, height);
		context.fill();
	}
	if (SNOW.test(prompt)) paintSnow(context, random);
}

/** @param behind paints what is behind it */
function paintSubject(canvas: Canvas, prompt: string, random: Random, behind = () => {}): void {
	const { width, height } = canvas;
	const x = width * (0.35 + random() * 0.3);
	behind();
	const subject = SUBJECTS.find(({ words }) => words.test(prompt)) ?? SUBJECTS.at(-1)!;
	const context = canvas.getContext('2d');
	const size = Math.min(width, height) * subject.height;
	const foot = subject.flies ? height * 0.1 + size : height * 0.8;
	const main = COLOR.exec(prompt)?.[0] ?? subject.main;
	for (const [color, points] of subject.shapes) {
		const numbers = points.split(/[ ,]/).map(Number);
		const at = (index: number): [number, number] => [
			x + (numbers[index]! - 0.5) * size,
			foot + (numbers[index + 1]! - 1) * size,
		];
		const fill = color === 'main' ? main : color;
		if (numbers.length === 3) disc(context, ...at(0), numbers[2]! * size, fill);
		else {
			context.fillStyle = fill;
			context.beginPath();
			for (let index = 0; index < numbers.length; index += 2) context.lineTo(...at(index));
			context.fill();
		}
	}
}

function disc(context: SKRSContext2D, x: number, y: number, radius: number, color: string): void {
	context.fillStyle = color;
	context.beginPath();
	context.arc(x, y, radius, 0, 2 * Math.PI);
	context.fill();
}

function paintSnow(context: SKRSContext2D, random: Random): void {
	const { width, height } = context.canvas;
	const size = Math.min(width, height) * 0.006;
	for (let flake = 0; flake < 120; flake += 1) {
		disc(context, random() * width, random() * height, size * (0.3 + random()), '#ffffffb0');
	}
}
