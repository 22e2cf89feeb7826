/** n8n cannot store the execution: nothing is paid twice, and no task is lost. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { RunResult } from '../../../harness/engine/host.mjs';
import { errorOf } from '../one-node.mjs';
import { opened } from '../opened.mjs';
import { openBench, type Bench, type Settings } from '../workbench.mjs';
import { nextRound, survivingWorkflow, turnTimeOfDay } from './rounds.mjs';

turnTimeOfDay();

/** Of a sub-execution with this node, the database refuses so many. */
const broken = { node: '', times: 0 };

let bench: Bench;
beforeAll(async () => {
	bench = await opened(
		openBench({
			now: () => Date.now(),
			host: {
				onWake: (until) => void nextRound(until),
				onSubExecution: ({ workflow: { nodes } }: RunResult) => {
					const isMeant = nodes.some(({ name }) => name === broken.node);
					if (isMeant && (broken.times -= 1) >= 0) throw new Error('No connection to the database');
				},
			},
		}),
	);
});
beforeEach(() => {
	bench.gateway.reset();
	broken.times = 0;
});

const RETRY = { retryOnFail: true, maxTries: 3, waitBetweenTries: 1 };
const PROMPTS = ['a fox', 'an owl'];
const paid = () => bench.gateway.count('submit');

/** Image Generation submits, Image Wait is given tasks: both are suspended. */
async function start(type: 'imageGeneration' | 'imageWait', settings: Settings) {
	const isWait = type === 'imageWait';
	const ids = isWait ? await bench.submit(...PROMPTS) : [];
	const input = PROMPTS.map((prompt, index) => ({ json: { prompt, taskId: ids[index] } }));
	const making = isWait ? {} : { prompt: '={{ $json.prompt }}', mode: 'wait' };
	const json = survivingWorkflow(type, { ...making, download: false }, settings);
	return await bench.host.run(json, { input, mode: 'trigger' });
}

const [SUPERVISOR, CHECKS] = ['Wait for Image Tasks', 'Check Image Tasks'];

test.each([
	['imageGeneration', SUPERVISOR, undefined],
	['imageWait', CHECKS, undefined],
	['imageGeneration', CHECKS, 'continueRegularOutput'],
	['imageWait', SUPERVISOR, 'continueErrorOutput'],
] as const)(
	'%s without "%s": Retry On Fail waits for the same tasks (%s)',
	async (type, node, onError) => {
		Object.assign(broken, { node, times: 2 });
		const waiting = await start(type, { ...RETRY, onError });
		expect([waiting.status, paid()]).toEqual(['waiting', 2]);
		const result = await bench.host.resume(waiting);
		expect(result.json('Done').map(({ prompt }) => prompt)).toEqual(PROMPTS);
		expect(paid()).toBe(2);
	},
);

test.each([
	['imageGeneration', CHECKS],
	['imageGeneration', SUPERVISOR],
	['imageWait', CHECKS],
] as const)(
	'%s without "%s" ends with an error that names all tasks, and n8n’s Retry waits for them',
	async (type, node) => {
		Object.assign(broken, { node, times: 3 });
		const failed = await start(type, RETRY);
		const { message, messages } = errorOf(failed);
		expect(message).toBe('No connection to the database');
		expect(messages.join().match(/task_\w+/g)).toHaveLength(2);
		const waiting = await bench.host.retry(failed);
		expect([waiting.status, paid()]).toEqual(['waiting', 2]);
	},
);

test.each([
	['imageGeneration', 'continueRegularOutput', 'Done'],
	['imageWait', 'continueErrorOutput', 'Failed'],
] as const)('%s ends with an item for each task (%s)', async (type, onError, output) => {
	Object.assign(broken, { node: CHECKS, times: 3 });
	const failed = await start(type, { ...RETRY, onError });
	const ids = failed.json(output).map(({ details }) => (details as IDataObject).taskId);
	expect(ids).toEqual(PROMPTS.map(() => expect.stringMatching(/^task_/)));
	expect(new Set(ids).size).toBe(2);
	expect([failed.status, paid()]).toEqual(['success', 2]);
});
