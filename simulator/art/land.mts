import type { Canvas } from './canvas.mjs';
import { hsl, mix, type Color } from './color.mjs';
import { horizon, type DrawingContext } from './drawing-context.mjs';
import type { Scene } from './scene.mjs';
import type { Random } from '../seed.mjs';

/** Layer over layer, each nearer and darker than the one before; gives the height of the last. */
export function paintLand({ canvas, scene, random, unit }: DrawingContext): number {
	const { height } = canvas;
	const near = landColor(scene);
	const far = mix(scene.sky[2]!, near, 0.22);
	const layers = 5;
	for (let layer = 0; layer < layers; layer += 1) {
		const share = layer / (layers - 1);
		const base = height * (horizon - 0.12 + share * 0.32);
		const rough = scene.land === 'mountains' && layer < 3;
		const line = ridge(
			random,
			unit * (rough ? 0.3 - share * 0.2 : 0.12 - share * 0.06),
			unit,
			rough,
		);
		const color = mix(far, near, share);
		const edge = (x: number) => base + line(x);
		if (scene.land === 'city' && layer > 0 && layer < 4)
			paintTowers(canvas, scene, random, base, color);
		canvas.ground(edge, color, mix(color, far, 0.28));
		if (rough && layer < 2) {
			const snow = mix([255, 255, 255], far, 0.2 + layer * 0.15);
			paintCaps(canvas, edge, unit, base - unit * 0.07, snow);
		}
		const wooded = scene.land === 'forest' ? layer > 0 : layer === 3 && scene.land !== 'city';
		if (wooded && layer < 4)
			paintTrees(canvas, random, edge, unit * (0.05 + share * 0.09), mix(color, [8, 20, 24], 0.3));
	}
	return height * (horizon + 0.24);
}

export function landColor({ hour, hue, snow, land }: Scene): Color {
	if (snow) return hour === 'night' ? hsl(220, 0.3, 0.55) : hsl(214, 0.45, 0.9);
	const lightness = { day: 0.32, dawn: 0.27, dusk: 0.15, night: 0.08 }[hour];
	return hsl(land === 'forest' ? 140 + hue / 9 : hue, hour === 'day' ? 0.36 : 0.32, lightness);
}

/** A line of hills, as offsets in pixels; a rough one has peaks. */
export function ridge(
	random: Random,
	size: number,
	unit: number,
	rough: boolean,
): (x: number) => number {
	const frequencies = rough ? [0.9, 2.3, 5.1, 11] : [1, 2.1, 4.3];
	const waves = frequencies.map((frequency, octave) => {
		return {
			frequency: frequency * (1 + random() * 0.5),
			phase: random() * 9,
			weight: 0.42 ** octave,
		};
	});
	return (x) => {
		let sum = 0;
		for (const { frequency, phase, weight } of waves) {
			const at = (x / unit) * frequency + phase;
			// A triangle has the peaks of a mountain, a sine the back of a hill.
			const wave = rough ? 4 * Math.abs(at - Math.floor(at) - 0.5) - 1 : Math.sin(at * 3);
			sum += weight * wave;
		}
		return (-sum * size) / 2;
	};
}

/** Snow on what is high enough, with a ragged lower edge. */
export function paintCaps(
	canvas: Canvas,
	edge: (x: number) => number,
	unit: number,
	line: number,
	snow: Color,
): void {
	const ragged = (x: number) => line + unit * 0.035 * Math.abs((((x / unit) * 18) % 2) - 1);
	canvas.strip(edge, ragged, snow, 0.85);
}

function paintTrees(
	canvas: Canvas,
	random: Random,
	edge: (x: number) => number,
	size: number,
	color: Color,
): void {
	for (let x = -size * random(); x < canvas.width + size; x += size * (0.3 + random() * 0.9)) {
		const tall = size * (0.7 + random() * 0.7);
		const foot = edge(Math.min(canvas.width - 1, Math.max(0, x))) + size * 0.12;
		for (const [top, wide] of [
			[0, 0.17],
			[0.22, 0.23],
			[0.48, 0.3],
		] as const) {
			const lower = foot - tall * (0.62 - top - (top > 0.4 ? 0.14 : 0));
			canvas.polygon(
				[
					[x, foot - tall * (1 - top)],
					[x + tall * wide, lower],
					[x - tall * wide, lower],
				],
				color,
			);
		}
	}
}

function paintTowers(
	canvas: Canvas,
	scene: Scene,
	random: Random,
	base: number,
	color: Color,
): void {
	const unit = Math.min(canvas.width, canvas.height);
	const lit = scene.hour === 'day' ? 0.12 : 0.45;
	for (let x = -unit * 0.05; x < canvas.width; ) {
		const wide = unit * (0.05 + random() * 0.07);
		const top = base - unit * (0.08 + random() ** 2 * 0.3);
		canvas.polygon(
			[
				[x, top],
				[x + wide, top],
				[x + wide, canvas.height],
				[x, canvas.height],
			],
			color,
		);
		if (random() < 0.25)
			canvas.polygon(
				[
					[x + wide * 0.48, top - unit * 0.06],
					[x + wide * 0.54, top],
					[x + wide * 0.42, top],
				],
				color,
			);
		const pane = unit * 0.008;
		for (let wy = top + pane * 2; wy < base + unit * 0.06; wy += pane * 2.6) {
			for (let wx = x + pane * 1.2; wx < x + wide - pane * 1.6; wx += pane * 2.2) {
				if (random() > lit) continue;
				const light =
					scene.hour === 'day' ? mix(color, [255, 255, 255], 0.5) : ([255, 214, 130] as const);
				canvas.polygon(
					[
						[wx, wy],
						[wx + pane, wy],
						[wx + pane, wy + pane * 1.4],
						[wx, wy + pane * 1.4],
					],
					light,
					0.85,
				);
			}
		}
		x += wide + unit * 0.004;
	}
}
