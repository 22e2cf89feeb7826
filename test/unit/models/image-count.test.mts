import { countImages, countsImages } from '../../../gateway/models/imageCount.js';

test.each([
	...['n', 'num_images', 'num-images', 'numImages', 'numberOfImages', 'number_of_images'],
	...['max_images', 'batch_size', 'batchCount', 'n_iter', 'sampleCount', 'num_outputs'],
	...[
		'image_count',
		'images',
		'samples',
		'num_images_per_prompt',
		'output_image_count',
		'N_Images',
	],
	...[
		'candidate_count',
		'outputs',
		'numberResults',
		'total_images',
		'quantity',
		'variations',
		...['img_num', 'num_variants', 'num_generations', 'picture_count', 'num_output_images'],
		...['max_num_images', 'max_images_per_prompt', 'max_candidates'],
	],
])('%s counts images', (name) => {
	expect(countsImages(name)).toBe(true);
});

test.each([
	...['num_inference_steps', 'image_size', 'max_size', 'max_image', 'max_image_size', 'max_tokens'],
	...['max_input_images', 'num_reference_images', 'image_strength', 'size', 'seed', 'steps', ''],
	...[
		'output_format',
		'number_of_steps',
		'output_quality',
		'image',
		'total',
		'数量',
		'-'.repeat(1e6),
	],
])('%.40s counts none', (name) => {
	expect(countsImages(name)).toBe(false);
});

const images = (count: number, isLimit = false) => ({ images: count, isLimit });
const unclear = (...names: string[]) => ({ unclear: names });

test.each([
	[{}, {}, images(1)],
	[{ n: 3 }, {}, images(3)],
	[{ outputs: 4 }, { outputs: [] }, images(4)],
	[{ n: '3' }, {}, images(3)],
	[{ num_images: 4 }, { num_images: [1, 2, 4] }, images(4)],
	[{ num_images: '4' }, { num_images: [] }, images(4)],
	[{ num_images: 4 }, { num_images: ['1', '4'] }, images(4)],
	[{ max_images: 4 }, { max_images: [] }, images(4, true)],
	[{ n: 1, batch_size: 4 }, { batch_size: [] }, images(4)],
	[{ n: 3 }, { num_images: [1, 2, 4] }, images(3)],
	// The model's own number holds where the parameter isn't sent.
	[{}, { num_images: [1, 4] }, images(1)],
	[{}, { num_images: [4] }, images(4)],
	[{}, { num_images: [2, 4] }, unclear('num_images')],
	[{}, { num_images: [] }, images(1)],
	// They may multiply, or one may win.
	[{ n: 2, batch_size: 4 }, { batch_size: [] }, unclear('n', 'batch_size')],
	[{ batch_size: 2, n_iter: 2 }, { batch_size: [], n_iter: [] }, unclear('batch_size', 'n_iter')],
	// A parameter that isn't published may be ignored.
	[{ num_images: 4 }, {}, unclear('num_images')],
	[{ num_images: 1 }, {}, images(1)],
	[{ constructor: 4, num_images: 2 }, { num_images: [] }, images(2)],
	...[0, -1, 1.5, Infinity, 1e300].map(
		(odd) => [{ max_images: odd }, { max_images: [] }, unclear('max_images')] as const,
	),
	[{ max_images: 'auto' }, { max_images: [1, 4, 'auto'] }, unclear('max_images')],
	// No numbers, so no number of images.
	[{ samples: 'euler' }, { samples: ['euler', 'dpm'] }, images(1)],
	[{ batch: true }, { batch: [true, false] }, images(1)],
	[{ images: ['a.png', 'b.png'], outputs: { n: 1 } }, {}, images(1)],
	[{ images: 'https://h.example/a.png' }, { images: [] }, images(1)],
])('a request with %j for a model that publishes %j', (parameters, published, expected) => {
	expect(countImages(parameters, published)).toEqual(expected);
});
