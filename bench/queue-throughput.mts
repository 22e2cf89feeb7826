/**
 * How the throughput of n8n's queue mode grows from one worker to two: a real server with Redis and
 * PostgreSQL, all on this machine.
 *
 *   npx tsx bench/queue-throughput.mts
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { batchWorkflow } from '../harness/server/batch-workflow.mjs';
import { packPackage } from '../harness/server/packed-package.mjs';
import { startQueue, whyNoQueue, type Queue } from '../harness/server/queue-mode.mjs';
import { openTarget, type Target } from './processes/children.mjs';
import { MODEL } from './work.mjs';

interface Load {
	title: string;
	executions: number;
	/** Tasks of each execution. */
	prompts: number;
	taskSeconds: number;
}

/** Both are bound by the executions that a worker takes at a time; the second asks only once for each. */
const LOADS: Load[] = [
	{ title: 'tasks of 5 s', executions: 60, prompts: 10, taskSeconds: 5 },
	{ title: 'tasks that are done at once', executions: 60, prompts: 10, taskSeconds: 0 },
];

async function createWorkflow({ main }: Queue, { url, key }: Target): Promise<string> {
	const credentials = await main.storeAccount(url, key);
	const path = `bench-${credentials.mediaGatewayApi.id}`;
	const wait = { download: false, pollInterval: 3 };
	const workflow = await main.createWorkflow(
		batchWorkflow({ path, credentials, model: MODEL, wait }),
	);
	await main.activate(workflow.id);
	// Right after activation a webhook may still be unknown.
	await sleep(1000);
	return path;
}

/** Seconds from the first webhook to the end of the last execution. */
async function measure(queue: Queue, load: Load): Promise<number> {
	const target = await openTarget({ taskSeconds: load.taskSeconds });
	try {
		const path = await createWorkflow(queue, target);
		const prompts = Array.from({ length: load.prompts }, (_, number) => `picture ${number}`);
		const known = new Set((await queue.main.executions()).map(({ id }) => String(id)));
		const begun = Date.now();
		const calls = Array.from({ length: load.executions }, async () =>
			queue.main.runWebhook(path, { prompts }),
		);
		await Promise.all(calls);
		for (;;) {
			const all = (await queue.main.executions({ limit: '250' })).filter(
				({ id }) => !known.has(String(id)),
			);
			const over = all.filter(({ status }) => /success|error|crashed/.test(status));
			const failed = over.filter(({ status }) => status !== 'success');
			if (failed.length > 0) throw new Error(`${failed.length} executions failed`);
			if (over.length >= load.executions) return (Date.now() - begun) / 1000;
			if (Date.now() - begun > 300_000) throw new Error(`Only ${over.length} ended in 300 s`);
			await sleep(200);
		}
	} finally {
		await target.close();
	}
}

async function main(): Promise<void> {
	const missing = whyNoQueue();
	if (missing !== undefined) return console.log(missing);
	const { tarball } = await packPackage();
	const seconds: Record<string, number[]> = {};
	for (const workers of [1, 2]) {
		const queue = await startQueue({ version: '2', package: tarball, workers });
		try {
			await measure(queue, { title: 'warm-up', executions: 10, prompts: 1, taskSeconds: 0 });
			for (const load of LOADS) {
				const took = await measure(queue, load);
				(seconds[load.title] ??= []).push(took);
				console.log(`${workers} worker(s), ${load.title}: ${took.toFixed(1)} s`);
			}
		} finally {
			await queue.dispose();
		}
	}
	console.log('\n| Load | One worker | Two workers | Growth |\n|---|---|---|---|');
	for (const { title, executions, prompts } of LOADS) {
		const [one, two] = seconds[title] as [number, number];
		const rate = (took: number) =>
			`${took.toFixed(1)} s, ${((executions * prompts) / took).toFixed(1)} tasks/s`;
		console.log(
			`| ${executions} executions of ${prompts} ${title} | ${rate(one)} | ${rate(two)} | ${(one / two).toFixed(2)} × |`,
		);
	}
}

main().then(
	() => process.exit(0),
	(error: Error) => {
		console.error(error.stack ?? error.message);
		process.exit(1);
	},
);
