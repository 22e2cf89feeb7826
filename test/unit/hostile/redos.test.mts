/**
 * Every pattern of the package is held against a detector of patterns that take more than linear
 * time: one of them on foreign text stops all of n8n.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
// Its program where npm has one for the platform, otherwise the same in JavaScript, ten times as slow.
import { checkSync } from 'recheck';
import ts from 'typescript';

const ROOT = join(__dirname, '../../..');
const SOURCES = ['gateway', 'nodes', 'credentials'];

interface Pattern {
	where: string;
	source: string;
	flags: string;
}

/** The text of a string, also of one that is put together from constants of the same file. */
function literal(node: ts.Node | undefined, constants: Map<string, string>): string | undefined {
	if (node === undefined) return undefined;
	if (ts.isStringLiteralLike(node)) return node.text;
	if (ts.isIdentifier(node)) return constants.get(node.text);
	if (!ts.isTemplateExpression(node)) return undefined;
	return node.templateSpans.reduce<string | undefined>((text, { expression, literal: end }) => {
		const part = literal(expression, constants);
		return text === undefined || part === undefined ? undefined : text + part + end.text;
	}, node.head.text);
}

/** Every pattern in a source, and every place that makes one which cannot be read here. */
function patternsIn(file: string, text: string): Pattern[] {
	const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
	const found: Pattern[] = [];
	const constants = new Map<string, string>();
	const visit = (node: ts.Node): void => {
		const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
		const where = `${file}:${line}`;
		if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name)) {
			const value = literal(node.initializer, constants);
			if (value !== undefined) constants.set(node.name.text, value);
		}
		if (ts.isRegularExpressionLiteral(node)) {
			const end = node.text.lastIndexOf('/');
			found.push({ where, source: node.text.slice(1, end), flags: node.text.slice(end + 1) });
		}
		const made = ts.isNewExpression(node) || ts.isCallExpression(node);
		if (made && ts.isIdentifier(node.expression) && node.expression.text === 'RegExp') {
			const [pattern, flags] = node.arguments ?? [];
			const text = literal(pattern, constants);
			if (text === undefined) throw new Error(`${where}: this pattern cannot be checked`);
			found.push({ where, source: text, flags: literal(flags, constants) ?? '' });
		}
		ts.forEachChild(node, visit);
	};
	visit(source);
	return found;
}

const patterns = SOURCES.flatMap((folder) =>
	readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
		.filter((name) => name.endsWith('.ts'))
		.sort()
		.map((name) => join(folder, name)),
).flatMap((file) => patternsIn(file, readFileSync(join(ROOT, file), 'utf8')));

const LONG_MS = 120_000;

/** `safe`, or what is wrong: how the time grows, and a text that shows it. */
function verdict({ source, flags }: Pattern): string {
	// The time is no measure of the pattern, only of the machine; and chance must not change a verdict.
	const result = checkSync(source, flags, {
		timeout: LONG_MS,
		incubationTimeout: LONG_MS,
		attackTimeout: LONG_MS,
		randomSeed: 1,
	});
	if (result.status !== 'vulnerable') return result.status;
	return `${result.complexity.summary}, for example on ${result.attack.pattern}`;
}

/** What repeats nothing takes no more than linear time, and needs no search for an attack. */
const repeats = ({ source }: Pattern) =>
	/[*+{]/.test(source.replace(/\\.|\[(?:\\.|[^\]\\])*\]/g, '.'));

test('there are patterns', () => {
	expect(patterns.filter(repeats).length).toBeGreaterThan(20);
});

test.each(patterns.filter(repeats).map((pattern) => [pattern.where, pattern] as const))(
	'%s takes linear time',
	(_, pattern) => {
		const shown = `/${pattern.source}/${pattern.flags}`;
		expect(`${shown} ${verdict(pattern)}`).toBe(`${shown} safe`);
	},
	180_000,
);
