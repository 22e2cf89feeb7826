import { finiteNumber, isJsonObject, nonEmptyString, type JsonObject } from '../../util/json';
import { asWord } from '../../util/text';
import type { ImageApi } from '../protocol/credential';
import { pathPart, planGet, type FreePlan, type RequestPlan } from '../protocol/requestPlan';

/** An allowed value of a model parameter. */
export type AllowedValue = string | number | boolean;

/** A model in the model list (docs/protocol.md, "Model list"). Only the name is required. */
export interface ModelRecord {
	model: string;
	/** `image` or `video`. */
	mediaType?: string;
	/** For example `text_to_image`, `image_edit`. Undefined if the gateway doesn't say. */
	modes?: string[];
	/** `sync`, `async` or both. Undefined if the gateway doesn't say. */
	generationModes?: string[];
	/** By name, the allowed values; none where any is. */
	parameters: Record<string, AllowedValue[]>;
	/** By name, the values of parameters that aren't sent. */
	defaults?: JsonObject;
	/** The parameters that are numbers within bounds; undefined if the list has no such kind. */
	ranges?: Map<string, NumberRange>;
	referenceImages?: ReferenceLimits;
	billing?: Billing;
	/** The address of its prices, where the list has none. */
	pricesAt?: string;
	/** Why the price there couldn't be read, as a sentence. */
	noPrice?: string;
	note?: string;
	/** The record as the gateway sent it. */
	raw: JsonObject;
	/** Whether the gateway lists only names: nothing else is known about the model. */
	isNameOnly?: boolean;
}

/** Bounds of a number; one that is undefined is open. */
export interface NumberRange {
	min?: number;
	max?: number;
}

/** Limits of the images that an edit starts from. */
export interface ReferenceLimits {
	maxCount?: number;
	/** In MB. The protocol doesn't define MB, so 1,048,576 bytes, the larger meaning, are allowed. */
	maxSizeMb?: number;
	formats?: string[];
	sourceTypes?: string[];
}

export interface Billing {
	/** `request`, `second` or `image`. */
	unit?: string;
	/** `price` is a fixed price, `ratio` a multiplier. */
	mode?: string;
	value?: number;
	/** The unit of the value; most lists name none. */
	currency?: string;
	/** Whether each image that is sent has a price, too. */
	chargesInputs?: boolean;
}

/** The two formats of the model list (docs/protocol.md, "Model list"). */
export type ListingFormat = 'json' | 'jsonc';

const LIST_PATH = '/v1/media/models';
const IMAGE_LIST_PATH = '/v1/images/models';

/**
 * Plans `GET /v1/media/models`, or `/v1/images/models` of OpenRouter's Image API (docs/protocol.md,
 * "Model list"), without a key.
 */
export const planModelList = (
	{ imageApi }: { imageApi?: ImageApi } = {},
	format: ListingFormat = 'json',
): FreePlan => planListing(imageApi === 'openRouter' ? IMAGE_LIST_PATH : LIST_PATH, format);

/**
 * Plans `GET /v1/media/models/{model_name}` (docs/protocol.md, "Model list").
 *
 * @param model the exact name; it is URL-encoded here
 * @throws GatewayError if the name would lead to another path
 */
export function planModel(model: string, format: ListingFormat = 'json'): FreePlan {
	return planListing(`${LIST_PATH}/${pathPart(model, 'model name')}`, format);
}

function planListing(path: string, format: ListingFormat): FreePlan {
	return format === 'jsonc'
		? planGet('listing', path, 'application/jsonc', { format })
		: planGet('listing', path);
}

function strings(value: unknown): string[] | undefined {
	return Array.isArray(value) ? value.flatMap((entry) => nonEmptyString(entry) ?? []) : undefined;
}

const wordsIn = (value: unknown): string[] | undefined => strings(value)?.map(asWord);

const wordIn = (value: unknown): string | undefined => wordsIn([value])?.[0];

export function isAllowedValue(value: unknown): value is AllowedValue {
	return (
		typeof value === 'string' || typeof value === 'boolean' || finiteNumber(value) !== undefined
	);
}

/** Reads one record of the model list; undefined without a model name. */
export function readModel(record: unknown): ModelRecord | undefined {
	if (!isJsonObject(record)) return undefined;
	const model = nonEmptyString(record.model)?.trim();
	if (model === undefined) return undefined;
	const parameters = isJsonObject(record.parameters) ? Object.entries(record.parameters) : [];
	const limits = isJsonObject(record.inputs) ? record.inputs.reference_images : undefined;
	const { billing } = record;
	return {
		model,
		mediaType: wordIn(record.media_type),
		modes: wordsIn(record.modes),
		generationModes: wordsIn(record.generation_modes),
		parameters: Object.fromEntries(
			parameters.map(([name, values]) => [
				name,
				Array.isArray(values) ? values.filter(isAllowedValue) : [],
			]),
		),
		referenceImages: isJsonObject(limits)
			? {
					maxCount: finiteNumber(limits.max_count),
					maxSizeMb: finiteNumber(limits.max_size_mb),
					formats: strings(limits.formats),
					sourceTypes: strings(limits.source_types),
				}
			: undefined,
		billing: isJsonObject(billing)
			? {
					unit: wordIn(billing.unit),
					mode: wordIn(billing.mode),
					value: finiteNumber(billing.value),
					currency: nonEmptyString(billing.currency),
				}
			: undefined,
		note: nonEmptyString(record.note),
		raw: record,
	};
}

const dataIn = (body: unknown): JsonObject | undefined =>
	isJsonObject(body) && isJsonObject(body.data) ? body.data : undefined;

function recordsIn(body: unknown): unknown[] | undefined {
	const items = dataIn(body)?.items;
	return Array.isArray(items) ? items : undefined;
}

/**
 * Whether a response contains what its plan requests: a list of models, one model, or its prices
 * (docs/protocol.md, "Model list").
 */
export function holdsModels({ path }: RequestPlan, body: unknown): boolean {
	const [withoutQuery] = path.split('?');
	if (withoutQuery === IMAGE_LIST_PATH) return isJsonObject(body) && Array.isArray(body.data);
	if (withoutQuery === LIST_PATH) return recordsIn(body) !== undefined;
	return dataIn(body) !== undefined || (isJsonObject(body) && Array.isArray(body.endpoints));
}

/** Reads the response of `GET /v1/media/models`, without records that have no model name. */
export function readModelList(body: unknown): ModelRecord[] {
	return (recordsIn(body) ?? []).flatMap((item) => readModel(item) ?? []);
}

/** The mode in which a model creates images, by the type of their tasks. */
export const MODE_OF = { generation: 'text_to_image', edit: 'image_edit' } as const;

/** Whether a model fits a task mode, or publishes no modes. */
export function suits(record: ModelRecord, mode: string): boolean {
	if (record.mediaType !== undefined && record.mediaType !== 'image') return false;
	return record.modes === undefined || record.modes.length === 0 || record.modes.includes(mode);
}

/**
 * Whether a model generates videos: these are listed, but have no endpoint (docs/protocol.md,
 * "Endpoints").
 */
export function makesVideos({ mediaType, modes = [] }: ModelRecord): boolean {
	if (mediaType !== undefined) return mediaType === 'video';
	return modes.length > 0 && modes.every((mode) => /(^|_)video$/.test(mode));
}
