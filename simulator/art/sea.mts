import { hsl, mix, type Color } from './color.mjs';
import { horizon, type DrawingContext } from './drawing-context.mjs';
import { landColor, paintCaps, ridge } from './land.mjs';

export function paintSea(context: DrawingContext): number {
	const { canvas, scene, random, unit, sun } = context;
	const { height, width } = canvas;
	const line = height * horizon;
	const deep =
		scene.hour === 'night' ? hsl(222, 0.55, 0.09) : mix(scene.sky[0]!, hsl(205, 0.6, 0.2), 0.55);
	paintShore(context, line, mix(scene.sky[2]!, landColor(scene), 0.45));
	canvas.ground(() => line, mix(scene.sky[2]!, deep, 0.25), deep);
	const shine: Color =
		scene.hour === 'night' ? [205, 215, 245] : mix(scene.sky[2]!, [255, 255, 255], 0.7);
	for (let wave = 0; wave < 150; wave += 1) {
		const depth = random() ** 1.4;
		const y = line + 2 + depth * (height - line);
		const long = unit * (0.02 + depth * 0.1) * (0.5 + random());
		// Every other one lies in the road of light under the sun.
		const inRoad = wave % 2 === 0;
		const x = inRoad ? sun[0] + (random() - 0.5) * unit * (0.08 + depth * 0.3) : random() * width;
		canvas.lens(
			[x - long / 2, y],
			long,
			unit * (0.002 + depth * 0.004),
			shine,
			inRoad ? 0.55 : 0.16,
		);
	}
	return line + height * 0.17;
}

/** What is seen across the water: now and then an island, or the mountains around a lake. */
function paintShore(
	{ canvas, scene, random, unit, sun }: DrawingContext,
	line: number,
	far: Color,
): void {
	const rock = ridge(random, unit * (scene.peaks ? 0.26 : 0.1), unit, true);
	const rise = unit * (scene.peaks ? 0.16 : 0.015);
	const shown = (x: number) => (scene.peaks ? 1 : Math.max(0, Math.sin((x / unit) * 2 + sun[0])));
	const edge = (x: number) => line - rise + rock(x) * shown(x);
	canvas.ground(edge, far, far);
	if (scene.peaks)
		paintCaps(canvas, edge, unit, line - unit * 0.24, mix([255, 255, 255], far, 0.3));
}
