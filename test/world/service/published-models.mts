/** What the gateway of a world publishes. */
import { deliverJson, type Delivery } from '../wire/messages.mjs';

const IMAGE_MODES = {
	media_type: 'image',
	modes: ['text_to_image', 'image_edit'],
	generation_modes: ['sync', 'async'],
};

interface Model extends Record<string, unknown> {
	model: string;
	billing?: { unit: string; mode: string; value: number };
}

const RECORDS: Model[] = [
	{
		model: 'aurora-image-1',
		...IMAGE_MODES,
		parameters: {
			size: ['1024x1024', '512x512'],
			n: [1, 2, 3, 4],
			num_images: [1, 2, 3, 4],
			batch_size: [1, 2, 3, 4],
		},
		inputs: { reference_images: { max_count: 4, max_size_mb: 10, formats: ['png', 'jpeg'] } },
		billing: { unit: 'image', mode: 'price', value: 0.04 },
	},
	{ model: 'borealis', ...IMAGE_MODES, billing: { unit: 'request', mode: 'ratio', value: 2 } },
	{ model: 'cinema', media_type: 'video', modes: ['text_to_video'], generation_modes: ['async'] },
];

/** Of an image, by the model; those that publish none are left out. */
export const PRICE = new Map([['aurora-image-1', 0.04]]);
export const MODELS = new Set(RECORDS.map(({ model }) => model));

/** What a request for so many images costs; undefined: its model publishes no price. */
export function costOf(model: string, images: number): number | undefined {
	const price = PRICE.get(model);
	return price && price * images;
}

/** Answers a request for all models, or for one of them. */
export function listed(path: string): Delivery {
	const name = path.split('/')[4];
	const data = RECORDS.find(({ model }) => model === decodeURIComponent(name ?? ''));
	if (name !== undefined && data === undefined) {
		return deliverJson({ success: false, message: 'no such model' }, 404);
	}
	const all = { items: RECORDS, total: RECORDS.length };
	const answer = { success: true, data: data ?? all };
	return deliverJson(answer);
}
