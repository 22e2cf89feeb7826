import type { IDataObject } from 'n8n-workflow';
import { errorFor } from '../../gateway/errors/errorMessages';
import { withoutDataUrls, withoutInlineImages } from '../../gateway/util/inlineImages';
import { isJsonObject, nonEmptyString, type JsonObject } from '../../gateway/util/json';
import {
	planModel,
	planModelList,
	type ListingFormat,
	type ModelRecord,
} from '../../gateway/protocol/models';
import type { HttpResponse } from '../../gateway/protocol/outcome';
import type { RequestPlan } from '../../gateway/protocol/requestPlan';
import { didYouMean } from '../../gateway/util/closestMatch';
import { GatewayError } from '../../gateway/util/gatewayError';
import { NoListError, requestListing, requestRecords } from '../shared/models/modelCache';
import type { Run } from '../shared/run/runContext';

/** The filters of "Get Many"; an empty one matches all models. */
export interface ModelFilters {
	mediaType?: string;
	mode?: string;
	generationMode?: string;
}

/**
 * The published models as items, unchanged; with JSONC one item with the text. Only their names, with
 * a hint, where the gateway publishes no more.
 *
 * @param wanted the filters and the limit
 */
export async function getModels(
	run: Run,
	wanted: { filters: ModelFilters; limit: number },
	format: ListingFormat,
): Promise<IDataObject[]> {
	if (format === 'jsonc') return [textOf(await requestListing(run, planModelList(format)))];
	return (await anyRecords(run))
		.filter((record) => passes(record, wanted.filters))
		.slice(0, wanted.limit)
		.map(({ raw }) => copyOf(raw));
}

/**
 * One published model, or its name where the gateway publishes no more.
 *
 * @throws GatewayError that suggests similar names if the model isn't published
 */
export async function getModel(
	run: Run,
	model: string,
	format: ListingFormat,
): Promise<IDataObject> {
	try {
		const response = await requestListing(run, planModel(model, format));
		if (format === 'jsonc') return textOf(response);
		const record = isJsonObject(response.json) ? response.json.data : undefined;
		if (!isJsonObject(record)) throw errorFor(planModel(model), { ...response, json: undefined });
		return copyOf(record);
	} catch (error) {
		if (!(error instanceof NoListError)) return await Promise.reject(error);
		const records = await anyRecords(run).catch((): ModelRecord[] => []);
		const named = records.find((record) => record.isNameOnly && record.model === model);
		if (named !== undefined && format === 'json') return copyOf(named.raw);
		const isNotFound = error.problem.httpCode === 404;
		return await Promise.reject(isNotFound ? notPublished(model, records) : error);
	}
}

/** All models, or their names. */
async function anyRecords(run: Run): Promise<ModelRecord[]> {
	const request = async (plan: RequestPlan): Promise<HttpResponse> =>
		await requestListing(run, plan);
	const records = await requestRecords(run.address, 'any', request);
	if (records[0]?.isNameOnly) run.hints.add(NAMES_ONLY);
	return records;
}

const NAMES_ONLY =
	'The gateway lists only the names of its models. Their limits, prices and kinds are unknown, so no filter matches.';

/** A copy, because a later node may change its items. */
const copyOf = (record: JsonObject): IDataObject =>
	structuredClone(withoutInlineImages(record)) as IDataObject;

function notPublished(model: string, records: ModelRecord[]): GatewayError {
	const near = didYouMean(
		model,
		records.map((record) => record.model),
	);
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
