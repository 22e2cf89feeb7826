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
