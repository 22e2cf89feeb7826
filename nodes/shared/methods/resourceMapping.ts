import type {
	ILoadOptionsFunctions,
	INodePropertyOptions,
	ResourceMapperField,
	ResourceMapperFields,
} from 'n8n-workflow';
import { makesVideos, type AllowedValue, type ModelRecord } from '../../../gateway/protocol/models';
import { didYouMean } from '../../../gateway/validation/closestMatch';
import { isJsonObject } from '../../../gateway/util/json';
import { loadModels } from './modelCache';

/**
 * The form of the chosen model: one field for each of its parameters (specification, 2.8).
 *
 * The editor replaces the form that a node holds by what comes from here, and deletes the values of
 * fields that are gone. So a model that is not in the listing (closed for an hour, or an example on
 * another gateway) keeps its form: looking into a node must change nothing, for what has changed is
 * executed again, and paid for. When the user chooses another model, the editor has emptied the form
 * before it asks.
 */
export async function getModelParameters(
	this: ILoadOptionsFunctions,
): Promise<ResourceMapperFields> {
	const chosen = this.getCurrentNodeParameter('model', { extractValue: true }) as
		| string
		| undefined;
	if (!chosen) {
		return { fields: [], emptyFieldsNotice: 'Choose a model to see its parameters.' };
	}
	const models = await loadModels(this);
	const record = models.find(({ model }) => model === chosen);
	if (record !== undefined && makesVideos(record)) {
		const notice = 'This model generates videos, and the gateway has no endpoint for videos.';
		return { fields: [], emptyFieldsNotice: notice };
	}
	return {
		fields:
			record === undefined
				? heldFields(this.getCurrentNodeParameter('modelParameters'))
				: Object.entries(record.parameters ?? {}).map(([name, values]) => asField(name, values)),
		emptyFieldsNotice:
			record === undefined
				? withQuestion(didYouMean(chosen, namesOf(models)))
				: "This model publishes no parameters. Use 'Parameters by Name' in the options.",
	};
}

const namesOf = (models: ModelRecord[]): string[] =>
	models.filter((record) => !makesVideos(record)).map(({ model }) => model);

const withQuestion = (question: string): string =>
	`The gateway lists no model with this name. ${question === '' ? '' : `${question} `}Use 'Parameters by Name' in the options.`;

/** The fields that the node holds already. */
function heldFields(modelParameters: unknown): ResourceMapperField[] {
	const schema = isJsonObject(modelParameters) ? modelParameters.schema : undefined;
	if (!Array.isArray(schema)) return [];
	const fields = schema.filter((field) => isJsonObject(field) && typeof field.id === 'string');
	return structuredClone(fields) as unknown as ResourceMapperField[];
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
