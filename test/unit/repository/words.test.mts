/** The words that people read: what of n8n's style can be held by a test. */
import type { INodeProperties, INodeType } from 'n8n-workflow';
import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

const root = join(__dirname, '..', '..', '..');
const { n8n } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
	n8n: { nodes: string[]; credentials: string[] };
};

/** Words of our own making, other spellings than US, and what reads like a translation. */
const BANNED =
	/\b(pictures?|is to be|nobody knows|at the most|asked for|asked about|go(es)? on|hands? out|under way|time-out|anew|catalogue|colour|umlauts?|blanks|cancelled|switch(ed)? (on|off)|listing)\b/i;

/** Small words that stay small in title case. */
const SMALL = /^(a|an|and|as|at|by|for|from|in|of|on|only|or|per|the|to|with)$/;

interface Text {
	where: string;
	text: string;
}

type Nested = INodeProperties & { action?: string; values?: INodeProperties[] };

const built = [...n8n.nodes, ...n8n.credentials].map((file) => {
	const name = basename(file).split('.')[0]!;
	const made = new (require(join(root, file))[name] as new () => INodeType)();
	const { description = made } = made as { description?: unknown };
	return { name, ...(description as { description?: string; properties: INodeProperties[] }) };
});

const fields = built.flatMap(({ name, properties }) =>
	properties.flatMap((one) => walk(name, one)),
);

function walk(path: string, field: Nested): Array<{ where: string; field: Nested }> {
	const where = `${path} › ${field.displayName ?? field.name}`;
	const nested = [...((field.options ?? []) as Nested[]), ...(field.values ?? [])];
	return [{ where, field }, ...nested.flatMap((one) => walk(where, one))];
}

const shown = fields.filter(({ field }) => field.type !== 'hidden');
const texts = (read: (field: Nested) => string | undefined): Text[] =>
	shown.flatMap(({ where, field }) => {
		const text = read(field);
		return text === undefined || text === '' ? [] : [{ where, text }];
	});
const descriptions = [
	...texts(({ description }) => description),
	...texts(({ hint }) => hint),
	...texts(({ type, displayName }) => (type === 'notice' ? displayName : undefined)),
	...built.map(({ name, description = '' }) => ({ where: name, text: description })),
];
const wrong = (list: Text[], isWrong: (text: string) => boolean) =>
	list.filter(({ text }) => isWrong(text)).map(({ where, text }) => `${where}: ${text}`);

/** Sentences, as far as a full stop with a capital behind it tells. */
const sentences = (text: string) => text.split(/[.!?] (?=n8n|[A-Z0-9'"])/).length;

test('there is something to read', () => expect(descriptions.length).toBeGreaterThan(100));

test('no word that a user of n8n would stumble over', () => {
	const labels = texts(({ displayName, name }) => displayName ?? name);
	expect(wrong([...descriptions, ...labels], (text) => BANNED.test(text))).toEqual([]);
});

test('one sentence has no full stop, several have one each', () => {
	expect(
		wrong(descriptions, (text) => {
			const several = sentences(text) > 1;
			return several !== /[.!?]$/.test(text);
		}),
	).toEqual([]);
});

test('a switch begins with "Whether"', () => {
	const switches = texts(({ type, description }) => (type === 'boolean' ? description : undefined));
	expect(wrong(switches, (text) => !/^Whether /.test(text))).toEqual([]);
});

test('a placeholder is an example, or says what its button does', () => {
	const placeholders = texts(({ placeholder }) => placeholder);
	expect(wrong(placeholders, (text) => !/^(e\.g\. |Add |Select )/.test(text))).toEqual([]);
});

test('labels are in title case', () => {
	const labels = texts(({ type, displayName }) => (type === 'notice' ? '' : displayName));
	const isLower = (word: string, index: number) =>
		/^[a-z]/.test(word) && (index === 0 || !SMALL.test(word));
	expect(wrong(labels, (text) => text.split(/[\s(]+/).some(isLower))).toEqual([]);
});

test('actions have no article', () => {
	const actions = texts(({ action }) => action);
	expect(wrong(actions, (text) => /\b(a|an|the)\b/i.test(text))).toEqual([]);
});

/** What is banned in prose as well, which may quote code in backticks and names of nodes in bold. */
const BANNED_IN_PROSE =
	/\b(pictures?|is to be|nobody knows|at the most|asked (for|about)|go(es)? on|(hand|put)s? out|under way|time-outs?|anew|catalogue|colour|switch(ed|es)? (on|off)|(a|the) listing|whoever|for ever)\b/i;

const prose = (text: string) =>
	text.replace(/^```[^]*?^```/gm, '').replace(/`[^`\n]*`|\*\*[^*\n]*\*\*|\]\([^)]*\)|^\|.*$/gm, '');

/** Each line of the documents, the changelog only as far as it is not released yet; no tables. */
const documents = [
	...readdirSync(root).filter((file) => file.endsWith('.md')),
	...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
		.filter((file) => file.endsWith('.md') && file !== 'benchmarks.md')
		.map((file) => join('docs', file)),
].map((file) => {
	const text = readFileSync(join(root, file), 'utf8');
	return { where: file, text: file === 'CHANGELOG.md' ? text.split(/^## \d/m)[0]! : text };
});

const notes = readdirSync(join(root, 'examples')).flatMap((file) => {
	const { nodes } = JSON.parse(readFileSync(join(root, 'examples', file), 'utf8')) as {
		nodes: Array<{ name: string; parameters: { content?: string } }>;
	};
	return nodes.map(({ name, parameters: { content = '' } }) => ({
		where: `${file} › ${name}`,
		text: content,
	}));
});

test.each([
	['documents', documents],
	['notes of the examples', notes],
])('the %s use the same words', (_, texts) => {
	const lines = texts.flatMap(({ where, text }) =>
		prose(text)
			.split('\n')
			.filter((line) => line.trim() !== '')
			.map((line) => ({ where, text: line })),
	);
	expect(lines.length).toBeGreaterThan(100);
	expect(wrong(lines, (text) => BANNED_IN_PROSE.test(text))).toEqual([]);
});

/** In the sources of errors: what stands in quotes, without the comments. */
test('errors use the same words', () => {
	const folders = ['gateway', 'nodes'].map((folder) => join(root, folder));
	const sources = folders.flatMap((folder) =>
		readdirSync(folder, { recursive: true, withFileTypes: true })
			.filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
			.map((entry) => join(entry.parentPath ?? entry.path, entry.name)),
	);
	const lines = sources.flatMap((file) =>
		[
			...readFileSync(file, 'utf8').matchAll(
				/\b(?:message|description|happened|advice): *\n?\s*(['"`])(.*)\1/g,
			),
		].map(([, , text]) => ({ where: basename(file), text: text! })),
	);
	expect(lines.length).toBeGreaterThan(100);
	expect(wrong(lines, (text) => BANNED.test(text))).toEqual([]);
});
