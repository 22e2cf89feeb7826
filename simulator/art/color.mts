/** Red, green and blue, 0..255. */
export type Color = readonly [red: number, green: number, blue: number];

/** From one color (0) to the other (1). */
export function mix(from: Color, to: Color, share: number): Color {
	return [
		from[0] + (to[0] - from[0]) * share,
		from[1] + (to[1] - from[1]) * share,
		from[2] + (to[2] - from[2]) * share,
	];
}

/** Hue in degrees, saturation and lightness 0..1. */
export function hsl(hue: number, saturation: number, lightness: number): Color {
	const reach = saturation * Math.min(lightness, 1 - lightness);
	const channel = (offset: number) => {
		const k = (((offset + hue / 30) % 12) + 12) % 12;
		return 255 * (lightness - reach * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
	};
	return [channel(0), channel(8), channel(4)];
}

/** The color as the drawing library wants it; `alpha` 0..1. */
export function css([red, green, blue]: Color, alpha = 1): string {
	const opacity = Math.round(alpha * 1000) / 1000;
	return `rgba(${Math.round(red)},${Math.round(green)},${Math.round(blue)},${opacity})`;
}
