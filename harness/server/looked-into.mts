/** Which examples the gate looks into with n8n's editor: those that it might change since it last did. */
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import * as path from 'node:path';
import type { INodeType } from 'n8n-workflow' with { 'resolution-mode': 'require' };

import { repositoryRoot } from '../install/folders.mjs';
import { exampleNames } from './example-workflows.mjs';

const inRoot = (file: string) => path.join(repositoryRoot(), file);
const read = (file: string) => fs.readFileSync(inRoot(file), 'utf8');
/** The digest of each example when all its nodes were opened and nothing changed. */
export const LOOKED_INTO = 'test/n8n/looked-into.json';
/** Those that are always looked into: with the form of a model, and with most kinds of nodes. */
const ALWAYS = ['edit-by-form', 'submit-and-collect'];

/**
 * Describes what may make the editor change an example: its file, its nodes, and what all share.
 * @param example text of its file
 * @param nodes the description of each of the package's nodes, by its name
 * @param shared n8n's version, and what fills the forms
 */
export function digestOf(example: string, nodes: Record<string, string>, shared: string): string {
	const types = (JSON.parse(example) as { nodes: Array<{ type: string }> }).nodes.map(({ type }) =>
		type.replace(/^n8n-nodes-media-gateway\.|Tool$/g, ''),
	);
	const described = [...new Set(types)].sort().map((type) => nodes[type] ?? type);
	const hash = createHash('sha256').update(JSON.stringify([example, described, shared]));
	return hash.digest('hex').slice(0, 16);
}

/** The digest of each example as it is now. */
export function exampleDigests(): Record<string, string> {
	const manifest = JSON.parse(read('package.json')) as { n8n: { nodes: string[] } };
	const load = createRequire(inRoot('package.json'));
	const nodes = Object.fromEntries(
		manifest.n8n.nodes.map((file) => {
			const exported = load(`./${file}`) as Record<string, new () => INodeType>;
			const { description } = new exported[path.basename(file, '.node.js')]!();
			return [description.name, JSON.stringify(description)];
		}),
	);
	const forms = fs.readdirSync(inRoot('nodes/shared/models')).sort();
	const shared = forms.map((file) => read(`nodes/shared/models/${file}`));
	shared.push(read('harness/install/locks/2.x/manifest.json'));
	const digest = (name: string) => digestOf(read(`examples/${name}.json`), nodes, shared.join());
	return Object.fromEntries(exampleNames().map((name) => [name, digest(name)]));
}

/**
 * @param now the digest of each example
 * @param then that when it was looked into
 * @returns names of those that have changed, and of the two that are always looked into
 */
export function dueExamples(now: Record<string, string>, then: Record<string, string>): string[] {
	return Object.keys(now).filter((name) => now[name] !== then[name] || ALWAYS.includes(name));
}
