/** How often n8n is asked for a parameter: for many items, that takes longer than all other work. */
import type { IExecuteFunctions } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { ItemParameters } from '../../../nodes/shared/parameters/itemParameters.js';

const ITEMS = ['a fox', 'an owl', 'a newt', 'a hare'].map((prompt) => ({ json: { prompt } }));

test.each<[string, string, number, string[]]>([
	['a fixed value', 'a cat', 2, ['a cat', 'a cat', 'a cat', 'a cat']],
	['a field of the item', '={{ $json.prompt }}', 1, ITEMS.map(({ json }) => json.prompt)],
	['another expression', '={{ $itemIndex }}', 1 + 4, ['=0', '=1', '=2', '=3']],
])('of four items, for %s: %s, asked for %i times', (_, raw, times, values) => {
	const asked: string[] = [];
	const context = {
		getNode: () => ({ name: 'Image' }),
		getInputData: () => ITEMS,
		getNodeParameter: (name: string, item: number, __: unknown, how?: object) => {
			asked.push(name);
			return how === undefined && raw.startsWith('=') ? `=${item}` : raw;
		},
	} as unknown as IExecuteFunctions;
	const read = ITEMS.map((__, item) => new ItemParameters(context, item).value('prompt'));
	expect(read).toEqual(values);
	expect(asked).toEqual(Array(times).fill('prompt'));
});
