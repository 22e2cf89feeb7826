/** What n8n's reviewers check and its published linter does not. */
import { NodeHelpers, type INodeProperties, type INodeTypeDescription } from 'n8n-workflow';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BY_USE } from '../../../nodes/shared/fields/optionFields.js';
import { builtNodes } from './built-nodes.mjs';

const root = join(__dirname, '..', '..', '..');
/** What n8n calls with each description that it loads; it has no type of its own. */
const { validateNodeDescription } =
	require('n8n-core/dist/nodes-loader/validate-node-description') as {
		validateNodeDescription: (description: INodeTypeDescription) => void;
	};
const CATEGORIES = [
	'AI',
	'Analytics',
	'Communication',
	'Data & Storage',
	'Development',
	'Finance & Accounting',
	'Marketing & Content',
	'Miscellaneous',
	'Productivity',
	'Sales',
	'Utility',
];
/** What is only about files, and what has no effect in a tool. */
const FILES = ['binaryPropertyName', 'download', 'fileName', 'surviveRestarts'];
/** A panel on which everything of these is shown. */
const VALUES = { mode: 'wait', download: true };

interface Codex {
	node: string;
	categories: string[];
	subcategories?: Record<string, string[]>;
	alias: string[];
}

const nodes = builtNodes().map((node) => {
	const file = join(root, 'nodes', node.className, `${node.className}.node.json`);
	return { ...node, codex: JSON.parse(readFileSync(file, 'utf8')) as Codex };
});

/** The search of n8n's nodes panel. */
const { sublimeSearch } = require('@n8n/utils/search/sublime-search') as {
	sublimeSearch: (text: string, data: object[]) => Array<{ item: { key: string } }>;
};

test.each([
	...['image', 'images', 'AI image', 'generate image', 'image generation', 'text to image'].map(
		(text) => [text, 'ImageGeneration'],
	),
	...['picture', 'photo', 'illustration'].map((text) => [text, 'ImageGeneration']),
	['media gateway', 'ImageGeneration'],
	['edit image', 'ImageEdit'],
	['describe image', 'Message'],
	['wait for image', 'ImageWait'],
])("who searches for '%s' finds %s first of these nodes", (text, className) => {
	const data = nodes.map(({ className: key, displayName, codex }) => {
		return { key, properties: { displayName, codex } };
	});
	expect(sublimeSearch(text, data)[0]?.item.key).toBe(className);
});

describe.each(nodes)('$className', ({ className, description, type, codex }) => {
	const source = readFileSync(join(root, 'nodes', className, `${className}.node.ts`), 'utf8');

	// n8n 1 runs no node in which a parameter depends on one that isn't there.
	test('its parameters depend on its own parameters', () => {
		const names = description.properties.map(({ name }) => name);
		const conditions = description.properties.flatMap(({ displayOptions = {} }) =>
			Object.keys({ ...displayOptions.show, ...displayOptions.hide }),
		);
		const foreign = conditions.filter((name) => !name.startsWith('@') && !names.includes(name));
		expect(foreign).toEqual([]);
	});

	test("is in categories of n8n's list", () => {
		expect(codex.node).toBe(type);
		expect(codex.categories.length).toBeGreaterThan(0);
		expect(codex.categories.filter((category) => !CATEGORIES.includes(category))).toEqual([]);
	});

	test('is an AI node only if it is made with the AI SDK', () => {
		const isAi = /^import .* from '@n8n\/ai-node-sdk';$/m.test(source);
		expect(codex.categories.includes('AI')).toBe(isAi);
		expect(codex.subcategories !== undefined).toBe(isAi);
	});

	test('loads: n8n refuses a hint on what chooses between forms', () =>
		expect(() => validateNodeDescription(description)).not.toThrow());
});

test.each(nodes.filter(({ description }) => description.usableAsTool))(
	'$className shows nothing about files to an agent, which never gets one',
	({ description }) => {
		const shown = (name: string) => {
			const type = { ...description, name };
			const fields = [...description.properties, ...optionsOf(description.properties)];
			return fields
				.filter((field) =>
					NodeHelpers.displayParameter(VALUES, field, { typeVersion: 1 }, type, VALUES),
				)
				.map((field) => field.name);
		};
		const asNode = shown(description.name);
		const asTool = shown(`${description.name}Tool`);
		const onlyFiles = FILES.filter((name) => asNode.includes(name));
		expect(asNode.filter((name) => !asTool.includes(name)).sort()).toEqual(onlyFiles.sort());
	},
);

test.each(nodes.map((one) => [one.className, one] as const))(
	'the options of %s each have a place in the order of use',
	(_, { options }) => {
		expect(options.filter((name) => !BY_USE.includes(name))).toEqual([]);
		expect([...options].sort((a, b) => BY_USE.indexOf(a) - BY_USE.indexOf(b))).toEqual(options);
	},
);

function optionsOf(properties: readonly INodeProperties[]): INodeProperties[] {
	return (properties.find(({ name }) => name === 'options')?.options ?? []) as INodeProperties[];
}
