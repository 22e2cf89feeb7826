import type { Canvas, Point } from './canvas.mjs';
import { mix, type Color } from './color.mjs';
import { horizon, type DrawingContext } from './drawing-context.mjs';
import type { Random } from '../seed.mjs';

export function paintSky({ canvas, scene, random, unit, sun }: DrawingContext): void {
	canvas.sky([...scene.sky, scene.sky.at(-1)!]);
	if (scene.hour === 'night') {
		paintStars(canvas, random, horizon);
		paintMoon(canvas, sun, unit * 0.06);
		return;
	}
	const warm: Color = scene.hour === 'day' ? [255, 252, 226] : [255, 232, 176];
	canvas.glow(sun, unit * 0.5, warm, 0.75);
	canvas.disc(sun, unit * (scene.hour === 'day' ? 0.06 : 0.085), mix(warm, [255, 255, 255], 0.35));
	for (let cloud = 0; cloud < 4; cloud += 1) paintCloud(canvas, random, unit, scene.sky[2]!);
}

/** Stars all over the upper part, and a moon, as at night. */
export function paintStars(canvas: Canvas, random: Random, share: number): void {
	const unit = Math.min(canvas.width, canvas.height);
	for (let star = 0; star < 130; star += 1) {
		const at: Point = [random() * canvas.width, random() ** 1.3 * canvas.height * share];
		canvas.disc(at, unit * (0.0008 + random() * 0.0022), [255, 250, 235], 0.4 + random() * 0.6);
	}
}

export function paintMoon(canvas: Canvas, at: Point, radius: number): void {
	canvas.glow(at, radius * 5, [190, 205, 245], 0.45);
	canvas.disc(at, radius, [248, 244, 226]);
	for (const [x, y, size] of [
		[-0.3, -0.2, 0.22],
		[0.25, 0.3, 0.16],
		[0.35, -0.35, 0.12],
	] as const) {
		canvas.disc([at[0] + x * radius, at[1] + y * radius], size * radius, [224, 218, 200], 0.8);
	}
}

export function paintSnowfall(canvas: Canvas, random: Random): void {
	const unit = Math.min(canvas.width, canvas.height);
	for (let flake = 0; flake < 170; flake += 1) {
		const at: Point = [random() * canvas.width, random() * canvas.height];
		canvas.disc(at, unit * (0.0015 + random() * 0.005), [255, 255, 255], 0.35 + random() * 0.55);
	}
}

function paintCloud(canvas: Canvas, random: Random, unit: number, light: Color): void {
	const x = random() * canvas.width;
	const y = (0.08 + random() * 0.36) * canvas.height;
	const long = unit * (0.1 + random() * 0.14);
	const color = mix(light, [255, 255, 255], 0.65);
	// Long flat drops, laid over each other: a cloud from far away.
	for (let part = 0; part < 4; part += 1) {
		const width = long * (0.6 + random() * 0.8);
		const thick = width * 0.09;
		const left = x + (random() - 0.5) * long - width / 2;
		const top = y + (random() - 0.5) * long * 0.22;
		canvas.lens([left, top], width, thick, color, 0.42);
	}
}

export function paintBirds(
	canvas: Canvas,
	random: Random,
	unit: number,
	[x, y]: Point,
	pale: boolean,
): void {
	const color: Color = pale ? [210, 215, 235] : [40, 40, 58];
	for (let bird = 0; bird < 7; bird += 1) {
		const size = unit * (0.014 + random() * 0.016);
		const bx = x + (random() - 0.5) * unit * 0.4;
		const by = y + (random() - 0.5) * unit * 0.2;
		const wing = (side: number): Point[] => [
			[bx, by],
			[bx + side * size * 0.5, by - size * 0.5],
			[bx + side * size * 1.2, by - size * 0.3],
			[bx + side * size * 0.5, by - size * 0.28],
			[bx, by + size * 0.2],
		];
		canvas.polygon(wing(1), color, 0.85);
		canvas.polygon(wing(-1), color, 0.85);
	}
}
