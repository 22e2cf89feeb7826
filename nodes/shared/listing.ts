import type {
	ILoadOptionsFunctions,
	INodeListSearchItems,
	INodeListSearchResult,
	INodePropertyOptions,
	ResourceMapperField,
	ResourceMapperFields,
} from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { errorFor } from '../../gateway/errorMap';
import { isJsonObject } from '../../gateway/json';
import {
	planModelList,
	priceInWords,
	readModelList,
	suits,
	type AllowedValue,
	type ModelRecord,
} from '../../gateway/listing';
import { readAddress } from './run';
import { createExchange } from './transport';

/** Long enough for a slow listing, short enough for a person who waits for a drop-down. */
const LISTING_TIMEOUT_MS = 15_000;

/**
 * The models that the gateway publishes, for the editor.
 *
 * @throws NodeOperationError that says how to go on without the list
 */
async function loadModels(context: ILoadOptionsFunctions): Promise<ModelRecord[]> {
	const address = await readAddress(context);
	const exchange = createExchange({
		context,
		address,
		limits: { concurrency: 1, timeoutMs: LISTING_TIMEOUT_MS },
		requests: new Set(),
	});
	const plan = planModelList();
	const outcome = await exchange(plan);
	if (outcome.kind === 'answer' && outcome.httpCode === 200 && isJsonObject(outcome.json)) {
		return readModelList(outcome.json);
	}
	const { problem } = errorFor(plan, outcome);
	throw new NodeOperationError(context.getNode(), problem.message, {
		description: `${problem.description} You can enter the model "By Name" all the same.`,
	});
}

/** The search behind the model list of a node: what suits its task, by name, mode or note. */
export function searchModelsFor(mode: 'text_to_image' | 'image_edit') {
	return async function searchModels(
		this: ILoadOptionsFunctions,
		filter?: string,
	): Promise<INodeListSearchResult> {
		const wanted = (filter ?? '').trim().toLowerCase();
		const models = await loadModels(this);
		const results = models
			.filter((record) => suits(record, mode))
			.filter(({ model, note }) => `${model} ${note ?? ''}`.toLowerCase().includes(wanted))
			.map(asSearchItem);
		return { results };
	};
}

function asSearchItem(record: ModelRecord): INodeListSearchItems {
	const price = priceInWords(record.billing);
	const about = [price, record.modes?.join(', ')].filter(
		(text) => text !== undefined && text !== '',
	);
	return {
		name: about.length === 0 ? record.model : `${record.model} (${about.join(' · ')})`,
		value: record.model,
	};
}

/** The form of the chosen model: one field for each of its parameters (specification, 2.8). */
export async function getModelParameters(
	this: ILoadOptionsFunctions,
): Promise<ResourceMapperFields> {
	const chosen = this.getCurrentNodeParameter('model', { extractValue: true }) as
		| string
		| undefined;
	const models = await loadModels(this);
	const record = models.find(({ model }) => model === chosen);
	return {
		fields: Object.entries(record?.parameters ?? {}).map(([name, values]) => asField(name, values)),
		emptyFieldsNotice:
			record === undefined
				? 'The gateway publishes no model of this name. Use "Extra Fields" in the options.'
				: 'This model publishes no parameters. Use "Extra Fields" in the options.',
	};
}

function asField(name: string, values: AllowedValue[]): ResourceMapperField {
	const field = {
		id: name,
		displayName: name,
		required: false,
		defaultMatch: false,
		display: true,
	};
	if (values.length === 0) return { ...field, type: 'string' };
	if (values.every((value) => typeof value === 'boolean')) return { ...field, type: 'boolean' };
	return { ...field, type: 'options', options: values.map(asOption) };
}

const asOption = (value: AllowedValue): INodePropertyOptions => ({ name: String(value), value });
