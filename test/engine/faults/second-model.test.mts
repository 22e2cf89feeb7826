/** The example that sends what was refused to a second model: for no row are two images paid. */
import '../fast-time.mjs';
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { WorkflowJson } from '../../../harness/engine/host.mjs';
import { readExample } from '../../../harness/server/example-workflows.mjs';
import type { Fault } from '../../../simulator/gateway.mjs';
import { sharedBench } from '../opened.mjs';

const bench = sharedBench();

/** The example, for one row. */
function exampleFor(prompt: string, size: string): WorkflowJson {
	const workflow = readExample('second-model');
	for (const { name, parameters } of workflow.nodes) {
		if (name === 'Prompts') parameters.jsonOutput = JSON.stringify({ rows: [{ prompt, size }] });
		if (name === 'First model') Object.assign(parameters.options as object, { maxWait: 10 });
	}
	return { ...workflow };
}

const fails = (call: Fault['call'], status: number, more: Partial<Fault> = {}): Fault[] => [
	{ call, kind: 'status', status, ...more } as Fault,
];

interface Row {
	prompt?: string;
	size?: string;
	faults?: Fault[];
}

/** What the first model may come to, and how many images are paid in all. */
const KINDS: Array<[what: string, row: Row, isSent: boolean, paid: number]> = [
	['is refused', { faults: fails('submit', 400, { times: 1 }) }, true, 1],
	['lacks the size', { size: '3000x1000' }, true, 1],
	['has an unknown outcome', { faults: fails('submit', 500, { charged: true }) }, false, 1],
	['fails as a task', { prompt: 'a fox [fail]' }, false, 1],
	['is open after Max Wait', { prompt: 'a fox [slow 9999]' }, false, 1],
	['has an image that is gone', { faults: fails('download', 404) }, false, 1],
];

test.each(KINDS)('a request that %s', async (_, row, isSent, paid) => {
	const { prompt = 'a fox', size = '1024x1024', faults = [] } = row;
	bench.gateway.setFaults(faults);
	const result = await bench.host.run(exampleFor(prompt, size));
	expect(result.status).toBe('success');
	const models = (node: string, output?: number) =>
		result.json(node, output).map(({ model, details }) => {
			return model ?? (details as N8n.IDataObject).model;
		});
	expect(models('Second model')).toEqual(isSent ? ['plain-image'] : []);
	expect(models('To look at')).toEqual(isSent ? [] : ['aurora-image-1']);
	// What the gateway has charged, whatever the items say.
	expect(bench.gateway.paid).toBe(paid);
});
