/** What the built package offers, read from `dist` as n8n does it. */
import type { ICredentialType, INodeProperties, INodeType } from 'n8n-workflow';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';

interface Manifest {
	name: string;
	n8n: { nodes: string[]; credentials: string[] };
}

export interface BuiltNode {
	/** Such as `n8n-nodes-media-gateway.imageWait`. */
	type: string;
	/** Its folder in `nodes`. */
	className: string;
	description: INodeType['description'];
}

/** A property, or what nests in one: a choice has a value, a group of fields has `values`. */
export type Offered = INodeProperties & { value?: unknown; values?: INodeProperties[] };

const manifest = (root: string) =>
	JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;

function built<T>(root: string, file: string): T {
	const path = join(root, file);
	const exports = createRequire(path)(path) as Record<string, new () => T>;
	return new exports[classNameOf(file)]!();
}

const classNameOf = (file: string) => basename(file).split('.')[0]!;

/** @param root the repository, with its `dist` */
export function nodesOf(root: string): BuiltNode[] {
	const { name, n8n } = manifest(root);
	return n8n.nodes.map((file) => {
		const { description } = built<INodeType>(root, file);
		return { type: `${name}.${description.name}`, className: classNameOf(file), description };
	});
}

/** @param root the repository, with its `dist` */
export const credentialsOf = (root: string): ICredentialType[] =>
	manifest(root).n8n.credentials.map((file) => built<ICredentialType>(root, file));
