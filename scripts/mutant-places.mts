/** The places of a source that can be changed: with a switch, `mutant(number)`, which says whether it is on, or for good. */
import ts from 'typescript';

export interface Mutant {
	file: string;
	line: number;
	what: string;
	/** Whether the editor alone shows it. */
	isShown: boolean;
}

const { SyntaxKind } = ts;
const short = (text: string) => {
	const line = text.replace(/\s+/g, ' ');
	return line.length > 60 ? `${line.slice(0, 59)}…` : line;
};

/**
 * A source whose places are changed.
 *
 * @param numberOf gives the switch of a mutant its number; undefined for a place that stays as it is, and
 *   'no switch' for one that is changed for good, in the form that the types are asked about
 */
export function instrument(
	file: string,
	text: string,
	numberOf: (mutant: Mutant) => number | 'no switch' | undefined,
): string {
	const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
	/** The text of a place: as it is, changed, or with a switch. */
	const place = (
		node: ts.Node,
		what: string,
		textOf: (node: ts.Node) => string,
		changedTo: (kept: string) => string,
		switched = (on: string, kept: string) => `(${on} ? ${changedTo(kept)} : ${kept})`,
	): string => {
		const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
		const named = `${what}: ${short(node.getText())}`;
		const number = numberOf({ file, line, what: named, isShown: isShown(node) });
		const kept = textOf(node);
		if (number === undefined) return kept;
		return number === 'no switch' ? changedTo(kept) : switched(`mutant(${number})`, kept);
	};

	/** The text of a node, with the switches within it. */
	const inner = (node: ts.Node, start = node.getStart()): string => {
		let [out, at] = ['', start];
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
		// A function whose source becomes a text, such as an expression of n8n: no switch reaches there.
		if (ts.isFunctionDeclaration(node) && text.includes(`\${${node.name?.text}}`)) {
			return node.getText();
		}
		if (isCondition(node)) {
			const negated = (kept: string) => `!(${kept})`;
			// Written once, as it may have many switches within it.
			return place(node, 'negated', inner, negated, (on, kept) => `(${on} !== Boolean(${kept}))`);
		}
		if (ts.isBinaryExpression(node)) return ofBinary(node);
		if (node.kind === SyntaxKind.TrueKeyword || node.kind === SyntaxKind.FalseKeyword) {
			return place(node, 'inverted', inner, (kept) => `${kept !== 'true'}`);
		}
		if (isText(node)) {
			return place(node, 'another text', inner, () => `'mutant'`);
		}
		if (ts.isNumericLiteral(node) && !isName(node)) {
			// A literal, as a type of few numbers may take it; Number() doesn't read 60_000.
			const more = (kept: string) => `${Number(kept.replaceAll('_', '')) + 1}`;
			return place(node, 'one more', inner, more);
		}
		if (isDroppable(node)) {
			const nothing = () => '{}';
			return place(node, 'dropped', inner, nothing, (on, kept) => `{ if (!${on}) { ${kept} } }`);
		}
		return inner(node);
	};

	const ofBinary = (node: ts.BinaryExpression): string => {
		const operator = node.operatorToken.getText();
		const other = { '&&': '||', '||': '&&', '===': '!==', '!==': '===' }[operator];
		if (other === undefined) return inner(node);
		let [left, right] = ['', ''];
		const kept = () => {
			[left, right] = [changed(node.left), changed(node.right)];
			return `${left} ${operator} ${right}`;
		};
		const changedTo = () => `${left} ${other} ${right}`;
		const switched = (on: string, text: string) => `(${on} ? (${changedTo()}) : (${text}))`;
		return place(node, `${operator} to ${other}`, kept, changedTo, switched);
	};

	return inner(source, 0);
}

/** What makes a source with switches one that can be built: without mutants-environment.cjs, none is on. */
export const withSwitches = (body: string): string =>
	`// @ts-nocheck
${body}
function mutant(number) { return globalThis.mutant?.(number) === true; }
`;

/** What decides: but for comparisons and the like, whose operators are changed. */
function isCondition(node: ts.Node): boolean {
	if (ts.isBinaryExpression(node)) return false;
	const { parent } = node;
	if (ts.isIfStatement(parent) || ts.isWhileStatement(parent)) return parent.expression === node;
	return ts.isConditionalExpression(parent) && parent.condition === node;
}

const isText = (node: ts.Node): boolean =>
	ts.isStringLiteral(node) && !isName(node) && !ts.isExportDeclaration(node.parent);

/** A text of a field or its choices, or an icon. */
function isShown({ parent }: ts.Node): boolean {
	if (!ts.isPropertyAssignment(parent)) return false;
	if (/^'file:/.test(parent.initializer.getText())) return true;
	const names = parent.parent.properties.map((one) => one.name?.getText() ?? '');
	const isOfField = names.includes('displayName') || names.includes('value');
	return isOfField && ['description', 'placeholder', 'hint'].includes(parent.name.getText());
}

/** The name of a property, which is no value. */
const isName = (node: ts.Node): boolean =>
	('name' in node.parent && node.parent.name === node) ||
	(ts.isBindingElement(node.parent) && node.parent.propertyName === node);

/** A statement without which the others still are a program. */
function isDroppable(node: ts.Node): boolean {
	if (ts.isExpressionStatement(node)) return !/^super\(/.test(node.getText());
	const isEnd = ts.isReturnStatement(node) || ts.isThrowStatement(node);
	return isEnd && (ts.isIfStatement(node.parent) || ts.isIfStatement(node.parent.parent));
}
