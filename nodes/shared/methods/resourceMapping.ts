import type {
	ILoadOptionsFunctions,
	INodePropertyOptions,
	ResourceMapperField,
	ResourceMapperFields,
} from 'n8n-workflow';
import type { AllowedValue } from '../../../gateway/protocol/models';
import { loadModels } from './modelCache';

/** The form of the chosen model: one field for each of its parameters (specification, 2.8). */
export async function getModelParameters(
	this: ILoadOptionsFunctions,
): Promise<ResourceMapperFields> {
	const chosen = this.getCurrentNodeParameter('model', { extractValue: true }) as
		| string
		| undefined;
	if (!chosen) {
		return { fields: [], emptyFieldsNotice: 'Choose a model: its parameters then appear here.' };
	}
	const models = await loadModels(this);
	const record = models.find(({ model }) => model === chosen);
	return {
		fields: Object.entries(record?.parameters ?? {}).map(([name, values]) => asField(name, values)),
		emptyFieldsNotice:
			record === undefined
				? 'The gateway publishes no model of this name. Use "Parameters by Name" in the options.'
				: 'This model publishes no parameters. Use "Parameters by Name" in the options.',
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
