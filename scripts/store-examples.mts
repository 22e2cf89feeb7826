/**
 * Stores the examples as n8n's editor would: opens and closes every node in a real editor, lets it
 * save, and writes the parameters into the files. Otherwise a user who only looks into a node changes
 * it, and pays for it again with the next step.
 */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { repositoryRoot } from '../harness/install/folders.mjs';
import { openEditor } from '../harness/server/browser.mjs';
import { exampleNames, readExample, type Workflow } from '../harness/server/example-workflows.mjs';
import { saveByMoving, visitNodes } from '../harness/server/held-workflow.mjs';
import { packPackage } from '../harness/server/packed-package.mjs';
import { startServer } from '../harness/server/server.mjs';
import { startGateway } from '../simulator/gateway.mjs';

const help = `Stores the examples as n8n's editor would, with the embedded gateway.

  npm run examples -- [name of an example]…
`;

/** The file of an example with the parameters of the saved nodes: ids and positions stay. */
async function store(name: string, saved: Workflow['nodes']): Promise<boolean> {
	const file = path.join(repositoryRoot(), 'examples', `${name}.json`);
	const before = fs.readFileSync(file, 'utf8');
	const workflow = JSON.parse(before) as Workflow;
	for (const node of workflow.nodes) {
		const found = saved.find((other) => other.name === node.name);
		if (found) node.parameters = found.parameters;
	}
	const config = await resolveConfig(file);
	const after = await format(JSON.stringify(workflow, null, '\t'), { ...config, filepath: file });
	if (after !== before) fs.writeFileSync(file, after);
	return after !== before;
}

async function main(): Promise<void> {
	const { values, positionals } = parseArgs({
		options: { help: { type: 'boolean' } },
		allowPositionals: true,
	});
	if (values.help) {
		process.stdout.write(help);
		return;
	}
	const names = exampleNames().filter((name) => !positionals.length || positionals.includes(name));
	const { tarball } = await packPackage();
	const gateway = await startGateway();
	const server = await startServer({ package: tarball });
	const editor = await openEditor(server);
	try {
		const credentials = await server.storeAccount(gateway.url, gateway.keys[0]);
		for (const name of names) {
			const workflow = readExample(name, credentials);
			const { id } = await server.createWorkflow(workflow);
			await editor.openWorkflow(id);
			await visitNodes(editor, workflow);
			const changed = await store(name, await saveByMoving(editor, server, workflow, id));
			console.log(`${name}: ${changed ? 'written' : 'unchanged'}`);
		}
	} finally {
		await editor.close();
		await server.dispose();
		await gateway.close();
	}
}

main().then(
	() => process.exit(0),
	(error: Error) => {
		console.error(`The examples were not stored: ${error.message}`);
		process.exit(1);
	},
);
