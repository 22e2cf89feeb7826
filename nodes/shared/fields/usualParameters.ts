import type { FieldType } from 'n8n-workflow';
import type { TaskType } from '../../../gateway';

/** A parameter under its name in the request. */
interface UsualParameter {
	name: string;
	/** Values to choose from; any other one is possible by an expression. */
	values?: string[];
	/** Text if undefined. */
	type?: FieldType;
	/** The only requests that have it; all if undefined. */
	only?: TaskType;
}

/**
 * The usual parameters of the images API, for a model of which no list says what it takes. Their values
 * are those that n8n's nodes for OpenAI and Gemini offer. What a single model takes isn't known here: the
 * gateway decides.
 */
const USUAL_PARAMETERS: UsualParameter[] = [
	{
		name: 'size',
		values: ['auto', '1024x1024', '1536x1024', '1024x1536', '1792x1024', '1024x1792', '512x512'],
	},
	{
		name: 'aspect_ratio',
		values: ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'],
	},
	{ name: 'resolution', values: ['512', '1K', '2K', '4K'] },
	{ name: 'quality', values: ['auto', 'low', 'medium', 'high', 'standard', 'hd'] },
	{ name: 'output_format', values: ['png', 'jpeg', 'webp'] },
	{ name: 'background', values: ['auto', 'opaque', 'transparent'] },
	{ name: 'seed', type: 'number' },
	{ name: 'negative_prompt' },
	{ name: 'strength', type: 'number', only: 'edit' },
	{ name: 'input_fidelity', values: ['low', 'high'], only: 'edit' },
];

/** Those of a kind of request. */
export const usualParameters = (taskType: TaskType): UsualParameter[] =>
	USUAL_PARAMETERS.filter(({ only = taskType }) => only === taskType);
