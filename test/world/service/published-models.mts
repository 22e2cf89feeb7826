/** What the gateway of a world publishes. */

const IMAGE_MODES = {
	media_type: 'image',
	modes: ['text_to_image', 'image_edit'],
	generation_modes: ['sync', 'async'],
};

const RECORDS = [
	{
		model: 'aurora-image-1',
		...IMAGE_MODES,
		parameters: { size: ['1024x1024', '512x512'], n: [1, 2, 3, 4] },
		inputs: { reference_images: { max_count: 4, max_size_mb: 10, formats: ['png', 'jpeg'] } },
		billing: { unit: 'image', mode: 'price', value: 0.04 },
	},
	{ model: 'borealis', ...IMAGE_MODES, billing: { unit: 'request', mode: 'ratio', value: 2 } },
];

export const MODELS = new Set(RECORDS.map(({ model }) => model));
export const LISTING = { success: true, data: { items: RECORDS, total: RECORDS.length } };
