/** What the gateway of a world publishes. */
import { deliver, deliverJson, type Delivery } from '../wire/messages.mjs';

const IMAGE_MODES = {
	media_type: 'image',
	modes: ['text_to_image', 'image_edit'],
	generation_modes: ['sync', 'async'],
};

export const RECORDS = [
	{
		model: 'aurora-image-1',
		...IMAGE_MODES,
		parameters: { size: ['1024x1024', '512x512'], n: [1, 2, 3, 4] },
		inputs: { reference_images: { max_count: 4, max_size_mb: 10, formats: ['png', 'jpeg'] } },
		billing: { unit: 'image', mode: 'price', value: 0.04 },
	},
	{ model: 'borealis', ...IMAGE_MODES, billing: { unit: 'request', mode: 'ratio', value: 2 } },
	{ model: 'cinema', media_type: 'video', modes: ['text_to_video'], generation_modes: ['async'] },
];

/** Of an image, by the model; those that publish none are left out. */
export const PRICE = new Map([['aurora-image-1', 0.04]]);
export const MODELS = new Set(RECORDS.map(({ model }) => model));
const LISTING = { success: true, data: { items: RECORDS, total: RECORDS.length } };

/** Answers a request for all models, or for one of them. */
export function listed(path: string, accept = ''): Delivery {
	const name = path.split('/')[4];
	const data = RECORDS.find(({ model }) => model === decodeURIComponent(name ?? ''));
	if (name !== undefined && data === undefined) {
		return deliverJson({ success: false, message: 'no such model' }, 404);
	}
	const answer = data === undefined ? LISTING : { success: true, data };
	if (accept !== 'application/jsonc') return deliverJson(answer);
	return deliver(200, commented(name), { 'content-type': accept });
}

/** The same for people. */
export const commented = (name = 'all'): string => `// Of ${name}.\n{ "success": true }`;
