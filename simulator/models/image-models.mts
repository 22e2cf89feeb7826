import { json, refusal, type GatewayResponse } from '../http/gateway-response.mjs';
import type { MediaModel } from './default-models.mjs';

/** The same models in the form of OpenRouter's Image API (docs/protocol.md, "OpenRouter's Image API"). */

type Descriptor = { type: 'enum'; values: unknown[] } | { type: 'range'; min: number; max: number };

/** `GET /v1/images/models`. */
export function listImageModels(models: readonly MediaModel[], root: string): GatewayResponse {
	const images = models.filter(({ media_type }) => media_type === 'image');
	return json({
		data: images.map((model) => ({
			id: model.model,
			name: model.model,
			description: model.note,
			created: 0,
			architecture: { input_modalities: inputsOf(model), output_modalities: ['image'] },
			supported_parameters: parametersOf(model),
			supports_streaming: false,
			endpoints: `${root}/images/models/${encodeURI(model.model)}/endpoints`,
		})),
	});
}

/** `GET /v1/images/models/{id}/endpoints`: two endpoints, of which one is a fifth cheaper. */
export function endpointsOf(models: readonly MediaModel[], name: string): GatewayResponse {
	const model = models.find((one) => one.model === name);
	if (model === undefined) throw refusal(404, `model ${name} is not published`);
	const { unit = 'image', mode, value = 0 } = model.billing ?? {};
	const endpoints = [1, 0.8].map((factor, index) => ({
		provider_name: `Provider ${index + 1}`,
		provider_slug: `provider-${index + 1}`,
		provider_tag: null,
		supported_parameters: parametersOf(model),
		allowed_passthrough_parameters: [],
		supports_streaming: false,
		pricing:
			mode === 'price'
				? [{ billable: 'output_image', unit, cost_usd: Number((value * factor).toFixed(6)) }]
				: [{ billable: 'output_image', unit: 'token', cost_usd: 0.00003 }],
	}));
	return json({ id: name, endpoints });
}

const takes = ({ modes }: MediaModel, mode: string): boolean => modes?.includes(mode) ?? true;

const inputsOf = (model: MediaModel): string[] => [
	...(takes(model, 'text_to_image') ? ['text'] : []),
	...(takes(model, 'image_edit') ? ['image'] : []),
];

function parametersOf(model: MediaModel): Record<string, Descriptor | { type: 'boolean' }> {
	const { parameters = {}, inputs } = model;
	const described = Object.entries(parameters).map(([name, values]): [string, Descriptor] => {
		const most = Math.max(...values.map(Number));
		const isRange = name === 'n';
		return [name, isRange ? { type: 'range', min: 1, max: most } : { type: 'enum', values }];
	});
	const max = inputs?.reference_images?.max_count ?? 16;
	return {
		...Object.fromEntries(described),
		...(takes(model, 'image_edit') && { input_references: { type: 'range', min: 0, max } }),
		aspect_ratio: { type: 'enum', values: ['1:1', '16:9', '9:16', '4:3'] },
		output_format: { type: 'enum', values: ['png'] },
		output_compression: { type: 'range', min: 0, max: 100 },
		seed: { type: 'boolean' },
	};
}
