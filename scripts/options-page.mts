/** docs/options.md: every parameter and option, from the descriptions that n8n's editor shows. */
import type { ICredentialType, INodeProperties, INodeType } from 'n8n-workflow';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';

export const OPTIONS_PAGE = 'docs/options.md';

const INTRODUCTION = `# Options

Every field of the credential, every parameter and every option, made from the descriptions that you see in n8n's editor (\`npm run docs\` writes this page).

Where a parameter takes an expression, n8n works it out for each item. An option applies only after you add it; until then its default applies.`;

type Offered = INodeProperties & { value?: unknown; values?: INodeProperties[] };

interface Shown {
	displayName: string;
	description: string;
	properties: INodeProperties[];
}

/**
 * The page, made from the built package.
 *
 * @param root the repository, with its `dist`
 */
export function optionsPage(root: string): string {
	const nodes = builtDescriptions(root);
	const parameters = nodes.map(
		({ displayName, description, properties }) =>
			`## ${displayName}\n\n${sentence(description)}\n\n` +
			table(
				'Parameter',
				visible(properties).map((field) => fieldRow(field, properties)),
			),
	);
	return [
		INTRODUCTION,
		`## Credential\n\n${table(
			'Field',
			builtCredential(root).map((field) => fieldRow(field, [])),
		)}`,
		...parameters,
		`## The options of all nodes\n\n${optionsTable(nodes)}`,
	]
		.join('\n\n')
		.concat('\n');
}

/** What is loaded at run time from `dist`, as n8n does it. */
function built<T>(root: string, file: string): T {
	const path = join(root, file);
	const exports = createRequire(path)(path) as Record<string, new () => T>;
	return new exports[basename(file).split('.')[0]!]!();
}

const manifest = (root: string) =>
	JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
		n8n: { nodes: string[]; credentials: string[] };
	};

const builtDescriptions = (root: string): Shown[] =>
	manifest(root).n8n.nodes.map((file) => built<INodeType>(root, file).description);

const builtCredential = (root: string): INodeProperties[] =>
	manifest(root).n8n.credentials.flatMap((file) => built<ICredentialType>(root, file).properties);

/** What a user can set, other than the options. */
function visible(properties: readonly INodeProperties[]): INodeProperties[] {
	return properties.filter(
		({ type, name }) => type !== 'hidden' && type !== 'notice' && name !== 'options',
	);
}

/** One row for each option, and the nodes that offer it so. */
function optionsTable(nodes: readonly Shown[]): string {
	const rows = new Map<string, { cells: string[]; nodes: string[] }>();
	for (const { displayName, properties } of nodes) {
		const collection = properties.find(({ name }) => name === 'options');
		for (const option of visible((collection?.options ?? []) as INodeProperties[])) {
			const cells = fieldRow(option, properties);
			const row = rows.get(cells.join('|')) ?? { cells, nodes: [] };
			row.nodes.push(displayName.replace('Media Gateway ', ''));
			rows.set(cells.join('|'), row);
		}
	}
	const sorted = [...rows.values()].sort((one, other) =>
		one.cells[0]!.localeCompare(other.cells[0]!),
	);
	return table(
		'Option',
		sorted.map((row) => [...row.cells, row.nodes.join(', ')]),
		['Nodes'],
	);
}

/** Name, default and description, with the choices and when it is shown. */
function fieldRow(field: INodeProperties, siblings: readonly INodeProperties[]): string[] {
	const parts = [
		...(field.description === undefined ? [] : [sentence(field.description)]),
		...(field.hint === undefined ? [] : [sentence(field.hint)]),
		...condition(field, siblings),
		...nested(field),
	];
	return [field.displayName, shownDefault(field), parts.join('<br>')];
}

function nested(field: INodeProperties): string[] {
	const offered = (field.options ?? []) as Offered[];
	if (field.type === 'options' || field.type === 'multiOptions') {
		const explained = offered.filter(({ description }) => description);
		if (explained.length === 0) return [`One of: ${offered.map(({ name }) => name).join(', ')}`];
		return offered.map(({ name, description }) =>
			description ? `*${name}*: ${sentence(description)}` : `*${name}*`,
		);
	}
	if (field.type === 'collection') return offered.map(nestedField);
	return offered.flatMap(({ values }) => (values ?? []).map(nestedField));
}

function nestedField(field: INodeProperties): string {
	const description = field.description === undefined ? '' : `: ${sentence(field.description)}`;
	const choices = ((field.type === 'options' ? field.options : undefined) ?? []) as Offered[];
	const values = choices.map(({ name }) => name).join(', ');
	return `*${field.displayName}*${description}${values === '' ? '' : ` (${values})`}`;
}

/** When a field is shown, in the words of the fields it depends on. */
function condition(field: INodeProperties, siblings: readonly INodeProperties[]): string[] {
	const show = Object.entries(field.displayOptions?.show ?? {}).filter(
		([name]) => !name.startsWith('@'),
	);
	const texts = show.flatMap(([path, values]) => {
		const other = siblings.find(({ name }) => name === path.replace(/^\//, ''));
		if (other === undefined || other.type === 'hidden') return [];
		const names = ((values ?? []) as unknown[]).map((value) => choiceName(other, value));
		return [`${other.displayName} = ${names.join(' or ')}`];
	});
	return texts.length === 0 ? [] : [`Shown with ${texts.join(', ')}`];
}

function choiceName(field: INodeProperties, value: unknown): string {
	if (typeof value === 'boolean') return value ? 'on' : 'off';
	const choice = ((field.options ?? []) as Offered[]).find((one) => one.value === value);
	return choice?.name ?? JSON.stringify(value);
}

function shownDefault(field: INodeProperties): string {
	const value: unknown = field.default;
	if (field.type === 'options' || field.type === 'boolean') return choiceName(field, value);
	if (typeof value === 'number') return String(value);
	if (typeof value === 'string' && value !== '') return `\`${value.replace(/^=/, '')}\``;
	return '';
}

/** Cells hold no line break and no bar of their own; each text ends as a sentence. */
function sentence(text: string): string {
	const line = text.replace(/\s+/g, ' ').trim();
	return /[.!?…:]$/.test(line) ? line : `${line}.`;
}

function table(first: string, rows: readonly string[][], more: readonly string[] = []): string {
	const header = [first, 'Default', 'Description', ...more];
	const lines = [header, header.map(() => '---'), ...rows].map(
		(cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`,
	);
	return lines.join('\n');
}
