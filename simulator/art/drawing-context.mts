import type { Canvas, Point } from './canvas.mjs';
import type { Scene } from './scene.mjs';
import type { Random } from '../seed.mjs';

/** Where the sky ends, in shares of the height. */
export const horizon = 0.62;

/** What the parts of a picture need to be painted. */
export interface DrawingContext {
	canvas: Canvas;
	scene: Scene;
	random: Random;
	/** Pixels of the shorter edge: the measure of all sizes. */
	unit: number;
	sun: Point;
}

/** A shape that is thickest in the middle and runs out to both sides. */
export function lens(left: number, top: number, width: number, thick: number): Point[] {
	const steps = 12;
	const upper = Array.from({ length: steps + 1 }, (_, step): Point => {
		const at = step / steps;
		return [left + at * width, top - thick * Math.sin(at * Math.PI)];
	});
	const lower = upper.map(([x, y]): Point => [x, top + (top - y) * 0.55]).reverse();
	return [...upper, ...lower];
}
