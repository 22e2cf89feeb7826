import type {
	FieldType,
	ILoadOptionsFunctions,
	INodeListSearchItems,
	INodeListSearchResult,
	ResourceMapperField,
	ResourceMapperFields,
} from 'n8n-workflow';
import type { TaskType } from '../../../gateway';
import { describePrice, makesVideos, type ModelRecord, suits } from '../../../gateway/models';
import { isJsonObject } from '../../../util/json';
import { FIELDS_OF_NODE } from '../fields/imageFields';
import { REQUEST_OPTIONS } from '../fields/optionFields';
import { usualParameters } from '../fields/usualParameters';
import { loadModels } from './editorModels';

/**
 * Creates the search in a node's list of models, by name and note.
 *
 * @param mode the mode that models must have, if the gateway says so; undefined: all models of the
 *   gateway, including those for videos; `message`: the names of all models
 *   but those for images and videos
 */
export function searchModelsFor(mode?: 'text_to_image' | 'image_edit' | 'message') {
	const list = mode === 'message' ? 'names' : 'any';
	return async function searchModels(
		this: ILoadOptionsFunctions,
		filter?: string,
	): Promise<INodeListSearchResult> {
		const wanted = (filter ?? '').trim().toLowerCase();
		const matching = (models: ModelRecord[]) =>
			models
				.filter((record) => mode === undefined || suits(record, mode))
				.filter(({ model, note }) => `${model} ${note ?? ''}`.toLowerCase().includes(wanted));
		const models = await loadModels(this, list, matching);
		// The names are also those of models for images and videos, which the other list tells apart.
		const media = mode === 'message' ? await loadModels(this, 'media').catch(() => []) : [];
		const others = new Set(media.filter(isForMedia).map(({ model }) => model));
		const last = new Set(media.map(({ model }) => model));
		const results = models
			.filter(({ model }) => !others.has(model))
			.sort((one, other) => Number(last.has(one.model)) - Number(last.has(other.model)))
			.map((record) => asSearchItem(record, mode));
		return { results };
	};
}

/** Whether the list says that a model is for images or videos. */
const isForMedia = ({ mediaType }: ModelRecord): boolean =>
	mediaType === 'image' || mediaType === 'video';

/** The names of modes in the list; an unknown mode is shown unchanged. */
const MODES = new Map([
	['text_to_image', 'generates'],
	['image_edit', 'edits'],
	['text_to_video', 'video from text'],
	['image_to_video', 'video from images'],
]);

/**
 * A model in the list, with its price and modes after its name; the price first, because the editor
 * cuts off long names. The mode that all models of the list have isn't mentioned.
 */
function asSearchItem(record: ModelRecord, wanted?: string): INodeListSearchItems {
	const { model, billing, modes = [] } = record;
	const others = modes.filter((mode) => mode !== wanted).map((mode) => MODES.get(mode) ?? mode);
	const does =
		wanted !== undefined && others.length > 0 ? `also ${others.join(', ')}` : others.join(', ');
	const about = [describePrice(billing), does].filter(Boolean);
	return { name: about.length === 0 ? model : `${model} (${about.join(' · ')})`, value: model };
}

/**
 * Creates the form of the selected model: one field for each of the parameters that the gateway's list
 * has (docs/protocol.md, "Model list"), or else the usual ones, each of which the user adds.
 *
 * The editor replaces the node's form by the returned one, and deletes the values of missing fields. So
 * a form stays unchanged if no list has parameters for the model (disabled for an hour, or in an example
 * for another gateway): opening a node must not change it, because n8n executes a changed node again,
 * which is charged. If the user selects another model, the editor first clears the form.
 */
export function modelParametersFor(taskType: TaskType) {
	return async function getModelParameters(
		this: ILoadOptionsFunctions,
	): Promise<ResourceMapperFields> {
		const chosen = this.getCurrentNodeParameter('model', { extractValue: true }) as
			| string
			| undefined;
		if (!chosen) {
			return { fields: [], emptyFieldsNotice: 'Choose a model to see its parameters.' };
		}
		// If this throws, the editor removes the whole form without a message.
		const models = await loadModels(this, 'media').catch((): ModelRecord[] => []);
		const record = models.find(({ model }) => model === chosen);
		if (record !== undefined && makesVideos(record)) {
			const notice = 'This model generates videos, and the gateway has no endpoint for videos.';
			return { fields: [], emptyFieldsNotice: notice };
		}
		const published = Object.entries(record?.parameters ?? {});
		if (published.length > 0) {
			return {
				fields: published
					.filter(([name]) => !NOT_IN_FORM.includes(name))
					.map(([name, values]) => asField(name, values, record && typeFor(record, name))),
				emptyFieldsNotice:
					"This model publishes no other parameters. To set one anyway, use 'Extra Fields' in the options.",
			};
		}
		const held = currentFields(this.getCurrentNodeParameter('modelParameters'));
		return { fields: held.length > 0 ? held : usualFields(taskType) };
	};
}

/** The usual fields. The editor doesn't show them until the user adds one. */
const usualFields = (taskType: TaskType): ResourceMapperField[] =>
	usualParameters(taskType).map(({ name, values = [], type }) => ({
		...asField(name, values, type),
		removed: true,
	}));

/** The type of a parameter without values: a list that tells numbers apart doesn't always say which. */
const typeFor = ({ ranges }: ModelRecord, wanted: string): FieldType | undefined =>
	ranges?.has(wanted)
		? 'number'
		: ranges && usualParameters('edit').find(({ name }) => name === wanted)?.type;

/** Fields that only an option may set, as they change the price, and those that the run refuses. */
const NOT_IN_FORM = [
	...Object.values(REQUEST_OPTIONS).flatMap((options) =>
		options.flatMap(({ sentAs, changesPrice }) => (changesPrice ? sentAs : [])),
	),
	'stream',
	...Object.keys(FIELDS_OF_NODE),
];

/** The fields of the form as the node has it now. */
function currentFields(modelParameters: unknown): ResourceMapperField[] {
	const schema = isJsonObject(modelParameters) ? modelParameters.schema : undefined;
	if (!Array.isArray(schema)) return [];
	const fields = schema.filter((field) => isJsonObject(field) && typeof field.id === 'string');
	return structuredClone(fields) as ResourceMapperField[];
}

/** A field of the form. @param values to choose from; none for any value of the type */
function asField(
	name: string,
	values: ModelRecord['parameters'][string],
	type: FieldType = 'string',
): ResourceMapperField {
	const names = { id: name, displayName: name };
	const field = { ...names, required: false, defaultMatch: false, display: true };
	if (values.length === 0) return { ...field, type };
	// Also true and false: the editor would send `false` for a switch that nobody has touched.
	const options = values.map((value) => ({ name: valueName(value), value }));
	return { ...field, type: 'options', options: [NOT_SENT, ...options] };
}

/** The empty value of a list, which the editor doesn't store. */
const NOT_SENT = { name: 'Model Default', value: '', description: "Isn't sent" };

/** The largest number in a ratio that is shown: 455:256, say, isn't helpful. */
const LARGEST_OF_RATIO = 21;

/** The name of a published value; that of a size shows its shape: "1024x1536 (2:3, portrait)". */
function valueName(value: string | number | boolean): string {
	const [, wide, high] = /^(\d{1,5})[x*×](\d{1,5})$/i.exec(String(value)) ?? [];
	const [width, height] = [Number(wide), Number(high)];
	if (!(width > 0 && height > 0)) return String(value);
	const shape = width > height ? 'landscape' : width < height ? 'portrait' : 'square';
	const divisor = greatestCommonDivisor(width, height);
	const ratio = [width / divisor, height / divisor];
	const isPlain = ratio.every((part) => part <= LARGEST_OF_RATIO);
	return `${value} (${isPlain ? `${ratio.join(':')}, ` : ''}${shape})`;
}

const greatestCommonDivisor = (one: number, other: number): number =>
	other === 0 ? one : greatestCommonDivisor(other, one % other);
