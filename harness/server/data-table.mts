/** Data tables of a real server, and the examples that use them. */
import type { Workflow } from './example-workflows.mjs';
import type { RestClient } from './rest-client.mjs';
import type { Json } from './rest-session.mjs';

export interface DataTable {
	id: string;
	name: string;
	insert(rows: Json[]): Promise<void>;
	/** All rows, in the order in which they were inserted. */
	rows(): Promise<Json[]>;
}

/** Names of tables that were made: a test that is tried again has one of its own. */
const made: string[] = [];

/**
 * Makes a data table in the owner's project.
 * @param columns their types by name, such as `string` or `number`
 */
export async function createDataTable(
	server: RestClient,
	name: string,
	columns: Record<string, string>,
): Promise<DataTable> {
	const { id: project } = await server.rest('GET', '/projects/personal');
	const earlier = made.filter((one) => one === name).length;
	made.push(name);
	const { id } = await server.rest('POST', `/projects/${project}/data-tables`, {
		name: earlier > 0 ? `${name} ${earlier + 1}` : name,
		columns: Object.entries(columns).map(([column, type]) => ({ name: column, type })),
	});
	const path = `/projects/${project}/data-tables/${id}`;
	return {
		id: id as string,
		name,
		insert: async (data) => {
			await server.rest('POST', `${path}/insert`, { data, returnType: 'count' });
		},
		rows: async () => {
			const { data } = await server.rest('GET', `${path}/rows`);
			return (data as Json[]).sort((one, other) => one.id - other.id);
		},
	};
}

/** What a table of a new workflow holds, where its columns have the same names. */
const FIRST_ROWS = [
	{ sku: 'A-1', prompt: 'A red fox asleep in fresh snow', state: 'new' },
	{ sku: 'A-2', prompt: 'A lighthouse on a cliff at dawn', state: 'new' },
];

/** Makes the table that an example needs, by the columns that it writes, and selects it. */
export async function giveTable(server: RestClient, workflow: Workflow): Promise<void> {
	const columns: Record<string, string> = {};
	for (const { parameters } of workflow.nodes) {
		if (!parameters.dataTableId) continue;
		for (const { id, type } of parameters.columns?.schema ?? []) columns[id] = type;
	}
	const names = Object.keys(columns);
	if (names.length === 0) return;
	const table = await createDataTable(server, workflow.name, columns);
	selectTable(workflow, table);
	const rows = FIRST_ROWS.filter((row) => Object.keys(row).every((name) => names.includes(name)));
	if (rows.length > 0) await table.insert(rows);
}

/**
 * Selects a table in all nodes of a workflow that need one. Where they read its ID from another node,
 * as in `$('Table').first().json.id`, it becomes the first value of that node.
 */
export function selectTable({ nodes }: Workflow, { id, name }: DataTable): void {
	for (const { parameters } of nodes) {
		if (!parameters.dataTableId) continue;
		const source = /\$\('([^']+)'\)/.exec(parameters.dataTableId.value)?.[1];
		if (source === undefined) {
			parameters.dataTableId = { __rl: true, mode: 'list', value: id, cachedResultName: name };
		} else {
			const holder = nodes.find((node) => node.name === source)!;
			holder.parameters.assignments.assignments[0].value = id;
		}
	}
}
