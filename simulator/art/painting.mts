import { Canvas, type Point } from './canvas.mjs';
import { mix } from './color.mjs';
import type { DrawingContext } from './drawing-context.mjs';
import { landColor, paintLand } from './land.mjs';
import { readScene } from './scene.mjs';
import { paintSea } from './sea.mjs';
import { hash, seeded } from '../seed.mjs';
import { paintBirds, paintSky, paintSnowfall } from './sky.mjs';
import { draw } from './subjects.mjs';

/**
 * Paints a picture from a prompt: a sky, a land and what the prompt speaks of. The same prompt,
 * index and size give the same picture, another index another view.
 */
export function paint(prompt: string, index: number, width: number, height: number): Canvas {
	const canvas = new Canvas(width, height);
	compose(prompt, index, canvas, canvas);
	return canvas;
}

/** What a prompt speaks of, as `paint` paints it in the same place, with nothing behind it. */
export function cutOut(prompt: string, index: number, width: number, height: number): Canvas {
	const front = new Canvas(width, height);
	compose(prompt, index, new Canvas(width, height), front);
	return front;
}

/** Paints a picture, and what it speaks of on another canvas than what is behind it, if wanted. */
function compose(prompt: string, index: number, canvas: Canvas, front: Canvas): void {
	const { width, height } = canvas;
	const random = seeded(hash(`${prompt}\n${index}`));
	const scene = readScene(prompt, random);
	const low = scene.hour === 'day' || scene.hour === 'night' ? 0.12 : 0.34;
	const sun: Point = [width * (0.15 + random() * 0.7), height * (low + random() * 0.16)];
	const context: DrawingContext = { canvas, scene, random, unit: Math.min(width, height), sun };

	paintSky(context);
	const ground = scene.land === 'sea' ? paintSea(context) : paintLand(context);
	paintSubject({ ...context, canvas: front }, ground);
	if (scene.snow) paintSnowfall(canvas, random);
}

function paintSubject({ canvas, scene, random, unit, sun }: DrawingContext, ground: number): void {
	const { subject, hour } = scene;
	const { width, height } = canvas;
	// On the other side than the sun, so that neither hides the other.
	const side = sun[0] > width / 2 ? 0.36 : 0.64;
	const x = width * (side + (random() - 0.5) * 0.16);
	if (subject === undefined) {
		paintBirds(canvas, random, unit, [width - sun[0], height * 0.28], hour === 'night');
		return;
	}
	const size = unit * subject.height;
	const foot = subject.place === 'sky' ? height * 0.14 + size : ground;
	if (subject.place === 'land' && scene.land === 'sea') {
		const rock = mix(landColor(scene), [30, 28, 40], 0.5);
		canvas.lens([x - size * 0.75, foot + size * 0.06], size * 1.5, size * 0.16, rock);
	} else if (subject.place === 'land') {
		canvas.lens([x - size * 0.45, foot], size * 0.95, size * 0.05, [10, 12, 24], 0.3);
	}
	const share = { day: 0, dawn: 0.1, dusk: 0.25, night: 0.38 }[hour];
	draw(canvas, subject, [x, foot], size, scene.tint, { color: scene.sky[0]!, share });
}
