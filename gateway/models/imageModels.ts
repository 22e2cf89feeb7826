import { finiteNumber, isJsonObject, nonEmptyString, type JsonObject } from '../../util/json';
import { isAllowedValue, MODE_OF, type Billing, type ModelRecord } from './models';

/*
 * The list of OpenRouter's Image API, which NanoGPT has as well, read into the records of the media
 * list (docs/protocol.md, "OpenRouter's Image API").
 */

const objectIn = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});
const listIn = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** Reads the response of `GET /v1/images/models`, without records that have no model name. */
export const readImageModels = (body: unknown): ModelRecord[] =>
	listIn(objectIn(body).data).flatMap((entry) => readImageModel(objectIn(entry)) ?? []);

/** The mode that a model has if it takes an input. */
const MODES = Object.entries({ text: MODE_OF.generation, image: MODE_OF.edit });

function readImageModel(record: JsonObject): ModelRecord | undefined {
	const model = nonEmptyString(record.id)?.trim();
	if (model === undefined) return undefined;
	const { input_references: references, ...others } = objectIn(record.supported_parameters);
	const described = Object.entries(others).map(([name, one]) => [name, objectIn(one)] as const);
	const inputs = objectIn(record.architecture).input_modalities;
	return {
		model,
		mediaType: 'image',
		modes: MODES.flatMap(([input, mode]) => (listIn(inputs).includes(input) ? mode : [])),
		generationModes: ['sync'],
		// A parameter of any other type is supported, and takes any value.
		parameters: Object.fromEntries(
			described.map(([name, { type, values }]) => [
				name,
				type === 'enum' ? listIn(values).filter(isAllowedValue) : [],
			]),
		),
		defaults: Object.fromEntries(described.map(([name, one]) => [name, one.default])),
		ranges: new Map(
			described
				.filter(([, { type }]) => type === 'range')
				.map(([name, { min, max }]) => [name, { min: finiteNumber(min), max: finiteNumber(max) }]),
		),
		referenceImages: { maxCount: finiteNumber(objectIn(references).max) },
		pricesAt: nonEmptyString(record.endpoints),
		note: nonEmptyString(record.description),
		raw: record,
	};
}

/**
 * Reads the prices of a model: the highest of its endpoints and resolutions, because the gateway chooses
 * among them. Undefined if any endpoint has none, or has one by another unit than an image, such as a
 * megapixel or a token.
 */
export function readImagePrice(body: unknown): Billing | undefined {
	const { endpoints = objectIn(objectIn(body).data).endpoints } = objectIn(body);
	const pricings = listIn(endpoints).map((one) => listIn(objectIn(one).pricing).map(objectIn));
	const prices = pricings.flatMap((rows) => {
		const ofImages = rows.filter(({ billable }) => billable === 'output_image');
		const costs = ofImages.map(({ unit, cost_usd: cost }) => (unit === 'image' ? cost : undefined));
		return costs.length === 0 ? NaN : costs.map((cost) => finiteNumber(cost) ?? NaN);
	});
	const value = finiteNumber(prices.reduce((one, other) => Math.max(one, other), -Infinity));
	if (value === undefined) return undefined;
	// The tokens of the prompt count for little.
	const chargesInputs = pricings
		.flat()
		.some(
			({ billable, cost_usd: price }) =>
				billable !== 'output_image' && billable !== 'input_text' && price !== 0,
		);
	return { unit: 'image', mode: 'price', value, currency: 'USD', chargesInputs };
}
