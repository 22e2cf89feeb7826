import type { IDataObject, INodeExecutionData } from 'n8n-workflow';
import { errorFor } from '../../gateway/errors/errorMessages';
import { withoutDataUrls, withoutInlineImages } from '../../gateway/util/inlineImages';
import { isJsonObject, type JsonObject } from '../../gateway/util/json';
import {
	planModel,
	planModelList,
	readModelList,
	type ListingFormat,
	type ModelRecord,
} from '../../gateway/protocol/models';
import { didYouMean } from '../../gateway/validation/closestMatch';
import { GatewayError } from '../../gateway/util/gatewayError';
import { requestListing, ListingError } from '../shared/methods/modelCache';
import type { Run } from '../shared/run/runContext';

/** What "Get Many" lets through; an empty filter lets everything through. */
export interface ModelFilters {
	mediaType?: string;
	mode?: string;
	generationMode?: string;
}

/**
 * The published models, one item each, as the gateway sent them; as JSONC one item with the text.
 *
 * @param limit how many at the most
 */
export async function getModels(
	run: Run,
	filters: ModelFilters,
	limit: number,
	format: ListingFormat,
	itemIndex: number,
): Promise<INodeExecutionData[]> {
	const response = await requestListing(run, planModelList(format)).catch(rethrown);
	if (format === 'jsonc') return [textItem(response.text, itemIndex)];
	return readModelList(response.json)
		.filter((record) => passes(record, filters))
		.slice(0, limit)
		.map(({ raw }) => ({ json: copyOf(raw), pairedItem: { item: itemIndex } }));
}

/**
 * One published model.
 *
 * @throws GatewayError; where the model is not published, it names the nearest names that are
 */
export async function getModel(
	run: Run,
	model: string,
	format: ListingFormat,
	itemIndex: number,
): Promise<INodeExecutionData> {
	const response = await requestListing(run, planModel(model, format)).catch(
		async (error: unknown) => {
			if (!(error instanceof ListingError) || !isNotFound(error)) return await rethrown(error);
			return await Promise.reject(await notPublished(run, model));
		},
	);
	if (format === 'jsonc') return textItem(response.text, itemIndex);
	const record = isJsonObject(response.json) ? response.json.data : undefined;
	if (!isJsonObject(record)) throw errorFor(planModel(model), { ...response, json: undefined });
	return { json: copyOf(record), pairedItem: { item: itemIndex } };
}

const isNotFound = ({ outcome }: ListingError): boolean =>
	outcome.kind === 'response' && outcome.httpCode === 404;

/** What a later node does to its items must not change what others are given. */
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
		description:
			near === ''
				? "It may be disabled, or its name misspelled. 'Get Many' lists the available models."
				: `It may be disabled, or its name misspelled. ${near}`,
		httpCode: 404,
	});
}

async function rethrown(error: unknown): Promise<never> {
	return await Promise.reject(
		error instanceof ListingError ? errorFor(error.plan, error.outcome, error.attempts) : error,
	);
}

function passes(record: ModelRecord, { mediaType, mode, generationMode }: ModelFilters): boolean {
	return (
		isAmong(mediaType, record.mediaType === undefined ? [] : [record.mediaType]) &&
		isAmong(mode, record.modes) &&
		isAmong(generationMode, record.generationModes)
	);
}

/** Whether a filter, in whatever case, is among the values; an empty one lets everything through. */
function isAmong(wanted: unknown, values: string[] = []): boolean {
	if (typeof wanted !== 'string' || wanted.trim() === '') return true;
	const word = wanted.trim().toLowerCase();
	return values.some((value) => value.toLowerCase() === word);
}

/** The commented form is a text for people, handed on as it came. */
function textItem(text: string, itemIndex: number): INodeExecutionData {
	return {
		json: { format: 'jsonc', text: withoutDataUrls(text) },
		pairedItem: { item: itemIndex },
	};
}
