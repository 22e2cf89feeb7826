/** Red, green and blue, 0..255. */
export type Colour = readonly [red: number, green: number, blue: number];
export type Point = readonly [x: number, y: number];

export interface Bitmap {
	data: Buffer;
	width: number;
	height: number;
}

/** Rows of a pixel that a polygon's edge is sampled at. */
const subrows = 4;

/** A bitmap to paint on, with smooth edges. All coordinates are pixels; (0, 0) is top left. */
export class Canvas implements Bitmap {
	readonly data: Buffer;

	constructor(
		readonly width: number,
		readonly height: number,
		data?: Buffer,
	) {
		this.data = data ?? Buffer.alloc(width * height * 4, 255);
	}

	/** Lays a colour over one pixel; `cover` 0..1. */
	blend(x: number, y: number, colour: Colour, cover: number): void {
		if (x < 0 || y < 0 || x >= this.width || y >= this.height || cover <= 0) return;
		const { data } = this;
		const at = (y * this.width + x) * 4;
		for (let channel = 0; channel < 3; channel += 1) {
			const old = data[at + channel]!;
			data[at + channel] = old + (colour[channel]! - old) * cover;
		}
	}

	/** Fills all with bands of colour from top to bottom, each running into the next. */
	sky(colours: readonly Colour[]): void {
		for (let y = 0; y < this.height; y += 1) {
			const at = (y / this.height) * (colours.length - 1);
			const index = Math.min(colours.length - 2, Math.floor(at));
			const colour = mix(colours[index]!, colours[index + 1]!, at - index);
			const row = y * this.width * 4;
			for (let x = 0; x < this.width; x += 1) {
				this.data[row + x * 4] = colour[0];
				this.data[row + x * 4 + 1] = colour[1];
				this.data[row + x * 4 + 2] = colour[2];
			}
		}
	}

	/** Fills what lies below a line, from one colour where it is highest to another at the foot. */
	ground(line: (x: number) => number, upper: Colour, lower: Colour): void {
		const edges = Float32Array.from({ length: this.width }, (_, x) => line(x));
		const highest = Math.max(0, Math.floor(Math.min(...edges)));
		for (let y = highest; y < this.height; y += 1) {
			const colour = mix(upper, lower, (y - highest) / (this.height - highest));
			for (let x = 0; x < this.width; x += 1) {
				const cover = y + 1 - edges[x]!;
				if (cover > 0) this.blend(x, y, colour, Math.min(1, cover));
			}
		}
	}

	box([left, top]: Point, [right, bottom]: Point, colour: Colour, alpha = 1): void {
		const corners: Point[] = [
			[left, top],
			[right, top],
			[right, bottom],
			[left, bottom],
		];
		this.polygon(corners, colour, alpha);
	}

	polygon(points: readonly Point[], colour: Colour, alpha = 1): void {
		const xs = points.map(([x]) => x);
		const ys = points.map(([, y]) => y);
		const left = Math.max(0, Math.floor(Math.min(...xs)));
		const right = Math.min(this.width, Math.ceil(Math.max(...xs)));
		const bottom = Math.min(this.height, Math.ceil(Math.max(...ys)));
		const cover = new Float32Array(Math.max(0, right - left));
		for (let y = Math.max(0, Math.floor(Math.min(...ys))); y < bottom; y += 1) {
			cover.fill(0);
			for (let sub = 0; sub < subrows; sub += 1) {
				const crossings = crossingsAt(points, y + (sub + 0.5) / subrows);
				for (let i = 0; i + 1 < crossings.length; i += 2) {
					span(cover, crossings[i]! - left, crossings[i + 1]! - left);
				}
			}
			for (let x = left; x < right; x += 1) {
				this.blend(x, y, colour, (alpha * cover[x - left]!) / subrows);
			}
		}
	}

	disc(centre: Point, radius: number, colour: Colour, alpha = 1): void {
		this.around(centre, radius + 1, (x, y, distance) => {
			this.blend(x, y, colour, alpha * Math.min(1, Math.max(0, radius - distance + 0.5)));
		});
	}

	/** Light that fades out towards the radius. */
	glow(centre: Point, radius: number, colour: Colour, alpha = 1): void {
		this.around(centre, radius, (x, y, distance) => {
			const near = Math.max(0, 1 - distance / radius);
			this.blend(x, y, colour, alpha * near * near);
		});
	}

	private around(
		[cx, cy]: Point,
		radius: number,
		visit: (x: number, y: number, distance: number) => void,
	): void {
		const right = Math.min(this.width - 1, Math.ceil(cx + radius));
		const bottom = Math.min(this.height - 1, Math.ceil(cy + radius));
		for (let y = Math.max(0, Math.floor(cy - radius)); y <= bottom; y += 1) {
			for (let x = Math.max(0, Math.floor(cx - radius)); x <= right; x += 1) {
				const distance = Math.sqrt((x + 0.5 - cx) ** 2 + (y + 0.5 - cy) ** 2);
				if (distance < radius) visit(x, y, distance);
			}
		}
	}
}

/** From one colour (0) to the other (1). */
export function mix(from: Colour, to: Colour, share: number): Colour {
	return [
		from[0] + (to[0] - from[0]) * share,
		from[1] + (to[1] - from[1]) * share,
		from[2] + (to[2] - from[2]) * share,
	];
}

/** Hue in degrees, saturation and lightness 0..1. */
export function hsl(hue: number, saturation: number, lightness: number): Colour {
	const reach = saturation * Math.min(lightness, 1 - lightness);
	const channel = (offset: number) => {
		const k = (((offset + hue / 30) % 12) + 12) % 12;
		return 255 * (lightness - reach * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
	};
	return [channel(0), channel(8), channel(4)];
}

function crossingsAt(points: readonly Point[], y: number): number[] {
	const crossings: number[] = [];
	let [x1, y1] = points.at(-1)!;
	for (const [x2, y2] of points) {
		if (y1 <= y !== y2 <= y) crossings.push(x1 + ((y - y1) / (y2 - y1)) * (x2 - x1));
		[x1, y1] = [x2, y2];
	}
	return crossings.sort((a, b) => a - b);
}

/** Adds a stretch of a row, its two ends by the share of the pixel that they cover. */
function span(cover: Float32Array, from: number, to: number): void {
	const start = Math.max(0, from);
	const end = Math.min(cover.length, to);
	for (let x = Math.floor(start); x < end; x += 1) {
		cover[x] = cover[x]! + Math.min(end, x + 1) - Math.max(start, x);
	}
}
