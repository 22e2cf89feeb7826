import type { IDataObject } from 'n8n-workflow';
import { errorFor } from '../../gateway/errors/errorMessages';
import { withoutDataUrls, withoutInlineImages } from '../../gateway/util/inlineImages';
import { isJsonObject, nonEmptyString, type JsonObject } from '../../gateway/util/json';
import {
	planModel,
	planModelList,
	readModelList,
	type ListingFormat,
	type ModelRecord,
} from '../../gateway/protocol/models';
import type { HttpResponse } from '../../gateway/protocol/outcome';
import { didYouMean } from '../../gateway/util/closestMatch';
import { GatewayError } from '../../gateway/util/gatewayError';
import { requestListing } from '../shared/models/modelCache';
import type { Run } from '../shared/run/runContext';

/** The filters of "Get Many"; an empty one matches all models. */
export interface ModelFilters {
	mediaType?: string;
	mode?: string;
	generationMode?: string;
}

/**
 * The published models as items, unchanged; with JSONC one item with the text.
 *
 * @param wanted the filters and the limit
 */
export async function getModels(
	run: Run,
	wanted: { filters: ModelFilters; limit: number },
	format: ListingFormat,
): Promise<IDataObject[]> {
	const response = await requestListing(run, planModelList(format));
	if (format === 'jsonc') return [textOf(response)];
	return readModelList(response.json)
		.filter((record) => passes(record, wanted.filters))
		.slice(0, wanted.limit)
		.map(({ raw }) => copyOf(raw));
}

/**
 * One published model.
 *
 * @throws GatewayError that suggests similar names if the model isn't published
 */
export async function getModel(
	run: Run,
	model: string,
	format: ListingFormat,
): Promise<IDataObject> {
	const response = await requestListing(run, planModel(model, format)).catch(
		async (error: unknown) => {
			const isNotFound = error instanceof GatewayError && error.problem.httpCode === 404;
			return await Promise.reject(isNotFound ? await notPublished(run, model) : error);
		},
	);
	if (format === 'jsonc') return textOf(response);
	const record = isJsonObject(response.json) ? response.json.data : undefined;
	if (!isJsonObject(record)) throw errorFor(planModel(model), { ...response, json: undefined });
	return copyOf(record);
}

/** A copy, because a later node may change its items. */
const copyOf = (record: JsonObject): IDataObject =>
	structuredClone(withoutInlineImages(record)) as IDataObject;

async function notPublished(run: Run, model: string): Promise<GatewayError> {
	const published = await requestListing(run, planModelList()).then(
		({ json }) => readModelList(json).map((record) => record.model),
		() => [],
	);
	const near = didYouMean(model, published);
	return new GatewayError({
		message: `The gateway has no model '${model}' (404)`,
		description: `It may be disabled, or its name misspelled. ${near || "'Get Many' lists the available models."}`,
		httpCode: 404,
	});
}

function passes(record: ModelRecord, { mediaType, mode, generationMode }: ModelFilters): boolean {
	/** Whether a filter matches, in any case; an empty one matches everything. */
	const isAmong = (wanted: unknown, values: Array<string | undefined> = []): boolean => {
		const word = nonEmptyString(wanted)?.trim().toLowerCase();
		return word === undefined || values.some((value) => value?.toLowerCase() === word);
	};
	return (
		isAmong(mediaType, [record.mediaType]) &&
		isAmong(mode, record.modes) &&
		isAmong(generationMode, record.generationModes)
	);
}

/** The commented form is returned as text, unchanged. */
const textOf = ({ text }: HttpResponse): IDataObject => ({
	format: 'jsonc',
	text: withoutDataUrls(text),
});
