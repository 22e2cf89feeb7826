/**
 * `npm run mutants -- gateway/pay.ts [--only 3,7]`: changes one thing after another in a source, runs the
 * tests that hold it, and lists the changes that none of them notices. All changes are built once, in a
 * copy; MUTANT chooses the one that is in force.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
	cpSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import ts from 'typescript';
import { testsOf } from './changed-tests.mjs';

/** A mutant that makes a loop endless is killed by the clock. */
const LONGEST_MS = 600_000;

interface Mutant {
	line: number;
	what: string;
}

const { SyntaxKind } = ts;
const short = (text: string) => {
	const line = text.replace(/\s+/g, ' ');
	return line.length > 60 ? `${line.slice(0, 59)}…` : line;
};

/** A source with a switch at each place that can be changed. */
function instrument(text: string): { text: string; mutants: Mutant[] } {
	const source = ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true);
	const mutants: Mutant[] = [];
	const isOn = (node: ts.Node, what: string) => {
		const { line } = source.getLineAndCharacterOfPosition(node.getStart());
		mutants.push({ line: line + 1, what: `${what}: ${short(node.getText())}` });
		return `mutant(${mutants.length})`;
	};

	/** The text of a node, with the switches within it. */
	const inner = (node: ts.Node): string => {
		let [out, at] = ['', node.getStart()];
		ts.forEachChild(node, (child) => {
			out += text.slice(at, child.getStart()) + changed(child);
			at = child.end;
		});
		return out + text.slice(at, node.end);
	};

	/** The text of a node, with a switch around it if it can be changed. */
	const changed = (node: ts.Node): string => {
		if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node)) {
			return node.getText();
		}
		if (isCondition(node)) {
			return `(${isOn(node, 'negated')} ? !(${inner(node)}) : (${inner(node)}))`;
		}
		if (ts.isBinaryExpression(node)) return ofBinary(node);
		if (node.kind === SyntaxKind.TrueKeyword || node.kind === SyntaxKind.FalseKeyword) {
			return `(${isOn(node, 'inverted')} !== ${node.getText()})`;
		}
		if (isText(node)) return `(${isOn(node, 'another text')} ? 'mutant' : ${node.getText()})`;
		if (ts.isNumericLiteral(node) && !ts.isPropertyAssignment(node.parent)) {
			return `(${isOn(node, 'one more')} ? 1 + ${node.getText()} : ${node.getText()})`;
		}
		if (isDroppable(node)) return `{ if (!${isOn(node, 'dropped')}) { ${inner(node)} } }`;
		return inner(node);
	};

	const ofBinary = (node: ts.BinaryExpression): string => {
		const other = { '&&': '||', '||': '&&', '===': '!==', '!==': '===' }[
			node.operatorToken.getText()
		];
		if (other === undefined) return inner(node);
		const name = isOn(node, `${node.operatorToken.getText()} to ${other}`);
		const [left, right] = [changed(node.left), changed(node.right)];
		const kept = `${left} ${node.operatorToken.getText()} ${right}`;
		return `(${name} ? (${left} ${other} ${right}) : (${kept}))`;
	};

	const body = source.statements.map(changed).join('\n');
	const choice = 'function mutant(number) { return process.env.MUTANT === String(number); }';
	return { text: `// @ts-nocheck\n${body}\n${choice}\n`, mutants };
}

/** What decides: but for comparisons and the like, whose operators are changed. */
function isCondition(node: ts.Node): boolean {
	if (ts.isBinaryExpression(node)) return false;
	const { parent } = node;
	if (ts.isIfStatement(parent) || ts.isWhileStatement(parent)) return parent.expression === node;
	return ts.isConditionalExpression(parent) && parent.condition === node;
}

const isText = (node: ts.Node): boolean =>
	ts.isStringLiteral(node) &&
	!ts.isExportDeclaration(node.parent) &&
	!(ts.isPropertyAssignment(node.parent) && node.parent.name === node);

/** A statement without which the others still are a program. */
function isDroppable(node: ts.Node): boolean {
	if (ts.isExpressionStatement(node)) return true;
	const isEnd = ts.isReturnStatement(node) || ts.isThrowStatement(node);
	return isEnd && (ts.isIfStatement(node.parent) || ts.isIfStatement(node.parent.parent));
}

/** A copy of the repository as it is, which is built with the instrumented source. */
function copied(root: string, file: string, text: string): string {
	const copy = mkdtempSync(join(tmpdir(), 'media-gateway-mutants-'));
	const list = ['ls-files', '--cached', '--others', '--exclude-standard', '-z'];
	for (const path of execFileSync('git', list, { cwd: root, encoding: 'utf8' }).split('\0')) {
		if (path) cpSync(join(root, path), join(copy, path), { force: true });
	}
	// What was built last is noted in a cache of its own: the repository isn't built anew for the copy.
	mkdirSync(join(copy, 'node_modules'));
	for (const name of readdirSync(join(root, 'node_modules'))) {
		const [from, to] = [root, copy].map((one) => join(one, 'node_modules', name));
		if (name !== '.cache') symlinkSync(from!, to!, 'junction');
	}
	writeFileSync(join(copy, file), text);
	return copy;
}

/** Whether the tests pass. What repeats the sources' form, such as lint, is no test of a mutant. */
function passes(copy: string, tests: string[], mutant: number): boolean {
	const jest = join(copy, 'node_modules', 'jest', 'bin', 'jest.js');
	const { status } = spawnSync(process.execPath, [jest, '--bail', '--runTestsByPath', ...tests], {
		cwd: copy,
		env: { ...process.env, MUTANT: String(mutant) },
		stdio: mutant === 0 ? 'inherit' : 'ignore',
		timeout: LONGEST_MS,
	});
	return status === 0;
}

function testsFor(root: string, file: string): { unit: string[]; engine: string[] } {
	const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
	const args = [jest, '--listTests', '--findRelatedTests', file];
	const related = execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
	const isUnit = (test: string) => /^test\/unit\/(?!repository)/.test(test);
	const unit = related.split('\n').map((path) => path.slice(root.length + 1).replaceAll('\\', '/'));
	const { sources } = testsOf([file], root);
	const engine = sources.filter((path) => /^test\/engine\/.*\.test\.mts$/.test(path));
	return { unit: unit.filter(isUnit), engine };
}

function main(): void {
	const root = join(import.meta.dirname, '..');
	const { values, positionals } = parseArgs({
		allowPositionals: true,
		options: { only: { type: 'string' }, unit: { type: 'boolean', default: false } },
	});
	const [file] = positionals;
	if (file === undefined) throw new Error('Name a source, such as gateway/pay.ts');
	const { text, mutants } = instrument(readFileSync(join(root, file), 'utf8'));
	const tests = testsFor(root, file);
	if (values.unit) tests.engine = [];
	const copy = copied(root, file, text);
	try {
		// Unit tests first: they are quick, and kill most.
		const rounds = [tests.unit, tests.engine].filter((round) => round.length > 0);
		if (rounds.length === 0) throw new Error('No test imports it');
		if (!rounds.every((round) => passes(copy, round, 0))) {
			throw new Error('The tests fail without a mutant');
		}
		const wanted = values.only?.split(',').map(Number) ?? mutants.map((_, index) => index + 1);
		const alive = wanted.filter((number) => {
			const { line, what } = mutants[number - 1]!;
			const isAlive = rounds.every((round) => passes(copy, round, number));
			console.log(`${isAlive ? 'ALIVE ' : 'killed'} ${number} ${file}:${line} ${what}`);
			return isAlive;
		});
		console.log(`${wanted.length - alive.length} of ${wanted.length} killed`);
		if (alive.length > 0) process.exitCode = 1;
	} finally {
		rmSync(copy, { recursive: true, force: true });
	}
}

main();
