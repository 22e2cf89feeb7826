/** What a person sees first: in the nodes panel, among the options. */
import { sublimeSearch } from '@n8n/utils/search/sublime-search';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
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
			['Number of Images', 'File Name', 'Budget', 'Max Wait (Seconds)', 'Include Input Fields'],
		],
		['ImageWait', ['File Name', 'Include Input Fields', 'On Timeout']],
		['Message', ['System Prompt', 'History', 'Output Content as JSON']],
	])('of %s begin with the everyday ones', (className, everyday) => {
		const { optionNames } = node(className);
		expect(optionNames.slice(0, everyday.length)).toEqual(everyday);
		const others = optionNames.slice(everyday.length);
		expect(others).toEqual([...others].sort((one, other) => one.localeCompare(other)));
	});
});
