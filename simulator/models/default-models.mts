/** A record of the capability listing (docs/protocol.md, "Model list"); all but the first two may be absent. */
export interface MediaModel {
	model: string;
	media_type: 'image' | 'video';
	modes?: string[];
	generation_modes?: string[];
	parameters?: Record<string, unknown[]>;
	inputs?: {
		reference_images?: {
			max_count?: number;
			max_size_mb?: number;
			formats?: string[];
			source_types?: string[];
		};
		[material: string]: unknown;
	};
	billing?: { unit?: string; mode?: string; value?: number };
	note?: string;
}

/** The listing where the options name no other: each record shows another side of the format. */
export const defaultModels: MediaModel[] = [
	{
		model: 'aurora-image-1',
		media_type: 'image',
		modes: ['text_to_image', 'image_edit'],
		generation_modes: ['sync', 'async'],
		parameters: {
			size: ['512x512', '1024x1024', '1536x1024', '1024x1536'],
			quality: ['standard', 'high'],
			n: [1, 2, 3, 4],
		},
		inputs: {
			reference_images: {
				max_count: 4,
				max_size_mb: 10,
				formats: ['png', 'jpeg', 'webp'],
				source_types: ['url', 'base64'],
			},
		},
		billing: { unit: 'image', mode: 'price', value: 0.04 },
		// The slashes are no comment, as whoever strips comments finds out.
		note: 'Pictures for every purpose; see https://example.com/models//aurora /* really */',
	},
	{
		model: 'aurora-edit-1',
		media_type: 'image',
		modes: ['image_edit'],
		generation_modes: ['sync', 'async'],
		parameters: { strength: [0.25, 0.5, 0.75, 1] },
		inputs: {
			reference_images: {
				max_count: 2,
				max_size_mb: 1.5,
				formats: ['png', 'jpg'],
				source_types: ['base64'],
			},
		},
		billing: { unit: 'request', mode: 'price', value: 0.06 },
	},
	{
		model: 'aurora-studio',
		media_type: 'image',
		modes: ['text_to_image'],
		generation_modes: ['async'],
		parameters: { ratio: ['1:1', '16:9', '9:16', '4:3'], resolution: ['1k', '2k'] },
		billing: { unit: 'request', mode: 'price', value: 0.12 },
		note: 'Asynchronous only',
	},
	{
		model: 'cinema-1',
		media_type: 'video',
		modes: ['text_to_video', 'image_to_video'],
		generation_modes: ['async'],
		parameters: { duration: [5, 10], resolution: ['720p', '1080p'], ratio: ['16:9', '9:16'] },
		inputs: {
			reference_images: { max_count: 1, max_size_mb: 20, formats: ['png', 'jpeg'] },
			reference_videos: { max_count: 1, max_size_mb: 100, formats: ['mp4'] },
		},
		billing: { unit: 'second', mode: 'price', value: 0.1 },
	},
	{ model: 'plain-image', media_type: 'image' },
	{
		model: 'atelier/Schöne Farben 2',
		media_type: 'image',
		modes: ['text_to_image'],
		generation_modes: ['sync', 'async'],
		parameters: { size: ['512x512', '768x512'], style: ['oil', 'watercolor', 'ink'] },
		billing: { unit: 'image', mode: 'ratio', value: 1.5 },
		note: 'Billed as a multiple of the base price',
	},
];
