/** What the gateway of a world publishes. */
import { deliverJson, type Delivery } from '../wire/messages.mjs';
import type { Charge } from './books.mjs';
import type { ServiceSetup } from './service-setup.mjs';

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
		parameters: { size: ['1024x1024', '512x512'], n: [1, 2, 3, 4] },
		inputs: { reference_images: { max_count: 4, max_size_mb: 10, formats: ['png', 'jpeg'] } },
		billing: { unit: 'image', mode: 'price', value: 0.04 },
	},
	{ model: 'borealis', ...IMAGE_MODES, billing: { unit: 'request', mode: 'ratio', value: 2 } },
	{ model: 'cinema', media_type: 'video', modes: ['text_to_video'], generation_modes: ['async'] },
];

type Unit = Pick<ServiceSetup, 'isPricedByRequest'>;

/** What is listed: models with a price may have it by the request. */
const recordsOf = ({ isPricedByRequest }: Unit): Model[] =>
	RECORDS.map(({ billing, ...model }) => {
		const isOther = isPricedByRequest === true && billing?.mode === 'price';
		return {
			...model,
			...(billing && { billing: isOther ? { ...billing, unit: 'request' } : billing }),
		};
	});

/** Of an image, or of a request, by the model; those that publish none are left out. */
export const PRICE = new Map([['aurora-image-1', 0.04]]);
export const MODELS = new Set(RECORDS.map(({ model }) => model));

/** What a request for so many images costs; undefined: its model publishes no price. */
export function costOf(model: string, images: number, unit: Unit): number | undefined {
	const price = PRICE.get(model);
	return price && price * (unit.isPricedByRequest === true ? 1 : images);
}

/** What was charged for: whether images count as asked for or as they came is the gateway's affair. */
export function costsOf({ model, count, images }: Charge, unit: Unit): Charge['cost'] {
	const [asked, came] = [count, images.length].map((one) => costOf(model, one, unit));
	if (asked === undefined || came === undefined) return undefined;
	return { least: Math.min(asked, came), most: Math.max(asked, came) };
}

/** Answers a request for all models, or for one of them. */
export function listed(path: string, unit: Unit): Delivery {
	const name = path.split('/')[4];
	const items = recordsOf(unit);
	const data = items.find(({ model }) => model === decodeURIComponent(name ?? ''));
	if (name !== undefined && data === undefined) {
		return deliverJson({ success: false, message: 'no such model' }, 404);
	}
	const all = { items, total: items.length };
	const answer = { success: true, data: data ?? all };
	return deliverJson(answer);
}
