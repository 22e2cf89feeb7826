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
