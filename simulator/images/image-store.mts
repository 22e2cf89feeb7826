import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { refusal, type GatewayResponse } from '../http/gateway-response.mjs';
import type { Order } from './request-checks.mjs';
import type { GatewayOptions } from '../gateway-options.mjs';
import { padded, paddingOf } from './padding.mjs';
import { sceneIn, withScene } from './scene-mark.mjs';
import { caption } from '../art/caption.mjs';
import { cutOut, paint, removesBackground, retouch } from '../art/painting.mjs';

/** What a picture is drawn from; nothing is drawn before someone downloads it. */
interface Recipe {
	prompt: string;
	index: number;
	width: number;
	height: number;
	/** sha256 of the uploaded picture, for an edit. */
	source: string | undefined;
}

const keptRecipes = 400_000;
const keptDrawnBytes = 64 * 1024 * 1024;
const keptSourceBytes = 256 * 1024 * 1024;
const biggestEdge = 2048;

/** The pictures of the gateway: recipes by ID, and the last drawn ones. */
export class ImageStore {
	private readonly recipes = new Map<string, Recipe>();
	private readonly drawn = new Recent(keptDrawnBytes);
	private readonly sources = new Recent(keptSourceBytes);

	constructor(private readonly options: GatewayOptions) {}

	/** Notes the pictures of an accepted request; gives their paths. */
	order(order: Order, source?: { sha256: string; bytes: Buffer | undefined }): string[] {
		if (source?.bytes) this.sources.put(source.sha256, source.bytes);
		const [width, height] = this.edges(order.parameters);
		return Array.from({ length: order.count }, (_, index) => {
			const id = randomBytes(12).toString('hex');
			const { prompt } = order;
			this.recipes.set(id, { prompt, index, width, height, source: source?.sha256 });
			if (this.recipes.size > keptRecipes) this.recipes.delete(this.recipes.keys().next().value!);
			return `/images/${id}.png`;
		});
	}

	/** The prompt of a picture, for faults that look at it. */
	prompt(id: string): string {
		return this.recipes.get(id)?.prompt ?? '';
	}

	/** The PNG of a picture, drawn now or found among the last ones. */
	async respond(id: string): Promise<GatewayResponse> {
		const recipe = this.recipes.get(id);
		if (recipe === undefined) throw refusal(404, 'image does not exist');
		const key = JSON.stringify(recipe);
		let png = this.drawn.get(key);
		if (png === undefined) {
			png = await this.draw(recipe);
			this.drawn.put(key, png);
		}
		const padding = paddingOf(png, this.options.imageBytes);
		return {
			status: 200,
			type: 'image/png',
			body: padding > 0 ? Readable.from(padded(png, padding)) : png,
			headers: { 'content-length': String(png.length + padding) },
		};
	}

	reset(): void {
		this.recipes.clear();
	}

	private async draw(recipe: Recipe): Promise<Buffer> {
		const { prompt, index, width, height, source } = recipe;
		const scene = source === undefined ? undefined : sceneIn(this.sources.get(source));
		if (scene !== undefined && removesBackground(prompt)) {
			const edges = [clamped(scene.width), clamped(scene.height)] as const;
			return cutOut(scene.prompt, scene.index, ...edges).toBuffer('image/png');
		}
		const original = source === undefined ? undefined : this.sources.get(source);
		const changed = original && (await retouch(original, prompt, index));
		const canvas = changed ?? paint(prompt, index, width, height);
		caption(canvas, prompt);
		const png = canvas.toBuffer('image/png');
		return changed === undefined ? withScene(png, recipe) : png;
	}

	/** Pixels of width and height, by `size` (`1536x1024`) or `ratio` (`16:9`). */
	private edges(parameters: Record<string, unknown>): [number, number] {
		const edge = this.options.imageSize ?? 512;
		const size = /^(\d+)x(\d+)$/.exec(String(parameters.size));
		const ratio = /^(\d+):(\d+)$/.exec(String(parameters.ratio ?? parameters.aspect_ratio));
		const [width, height] = size
			? [Number(size[1]), Number(size[2])]
			: ratio
				? scaled(Number(ratio[1]), Number(ratio[2]), edge)
				: [edge, edge];
		return [clamped(width), clamped(height)];
	}
}

const clamped = (pixels: number): number => Math.min(biggestEdge, Math.max(32, Math.round(pixels)));

function scaled(width: number, height: number, edge: number): [number, number] {
	const factor = edge / Math.max(width, height, 1);
	return [width * factor, height * factor];
}

/** Buffers by name; the one not asked for longest goes first. */
class Recent {
	private readonly buffers = new Map<string, Buffer>();
	private bytes = 0;

	constructor(private readonly limit: number) {}

	get(name: string): Buffer | undefined {
		const found = this.buffers.get(name);
		if (found === undefined) return undefined;
		this.buffers.delete(name);
		this.buffers.set(name, found);
		return found;
	}

	put(name: string, buffer: Buffer): void {
		if (this.get(name) !== undefined) return;
		this.buffers.set(name, buffer);
		this.bytes += buffer.length;
		for (const [oldest, { length }] of this.buffers) {
			if (this.bytes <= this.limit) break;
			this.buffers.delete(oldest);
			this.bytes -= length;
		}
	}
}
