/**
 * Counts what three images by Submit and Wait pass through: the functions of the package that V8 saw
 * called, by file, in the order of the house.
 *
 *   npx tsx scripts/path-count.mts [--package FOLDER] [--names]
 */
import { Session, type Profiler } from 'node:inspector';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createHost } from '../harness/engine/host.mjs';
import type { WorkflowJson } from '../harness/engine/host-types.mjs';
import { startGateway } from '../simulator/gateway.mjs';

const { values } = parseArgs({
	options: {
		/** A checkout that is built, to compare with. */
		package: { type: 'string', default: join(import.meta.dirname, '..') },
		names: { type: 'boolean', default: false },
	},
});
const dist = join(values.package, 'dist');

const session = new Session();
session.connect();

function ask<Answer>(method: string, parameters: object = {}): Promise<Answer> {
	return new Promise((resolve, reject) => {
		session.post(method, parameters, (error, answer) =>
			error ? reject(error) : resolve(answer as Answer),
		);
	});
}

const gateway = await startGateway({ taskSeconds: 1 });
const host = await createHost({
	packageFolder: values.package,
	credentials: { mediaGatewayApi: { baseUrl: gateway.url, apiKey: gateway.keys[0] } },
});
const start = {
	id: 'start',
	name: 'Start',
	type: 'n8n-nodes-base.manualTrigger',
	typeVersion: 1,
	position: [0, 0] as [number, number],
	parameters: {},
};
const image = {
	id: 'image',
	name: 'Image',
	type: 'n8n-nodes-media-gateway.imageGeneration',
	typeVersion: 1,
	position: [200, 0] as [number, number],
	parameters: {
		model: { __rl: true, mode: 'name', value: 'aurora-image-1' },
		prompt: '={{ $json.prompt }}',
		mode: 'wait',
	},
	credentials: { mediaGatewayApi: { id: '1', name: 'mediaGatewayApi' } },
};
const workflow = {
	nodes: [start, image],
	connections: { Start: { main: [[{ node: 'Image', type: 'main', index: 0 }]] } },
} as WorkflowJson;
const input = ['a lighthouse', 'a fox', 'a harbor'].map((prompt) => ({ json: { prompt } }));

// Once the nodes are loaded: what builds their fields is no part of the path.
await ask('Profiler.enable');
await ask('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
const run = await host.run(workflow, { input });
const { result } = await ask<Profiler.TakePreciseCoverageReturnType>(
	'Profiler.takePreciseCoverage',
);
await gateway.close();
if (run.error) throw new Error(run.error.message);
if (run.output('Image').length !== input.length) throw new Error('Not every image came.');

const files = result
	.filter(({ url }) => url.startsWith('file:') || url.startsWith('/'))
	.map(({ url, functions }) => ({
		file: relative(dist, url.startsWith('file:') ? fileURLToPath(url) : url),
		called: functions.filter(
			({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0,
		),
	}))
	.filter(({ file, called }) => !file.startsWith('..') && called.length > 0)
	.sort((one, other) => other.called.length - one.called.length);
for (const { file, called } of files) {
	console.log(`${String(called.length).padStart(4)}  ${file}`);
	if (!values.names) continue;
	for (const { functionName, ranges } of called) {
		console.log(`        ${functionName} × ${ranges[0]?.count}`);
	}
}
const total = files.reduce((sum, { called }) => sum + called.length, 0);
console.log(`${total} named functions in ${files.length} files`);
process.exit(0);
