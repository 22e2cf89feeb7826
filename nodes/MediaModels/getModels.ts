import type { IDataObject } from 'n8n-workflow';
import { withoutDataUrls, withoutInlineImages } from '../../util/inlineImages';
import { GatewayError, hasCode, withDetails } from '../../gateway';
import type { ModelRecord } from '../../gateway/models';
import { didYouMean } from '../../util/closestMatch';
import type { Run } from '../shared/run/runContext';

/** How a model becomes an item: `rowOf` or `rawOf`; with JSONC, one item has the text of all. */
interface ModelOutput {
	format: 'json' | 'jsonc';
	itemOf: (record: ModelRecord) => IDataObject;
}

/**
 * The published models as items, then the names of the account's other models, such as those for
 * messages. Only names, with a hint, where the gateway publishes no more.
 *
 * @param limit the most models to return
 */
export async function getModels(
	run: Run,
	limit: number,
	{ format, itemOf }: ModelOutput,
): Promise<IDataObject[]> {
	if (format === 'jsonc') return [textItem(await run.gateway.models.commented())];
	const listed = await anyRecords(run, (models) => models.length >= limit);
	const all = listed.length >= limit ? listed : [...listed, ...(await otherNames(run, listed))];
	return all.slice(0, limit).map(itemOf);
}

/**
 * One published model, or its name where the gateway publishes no more.
 *
 * @throws GatewayError that suggests similar names if the model isn't published
 */
export async function getModel(
	run: Run,
	model: string,
	{ format, itemOf }: ModelOutput,
): Promise<IDataObject> {
	try {
		const { models } = run.gateway;
		if (format === 'jsonc') return textItem(await models.commented(model));
		return itemOf(await models.model(model));
	} catch (error) {
		if (!(error instanceof GatewayError) || !hasCode(error, 'noList')) throw error as Error;
		const listed = await anyRecords(run).catch((): ModelRecord[] => []);
		const records = [...listed, ...(await otherNames(run, listed))];
		const named = records.find((record) => record.isNameOnly && record.model === model);
		if (named !== undefined && format === 'json') return itemOf(named);
		throw error.problem.httpCode === 404 ? notPublished(error, model, records) : error;
	}
}

/** All models, or as many as are enough, or their names. */
async function anyRecords(
	run: Run,
	isEnough?: (models: ModelRecord[]) => boolean,
): Promise<ModelRecord[]> {
	const list = await run.gateway.models.readWithRetries('any', isEnough);
	if (list.models[0]?.isNameOnly) run.hints.add(NAMES_ONLY);
	if (list.isCut) run.hints.add(LIST_IS_CUT);
	return list.models;
}

/**
 * The names of the account's models that aren't in the model list, such as those for messages.
 *
 * @returns none without a key, or where the list has only names itself
 */
async function otherNames(run: Run, listed: ModelRecord[]): Promise<ModelRecord[]> {
	if (!run.gateway.account.hasKey || listed[0]?.isNameOnly) return [];
	const asked = run.gateway.models.readOnce('names').then(({ models }) => models);
	const names = await asked.catch(async (error: unknown): Promise<ModelRecord[]> => {
		if (!(error instanceof GatewayError)) throw error as Error;
		const { httpCode = 0 } = error.problem;
		const isNone = hasCode(error, 'noList') && ![401, 403].includes(httpCode);
		if (!isNone) run.hints.add(`Message models may be missing: ${error.message}.`);
		return [];
	});
	const listedNames = new Set(listed.map(({ model }) => model));
	return names.filter(({ model }) => !listedNames.has(model));
}

const LIST_IS_CUT =
	"The gateway's list of models has more pages than could be read, so models are missing here. 'Get' and the image nodes find them by their exact names.";

const NAMES_ONLY =
	'The gateway lists only the names of its models. Their limits, prices and kinds are unknown.';

/**
 * The record as the gateway sent it, without inline images; a copy, because a later node may change
 * it.
 */
export const rawOf = ({ raw }: ModelRecord): IDataObject =>
	structuredClone(withoutInlineImages(raw)) as IDataObject;

/**
 * A model as a row of a table: every row has the same columns, null where the list says nothing.
 */
export function rowOf(record: ModelRecord): IDataObject {
	const { billing = {}, referenceImages: images = {} } = record;
	const parameters = Object.entries(record.parameters).map(([name, values]) => {
		const range = record.ranges?.get(name);
		return `${name}: ${range === undefined ? values.join(' | ') : `${range.min ?? ''}–${range.max ?? ''}`}`;
	});
	const row = {
		model: record.model,
		price: billing.mode === 'price' ? billing.value : undefined,
		ratio: billing.mode === 'ratio' ? billing.value : undefined,
		priceUnit: billing.unit,
		mediaType: record.mediaType,
		capabilities: record.modes,
		answers: record.generationModes,
		parameters: parameters.length === 0 ? undefined : parameters.join('; '),
		maxInputImages: images.maxCount,
		maxInputMb: images.maxSizeMb,
		note: record.note,
	};
	const shown = withoutInlineImages(row) as IDataObject;
	return Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, value ?? null]));
}

/** The error with the gateway's own words, which follow its status, and the nearest name. */
function notPublished(error: GatewayError, model: string, records: ModelRecord[]): GatewayError {
	const near = didYouMean(
		model,
		records.map((record) => record.model),
	);
	const status = `The gateway has no model '${model}' (404)`;
	return withDetails(error, {
		message: error.message.replace(/^.*?\(404\)/, () => status),
		description: `It may be disabled, or its name misspelled. ${near || "'Get Many' lists the available models."}`,
		settings: undefined,
	});
}

/** The item of the commented form: its text, without inline images. */
const textItem = (text: string): IDataObject => ({
	format: 'jsonc',
	text: withoutDataUrls(text),
});
