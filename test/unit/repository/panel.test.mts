/** What a person sees first: in the nodes panel, among the options. */
import { sublimeSearch } from '@n8n/utils/search/sublime-search';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BY_USE } from '../../../nodes/shared/fields/optionFields.js';
import { builtNodes } from './built-nodes.mjs';

const root = join(__dirname, '..', '..', '..');
const nodes = builtNodes();
const node = (className: string) => nodes.find((one) => one.className === className)!;

describe("the nodes panel's search", () => {
	const items = nodes.map(({ className, displayName }) => {
		const file = join(root, 'nodes', className, `${className}.node.json`);
		const codex = JSON.parse(readFileSync(file, 'utf8')) as { alias: string[] };
		return { className, properties: { displayName, codex } };
	});
	const found = (text: string) => sublimeSearch(text, items).map(({ item }) => item.className);

	// "media gateway" itself lists the shortest name first, whatever the aliases are. A name as short
	// as "Media Gateway Image" would be first, but wouldn't say what the node does.
	test.each(['image', 'AI image', 'picture', 'photo', 'generate image', 'create image', 'draw'])(
		'lists Image Generation first for "%s"',
		(text) => expect(found(text)[0]).toBe('ImageGeneration'),
	);

	test.each(['image', 'images'])('lists the nodes that make images first for "%s"', (text) =>
		expect(found(text).slice(0, 2)).toEqual(['ImageGeneration', 'ImageEdit']),
	);

	test.each([
		['edit image', 'ImageEdit'],
		['edit photo', 'ImageEdit'],
		['image status', 'ImageTask'],
		['wait', 'ImageWait'],
		['model price', 'MediaModels'],
		['generate text', 'Message'],
		['analyze image', 'Message'],
		['vision', 'Message'],
		['chat model', 'LmChatMediaGateway'],
	])('lists for "%s" %s first', (text, className) => expect(found(text)[0]).toBe(className));
});

describe('the options', () => {
	test.each([
		[
			'ImageGeneration',
			['Number of Images', 'File Name', 'Budget', 'Dry Run', 'Max Wait (Seconds)'],
		],
		['ImageWait', ['File Name', 'On Timeout', 'Include Input Fields']],
		['Message', ['System Prompt', 'History', 'Output Content as JSON']],
	])('of %s begin with the everyday ones', (className, everyday) => {
		expect(node(className).optionNames.slice(0, everyday.length)).toEqual(everyday);
	});

	test.each(nodes.map((one) => [one.className, one] as const))(
		'of %s each have a place in the order of use',
		(_, { options }) => {
			expect(options.filter((name) => !BY_USE.includes(name))).toEqual([]);
			expect([...options].sort((a, b) => BY_USE.indexOf(a) - BY_USE.indexOf(b))).toEqual(options);
		},
	);
});
