import type {
	ILoadOptionsFunctions,
	INodeListSearchItems,
	INodeListSearchResult,
} from 'n8n-workflow';
import { suits, type ModelRecord } from '../../../gateway/protocol/models';
import { priceInWords } from '../../../gateway/validation/pricing';
import { loadModels } from './modelCache';

/**
 * The search behind the model list of a node: what suits its task, by name, mode or note.
 *
 * @param mode undefined: all models, videos too
 */
export function searchModelsFor(mode?: 'text_to_image' | 'image_edit') {
	return async function searchModels(
		this: ILoadOptionsFunctions,
		filter?: string,
	): Promise<INodeListSearchResult> {
		const wanted = (filter ?? '').trim().toLowerCase();
		const models = await loadModels(this);
		const results = models
			.filter((record) => mode === undefined || suits(record, mode))
			.filter(({ model, note }) => `${model} ${note ?? ''}`.toLowerCase().includes(wanted))
			.map((record) => asSearchItem(record, mode));
		return { results };
	};
}

/** What a mode is called in the list; one that is not known is shown as it is. */
const MODES = new Map([
	['text_to_image', 'generates'],
	['image_edit', 'edits'],
	['text_to_video', 'video from text'],
	['image_to_video', 'video from images'],
]);

/** What a model is called that can be called in one way only. */
const ONLY = new Map([
	['async', 'asynchronous only'],
	['sync', 'synchronous only'],
]);

/**
 * The name with what helps to choose, the rarest first: the editor cuts off long names. What every
 * model of the list does is not repeated.
 */
function asSearchItem(record: ModelRecord, wanted?: string): INodeListSearchItems {
	const { model, billing, modes = [], generationModes = [] } = record;
	const only = new Set(generationModes).size === 1 ? ONLY.get(generationModes[0] ?? '') : undefined;
	const others = modes.filter((mode) => mode !== wanted).map((mode) => MODES.get(mode) ?? mode);
	const does =
		wanted !== undefined && others.length > 0 ? `also ${others.join(', ')}` : others.join(', ');
	const about = [only, priceInWords(billing), does].filter(
		(text) => text !== undefined && text !== '',
	);
	return { name: about.length === 0 ? model : `${model} (${about.join(' · ')})`, value: model };
}
