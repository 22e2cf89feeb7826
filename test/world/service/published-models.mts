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

/** Of the parameters in OpenRouter's form, those that count images. */
const COUNTS = ['n', 'num_images', 'batch_size'].map((name) => [
	name,
	{ type: 'range', min: 1, max: 4 },
]);

const endpointsOf = (model: string) => `/v1/images/models/${model}/endpoints`;

/** The list of OpenRouter's Image API, without what makes no images, or the prices of one model. */
function listedByRouter(path: string): Delivery {
	const images = RECORDS.filter(({ media_type: type }) => type === 'image');
	const asked = images.find(({ model }) => path === endpointsOf(model));
	if (asked !== undefined) {
		const unit = PRICE.has(asked.model) ? 'image' : 'token';
		const price = { billable: 'output_image', unit, cost_usd: PRICE.get(asked.model) ?? 0.00003 };
		return deliverJson({ id: asked.model, endpoints: [{ pricing: [price] }] });
	}
	const data = images.map(({ model }) => ({
		id: model,
		architecture: { input_modalities: ['text', 'image'] },
		supported_parameters: Object.fromEntries([
			...COUNTS,
			['size', { type: 'enum', values: ['1024x1024', '512x512'] }],
			['input_references', { type: 'range', min: 0, max: 4 }],
		]) as object,
		endpoints: endpointsOf(model),
	}));
	return deliverJson({ data });
}

/** Answers a request for all models, or for one of them. */
export function listed(path: string): Delivery {
	if (path.startsWith('/v1/images/')) return listedByRouter(path);
	const name = path.split('/')[4];
	const data = RECORDS.find(({ model }) => model === decodeURIComponent(name ?? ''));
	if (name !== undefined && data === undefined) {
		return deliverJson({ success: false, message: 'no such model' }, 404);
	}
	const all = { items: RECORDS, total: RECORDS.length };
	const answer = { success: true, data: data ?? all };
	return deliverJson(answer);
}
