/**
 * docs/names.json: every name that a saved workflow may hold. Parameters, their types, defaults and
 * values come from the built nodes, output fields from the schemas beside them.
 */
import type { INodeProperties } from 'n8n-workflow';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { credentialsOf, nodesOf, type Offered } from './built-package.mjs';

export const NAMES_FILE = 'docs/names.json';

/** What the schemas do not say, because n8n would offer it for every item. */
const OTHER_OUTPUT = {
	'failed item': {
		error: 'string',
		details: 'object',
		'details.charged': 'string',
		'details.description': 'string',
		'details.estimatedCost': 'number',
		'details.errorType': 'string',
		'details.httpCode': 'integer',
		'details.index': 'integer',
		'details.model': 'string',
		'details.outcome': 'string',
		'details.prompt': 'string',
		'details.response': 'string',
		'details.status': 'string',
		'details.taskId': 'string',
		'details.taskType': 'string',
		'details.text': 'string',
		'details.url': 'string',
		'details.urls': 'array',
		prompt: 'string',
	},
	'option outputJson': {
		json: 'any',
	},
	'option addSummary': {
		summary: 'object',
		'summary.estimatedCost': 'number',
		'summary.failedItems': 'integer',
		'summary.images': 'integer',
		'summary.rateLimitedRequests': 'integer',
		'summary.reusedItems': 'integer',
		'summary.tasks': 'integer',
		'summary.unpricedImages': 'integer',
	},
	'option dryRun': {
		model: 'string',
		prompt: 'string',
		verdict: 'string',
		dryRun: 'boolean',
		request: 'object',
		checks: 'object',
		'checks.passed': 'boolean',
		'checks.violations': 'array',
		estimatedCost: 'number',
	},
};

/** Each name with what is held of it, in the order of the names. */
type Names = Record<string, string>;

interface Schema {
	type: string;
	properties?: Record<string, Schema>;
	items?: Schema;
}

/** @param root the repository, with its `dist` */
export function namesFile(root: string): string {
	const credentials = credentialsOf(root).map(({ name, properties }) => [
		name,
		sorted(parameterNames(properties)),
	]);
	const nodes = nodesOf(root).map(({ type, className, description }) => [
		type,
		{
			version: String(description.version),
			parameters: sorted(parameterNames(description.properties)),
			...outputNames(join(root, 'nodes', className)),
		},
	]);
	// A task has its images as one item of a request has them.
	const ofTask = Object.entries(outputNames(join(root, 'nodes', 'ImageTask')).output ?? {});
	const joined = ofTask.filter(([name]) => /^(urls|images)\b/.test(name));
	const contract = {
		credentials: Object.fromEntries(credentials),
		nodes: Object.fromEntries(nodes),
		'output of several nodes': {
			...OTHER_OUTPUT,
			'option oneItemPerRequest': Object.fromEntries(joined),
		},
	};
	return `${JSON.stringify(contract, undefined, '\t')}\n`;
}

/** Type, values and default of each property and of what nests in it. A notice holds nothing. */
function parameterNames(properties: readonly INodeProperties[], path = ''): Names {
	const names: Names = {};
	for (const property of properties as Offered[]) {
		if (property.type === 'notice') continue;
		const name = `${path}${property.name}`;
		const values = valuesOf(property);
		const choices = values.length === 0 ? '' : ` (${values.join(', ')})`;
		// The same name can stand for two fields, each shown where the other is not.
		const earlier = names[name] === undefined ? '' : `${names[name]}; `;
		names[name] = `${earlier}${property.type}${choices} = ${JSON.stringify(property.default)}`;
		const groups = (property.options ?? []) as Offered[];
		if (property.type === 'collection') Object.assign(names, parameterNames(groups, `${name}.`));
		if (property.type === 'fixedCollection') {
			for (const group of groups) {
				Object.assign(names, parameterNames(group.values ?? [], `${name}.${group.name}.`));
			}
		}
	}
	return names;
}

/** The values of a choice, the modes of a resource locator. */
function valuesOf({ type, options, modes }: Offered): unknown[] {
	if (type === 'options' || type === 'multiOptions') {
		return (options as Offered[]).map(({ value }) => value).sort();
	}
	return (modes ?? []).map(({ name }) => name).sort();
}

/** One entry for each schema of a node: with operations, each has one of its own. */
function outputNames(folder: string): Record<string, Names> {
	const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
		/__schema__.*\.json$/.test(file),
	);
	const entries = files.sort().map((file) => {
		const name = basename(file, '.json');
		const schema = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Schema;
		return [name.startsWith('v') ? 'output' : `output of ${name}`, sorted(fieldNames(schema))];
	});
	return Object.fromEntries(entries) as Record<string, Names>;
}

function fieldNames({ properties = {} }: Schema, path = ''): Names {
	const names: Names = {};
	for (const [name, field] of Object.entries(properties)) {
		names[`${path}${name}`] = field.type;
		Object.assign(names, fieldNames(field, `${path}${name}.`));
		if (field.items) Object.assign(names, fieldNames(field.items, `${path}${name}[].`));
	}
	return names;
}

const sorted = (names: Names): Names =>
	Object.fromEntries(Object.entries(names).sort(([one], [other]) => (one < other ? -1 : 1)));
