/** What people put into the fields that take anything. */

export interface ExtraFields {
	value: unknown;
	/** Whether it can be sent: what cannot is refused before anything is charged. */
	works: boolean;
	/** What the body of the request says instead. */
	model?: string;
	count?: number;
}

export const EXTRA_FIELDS: ExtraFields[] = [
	{ value: '{ "seed": 42 }', works: true },
	{ value: '{ "n": 2 }', works: true, count: 2 },
	{ value: '{ "model": "borealis" }', works: true, model: 'borealis' },
	{ value: '{ "response_format": "b64_json" }', works: true },
	{ value: '{ "async": true }', works: true },
	{ value: '{ "async": false }', works: true },
	{ value: { quality: { level: ['high', null] } }, works: true },
	{ value: '{ "__proto__": { "n": 4 }, "constructor": 1 }', works: true },
	{ value: '', works: true },
	{ value: 'seed=42', works: false },
	{ value: '[1, 2]', works: false },
	{ value: 7, works: false },
	{ value: '{ "stream": true }', works: false },
];

/** What a tool of a chat says about a prompt; the model is asked again with it. */
export const LOOKED_UP = 'looked up: ';

export interface History {
	value: unknown;
	/** As it has to arrive; undefined: it cannot be used, and nothing is sent. */
	turns?: unknown[];
}

const TURNS = [
	{ role: 'user', content: 'Which animal?' },
	{
		role: 'assistant',
		content: [
			{ type: 'thinking', thinking: '', signature: 'sig/earlier+1==' },
			{ type: 'text', text: 'A fox — or "two".' },
		],
	},
];

export const HISTORIES: History[] = [
	{ value: TURNS, turns: TURNS },
	{ value: JSON.stringify(TURNS), turns: TURNS },
	{ value: '', turns: [] },
	{ value: 'hello' },
	{ value: [{ role: 'user' }] },
	{ value: { role: 'user', content: 'alone' } },
];

/** What is asked of the listing, and which models fit. */
export const LISTINGS: Array<{ parameters: Record<string, unknown>; models: string[] }> = [
	{ parameters: {}, models: ['aurora-image-1', 'borealis', 'cinema'] },
	{ parameters: { limit: 2 }, models: ['aurora-image-1', 'borealis'] },
	{ parameters: { limit: 1, filters: { mode: 'text_to_video' } }, models: ['cinema'] },
	{
		parameters: { returnAll: true, limit: 1, filters: { mediaType: 'image', mode: 'image_edit' } },
		models: ['aurora-image-1', 'borealis'],
	},
	{ parameters: { filters: { generationMode: 'sync' } }, models: ['aurora-image-1', 'borealis'] },
];
