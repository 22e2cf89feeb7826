import { GlobalFonts, type Canvas } from '@napi-rs/canvas';
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Smaller pictures have no room for words. */
const LEAST_EDGE = 160;

const SCRIPTS = ['latin', 'latin-ext', 'greek', 'cyrillic'];

let families: string | undefined;

/** Writes a caption on a dark band at the foot of a picture, if there is room for one. */
export function caption(canvas: Canvas, text: string): void {
	const { width, height } = canvas;
	if (Math.min(width, height) < LEAST_EDGE) return;
	const large = Math.min(width, height) >= 1000;
	const [margin, band, size] = large ? [28, 64, 32] : [14, 32, 16];
	const font = `${size}px ${(families ??= loadFonts())}`;
	const context = canvas.getContext('2d');
	context.fillStyle = '#141420';
	context.fillRect(0, height - band, width, band);
	context.fillStyle = 'white';
	context.font = font;
	// A longer text is drawn narrower, down to what can just be read.
	const words = text.slice(0, 90).replace(/\s+/g, ' ').trim();
	context.fillText(words, margin, height - band / 2 + size * 0.35, width - 2 * margin);
}

/**
 * Loads the font that is installed with the package: those of the machine differ, and there may be
 * none. Each script is a file of its own.
 * @returns the names of the families, one standing in for the other
 */
function loadFonts(): string {
	const folder = join(
		dirname(createRequire(import.meta.url).resolve('@fontsource/roboto/package.json')),
		'files',
	);
	const present = new Set(readdirSync(folder));
	return SCRIPTS.filter((script) => present.has(`roboto-${script}-400-normal.woff2`))
		.map((script) => {
			const family = `Caption ${script}`;
			GlobalFonts.registerFromPath(join(folder, `roboto-${script}-400-normal.woff2`), family);
			return `"${family}"`;
		})
		.join(', ');
}
