import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Bitmap, Canvas, Point } from './canvas.mjs';
import { decode } from './decoding.mjs';

/** Where a letter lies on its page, and how it is set; all in pixels. */
interface Glyph {
	x: number;
	y: number;
	width: number;
	height: number;
	xoffset: number;
	yoffset: number;
	xadvance: number;
}

/**
 * A font of white letters drawn on one page, described by an XML file (BMFont). jimp reads such
 * files too, but by a dynamic import, which a test under jest cannot do.
 */
export class Lettering {
	private constructor(
		private readonly page: Bitmap,
		private readonly glyphs: ReadonlyMap<string, Glyph>,
	) {}

	/** Reads a font file and the page it names. */
	static async load(path: string): Promise<Lettering> {
		const text = await readFile(path, 'utf8');
		const file = /file="([^"]+)"/.exec(text)?.[1];
		if (file === undefined) throw new Error(`${path} names no page`);
		const page = await decode(await readFile(join(dirname(path), file)));
		const lines = text.split('\n').filter((line) => line.includes('<char '));
		const glyphs = lines.map((line): [string, Glyph] => {
			const pairs = [...line.matchAll(/(\w+)="(-?\d+)"/g)];
			const { id, ...glyph } = Object.fromEntries(
				pairs.map(([, name, value]) => [name, Number(value)]),
			) as unknown as Glyph & { id: number };
			return [String.fromCodePoint(id), glyph];
		});
		return new Lettering(page, new Map(glyphs));
	}

	/** The text without the characters that the font does not have, its blanks made single. */
	known(text: string): string {
		const characters = [...text.replace(/\s+/g, ' ')];
		return characters.filter((character) => this.glyphs.has(character)).join('');
	}

	width(text: string): number {
		return [...text].reduce(
			(sum, character) => sum + (this.glyphs.get(character)?.xadvance ?? 0),
			0,
		);
	}

	/** Writes a text in white; `at` is its upper left corner. */
	write(canvas: Canvas, [left, top]: Point, text: string): void {
		let pen = left;
		for (const character of text) {
			const glyph = this.glyphs.get(character);
			if (glyph === undefined) continue;
			for (let y = 0; y < glyph.height; y += 1) {
				for (let x = 0; x < glyph.width; x += 1) {
					const alpha = this.page.data[((glyph.y + y) * this.page.width + glyph.x + x) * 4 + 3]!;
					const [toX, toY] = [pen + glyph.xoffset + x, top + glyph.yoffset + y];
					canvas.blend(toX, toY, [255, 255, 255], alpha / 255);
				}
			}
			pen += glyph.xadvance;
		}
	}
}
