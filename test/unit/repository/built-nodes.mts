import type { INodeProperties, INodeType, INodeTypeDescription } from 'n8n-workflow';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const root = join(__dirname, '..', '..', '..');

/** What a built node offers to its users. */
export interface BuiltNode {
	/** Such as `n8n-nodes-media-gateway.imageWait`. */
	type: string;
	className: string;
	displayName: string;
	description: INodeTypeDescription;
	/** Names of its parameters. */
	parameters: string[];
	/** Names of what its `options` hold. */
	options: string[];
	/** Every name that is read on its panel, of parameters, options and choices. */
	shown: string[];
}

/** The nodes that package.json names, as they were built. */
export function builtNodes(): BuiltNode[] {
	const { name, n8n } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
		name: string;
		n8n: { nodes: string[] };
	};
	return n8n.nodes.map((file) => {
		const path = join(root, file);
		if (!existsSync(path)) throw new Error(`${file} is not there: run "npm run build" first`);
		const className = basename(file, '.node.js');
		const { description } = new (require(path)[className] as new () => INodeType)();
		const options = description.properties.find((property) => property.name === 'options');
		const offered = (options?.options ?? []) as INodeProperties[];
		return {
			type: `${name}.${description.name}`,
			className,
			displayName: description.displayName,
			description,
			parameters: description.properties.map((property) => property.name),
			options: offered.map((option) => option.name),
			shown: description.properties.flatMap(shownNames),
		};
	});
}

function shownNames(property: INodeProperties): string[] {
	const nested = (property.options ?? []) as Array<
		INodeProperties & { values?: INodeProperties[] }
	>;
	return [
		// A choice has only a name.
		property.displayName ?? property.name,
		...nested.flatMap((option) => [
			...shownNames(option),
			...(option.values ?? []).flatMap(shownNames),
		]),
	];
}
