import type { IExecuteFunctions } from 'n8n-workflow';

/** How a parameter comes by its value. */
type Source =
	/** Without an expression it is the same for all items. */
	| { kind: 'fixed'; value: unknown }
	/** What most expressions are: one field of the item. */
	| { kind: 'field'; field: string }
	| { kind: 'expression' };

const FIELD_OF_ITEM = /^=\{\{ *\$json\.([A-Za-z_]\w*) *\}\}$/;

/** What was found out about the parameters of each run of a node. */
const sources = new WeakMap<IExecuteFunctions, Map<string, Source>>();

/**
 * The value of a parameter for an item. n8n works out every parameter anew for every item, which
 * takes longer than the rest of what is done for it: here only those that depend on the item are.
 *
 * @param fallback where the parameter is not set; for one parameter always the same, as is `extract`
 * @param extract takes the value out of a resource locator
 * @returns for all items the very same object where it holds no expression: it must not be changed
 */
export function readParameter(
	context: IExecuteFunctions,
	name: string,
	itemIndex: number,
	fallback: unknown,
	extract?: { extractValue: true },
): unknown {
	const source = sourceOf(context, name, itemIndex, fallback, extract);
	if (source.kind === 'fixed') return source.value;
	if (source.kind === 'field') {
		// A sub-node has no items of its own: those of its root node are found by n8n alone.
		const item = context.getInputData()[itemIndex];
		const value = item?.json[source.field];
		// An object would be the item's own.
		if (item !== undefined && typeof value !== 'object') return value;
	}
	return context.getNodeParameter(name, itemIndex, fallback, extract);
}

function sourceOf(
	context: IExecuteFunctions,
	name: string,
	itemIndex: number,
	fallback: unknown,
	extract?: { extractValue: true },
): Source {
	const known = sources.get(context) ?? new Map<string, Source>();
	sources.set(context, known);
	const source = known.get(name);
	if (source !== undefined) return source;
	const raw = context.getNodeParameter(name, itemIndex, fallback, { rawExpressions: true });
	const field = typeof raw === 'string' ? FIELD_OF_ITEM.exec(raw)?.[1] : undefined;
	const found: Source =
		field !== undefined
			? { kind: 'field', field }
			: holdsExpression(raw)
				? { kind: 'expression' }
				: {
						kind: 'fixed',
						value: context.getNodeParameter(name, itemIndex, fallback, extract),
					};
	known.set(name, found);
	return found;
}

/** Expressions are texts that begin with an equals sign, at any depth. */
function holdsExpression(raw: unknown): boolean {
	return /"=/.test(JSON.stringify(raw) ?? '');
}
