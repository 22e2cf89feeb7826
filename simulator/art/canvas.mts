import { createCanvas, type Canvas as Surface, type Image } from '@napi-rs/canvas';
import { css, type Color } from './color.mjs';

export type Point = readonly [x: number, y: number];

/** Stops of a light that fades with the square of its distance: share of the radius, of the light. */
const FADING = [0, 0.2, 0.4, 0.6, 0.8, 1].map((at) => [at, (1 - at) ** 2] as const);

/** A picture to paint on. All coordinates are pixels; (0, 0) is top left. */
export class Canvas {
	readonly surface: Surface;
	private readonly context;

	/** @param picture is drawn over all of it */
	constructor(
		readonly width: number,
		readonly height: number,
		picture?: Image | Surface,
	) {
		this.surface = createCanvas(width, height);
		this.context = this.surface.getContext('2d');
		if (picture) this.context.drawImage(picture, 0, 0, width, height);
	}

	/** Fills all with bands of color from top to bottom, each running into the next. */
	sky(colors: readonly Color[]): void {
		this.gradient(0, this.height, colors);
		this.context.fillRect(0, 0, this.width, this.height);
	}

	/** Fills what lies below a line, from one color where it is highest to another at the foot. */
	ground(line: (x: number) => number, upper: Color, lower: Color): void {
		const { context, width, height } = this;
		const step = this.step();
		let highest = height;
		context.beginPath();
		context.moveTo(-step, height);
		for (let x = -step; x <= width + step; x += step) {
			const y = line(x);
			highest = Math.min(highest, y);
			context.lineTo(x, y);
		}
		context.lineTo(width + step, height);
		this.gradient(Math.max(0, highest), height, [upper, lower]);
		context.fill();
	}

	/** Fills a strip between two lines. Where the lower one is above the upper one there is none. */
	strip(upper: (x: number) => number, lower: (x: number) => number, color: Color, alpha: number) {
		const { context, width } = this;
		const step = this.step();
		context.beginPath();
		for (let x = -step; x <= width + step; x += step) context.lineTo(x, upper(x));
		for (let x = width + step; x >= -step; x -= step) {
			context.lineTo(x, Math.max(upper(x), lower(x)));
		}
		context.fillStyle = css(color, alpha);
		context.fill();
	}

	box([left, top]: Point, [right, bottom]: Point, color: Color, alpha = 1): void {
		this.context.fillStyle = css(color, alpha);
		this.context.fillRect(left, top, right - left, bottom - top);
	}

	polygon(points: readonly Point[], color: Color, alpha = 1): void {
		const { context } = this;
		context.beginPath();
		for (const [x, y] of points) context.lineTo(x, y);
		context.fillStyle = css(color, alpha);
		context.fill('evenodd');
	}

	/** Fills a shape that is thickest in the middle and runs out to both sides, flatter below. */
	lens([left, top]: Point, width: number, thick: number, color: Color, alpha = 1): void {
		const { context } = this;
		context.beginPath();
		context.moveTo(left, top);
		// The middle of the curve lies half as high as the point that pulls it.
		context.quadraticCurveTo(left + width / 2, top - thick * 2, left + width, top);
		context.quadraticCurveTo(left + width / 2, top + thick * 1.1, left, top);
		context.fillStyle = css(color, alpha);
		context.fill();
	}

	disc([x, y]: Point, radius: number, color: Color, alpha = 1): void {
		const { context } = this;
		context.beginPath();
		context.arc(x, y, radius, 0, 2 * Math.PI);
		context.fillStyle = css(color, alpha);
		context.fill();
	}

	/** Light that fades out towards the radius. */
	glow([x, y]: Point, radius: number, color: Color, alpha = 1): void {
		const light = this.context.createRadialGradient(x, y, 0, x, y, radius);
		for (const [at, share] of FADING) light.addColorStop(at, css(color, alpha * share));
		this.context.fillStyle = light;
		this.context.fillRect(x - radius, y - radius, 2 * radius, 2 * radius);
	}

	/**
	 * Maps the light and dark of the picture to two colors.
	 * @param share how much of the new colors shows, 0..1
	 */
	tone(dark: Color, light: Color, share: number): void {
		const { width, height } = this;
		const toned = createCanvas(width, height);
		const context = toned.getContext('2d');
		context.drawImage(this.surface, 0, 0);
		const over = (operation: 'saturation' | 'multiply' | 'lighter', color: Color) => {
			context.globalCompositeOperation = operation;
			context.fillStyle = css(color);
			context.fillRect(0, 0, width, height);
		};
		over('saturation', [128, 128, 128]);
		over('multiply', [light[0] - dark[0], light[1] - dark[1], light[2] - dark[2]]);
		over('lighter', dark);
		this.context.globalAlpha = share;
		this.context.drawImage(toned, 0, 0);
		this.context.globalAlpha = 1;
	}

	/** Writes a text in white, in the font that is set; `at` is the left end of its base line. */
	write(text: string, [x, y]: Point, font: string): void {
		this.context.font = font;
		this.context.fillStyle = css([255, 255, 255]);
		this.context.fillText(text, x, y);
	}

	/** Pixels that a text takes from left to right. */
	widthOf(text: string, font: string): number {
		this.context.font = font;
		return this.context.measureText(text).width;
	}

	png(): Buffer {
		return this.surface.toBuffer('image/png');
	}

	/** Pixels between two points of a line: nobody sees every second one of a large picture. */
	private step(): number {
		return this.width > 256 ? 2 : 1;
	}

	private gradient(top: number, bottom: number, colors: readonly Color[]): void {
		const gradient = this.context.createLinearGradient(0, top, 0, bottom);
		colors.forEach((color, index) =>
			gradient.addColorStop(index / (colors.length - 1), css(color)),
		);
		this.context.fillStyle = gradient;
	}
}
