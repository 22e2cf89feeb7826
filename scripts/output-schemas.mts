/** The schemas of the image nodes, made from the table of their output fields in the built package. */
import { createRequire } from 'node:module';
import { join } from 'node:path';

interface Field {
	type: string;
	from: string;
	nodes?: string[];
}

/** Files and their contents. @param root the repository, with its `dist` */
export function outputSchemas(root: string): Array<[file: string, text: string]> {
	const table = join(root, 'dist', 'nodes', 'shared', 'run', 'outputFields.js');
	const { OUTPUT_FIELDS } = createRequire(table)(table) as { OUTPUT_FIELDS: Record<string, Field> };
	const fields = Object.entries(OUTPUT_FIELDS);
	const ofImage = fields.filter(([name, { from, nodes }]) => {
		return from === 'image' && nodes !== undefined && name !== 'index';
	});
	const inImages = [...ofImage, ['error', { type: 'string' }] as const].map(
		([name, { type }]) => [name, { type }] as const,
	);
	const schemaOf = (name: string, { type }: Field) => {
		if (type === 'object') return { type, properties: {} };
		if (type !== 'array') return { type };
		if (name !== 'images') return { type, items: { type: 'string' } };
		return { type, items: { type: 'object', properties: Object.fromEntries(inImages) } };
	};
	const nodes = new Set(fields.flatMap(([, field]) => field.nodes ?? []));
	return [...nodes].map((node) => {
		const own = fields.filter(([, field]) => field.nodes?.includes(node));
		const properties = Object.fromEntries(
			own.map(([name, field]) => [name, schemaOf(name, field)]),
		);
		const schema = { type: 'object', properties, version: 1 };
		const file = `nodes/${node}/__schema__/v1.0.0.json`;
		return [file, `${JSON.stringify(schema, undefined, '\t')}\n`];
	});
}
