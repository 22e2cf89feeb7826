/**
 * A night of 400 rows in eight executions on three workers: one is killed, one is updated (an orderly
 * end and a start), and PostgreSQL is away for ten seconds. Prints what became of the rows, and what the
 * gateway charged; exit code 1 if a row has neither image nor reason, or the counts differ.
 *
 * By command: `tsx test/n8n/night.mts`. It takes five to ten minutes, with n8n's own times.
 */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

import { batchWorkflow } from '../../harness/server/batch-workflow.mjs';
import { itemsOf } from '../../harness/server/example-workflows.mjs';
import { packPackage } from '../../harness/server/packed-package.mjs';
import { startQueue, whyNoQueue, type Queue } from '../../harness/server/queue-mode.mjs';
import type { Execution, Json, N8nServer } from '../../harness/server/server.mjs';
import { until } from '../../harness/wait-until.mjs';
import { startGateway, type Gateway } from '../../simulator/gateway.mjs';

const EXECUTIONS = 8;
const ROWS = 50;
/** Seconds that the tasks take: the first ones end in the first check, the last after four minutes. */
const [QUICKEST, SLOWEST] = [10, 240];

/** The prompt of a row: some fail, and some are refused and not charged. */
function promptOf(row: number): string {
	const slow = QUICKEST + ((row * 37) % (SLOWEST - QUICKEST));
	const fate = row % 50 === 7 ? ' [fail]' : row % 50 === 19 ? ' [refuse]' : '';
	return `row ${row} [slow ${slow}]${fate}`;
}

class Night {
	private readonly begun = Date.now();
	private ids: string[] = [];
	private workflowId = '';

	constructor(
		private readonly queue: Queue,
		private readonly gateway: Gateway,
	) {}

	async run(): Promise<boolean> {
		const { main, workers } = this.queue;
		const [killed, updated] = workers as [N8nServer, N8nServer];
		const credentials = await main.storeAccount(this.gateway.url, this.gateway.keys[0]);
		const options = { surviveRestarts: true, maxWait: 1200 };
		const submit = { mode: 'wait', options };
		const workflow = batchWorkflow({ path: 'night', credentials, submit });
		Object.assign(workflow.nodes.at(-1)!, { onError: 'continueRegularOutput' });
		const { id } = await main.createWorkflow(workflow);
		this.workflowId = id;
		await main.activate(id);
		for (let index = 0; index < EXECUTIONS; index += 1) {
			const rows = Array.from({ length: ROWS }, (_, row) => promptOf(index * ROWS + row));
			await main.runWebhook('night', { prompts: rows });
		}
		const all = await main.executions({ workflowId: id });
		this.ids = all.filter(({ mode }) => mode === 'webhook').map((execution) => execution.id);
		for (const execution of this.ids) {
			await main.until(execution, (status) => status === 'waiting', 300_000);
		}
		this.tell(`all are stored, ${this.gateway.paid} paid`);

		await this.checkOf(killed);
		await killed.stop('SIGKILL');
		this.tell('a worker was killed in a check');
		await this.checkOf(updated);
		await this.queue.outage('postgres', 10_000);
		this.tell('PostgreSQL is back');
		await this.checkOf(updated);
		await updated.stop();
		this.tell('a worker was shut down in a check');
		await Promise.all([killed.start(), updated.start()]);
		this.tell('both are back');
		const ended = [];
		for (const execution of this.ids) ended.push(await main.settled(execution, 1_200_000));
		this.tell('all have ended');
		const isRight = this.isRight(ended);
		if (!isRight) await this.keep();
		return isRight;
	}

	/** Waits until a worker takes an execution up: all are checks now. */
	private async checkOf(worker: N8nServer): Promise<void> {
		const before = this.queue.begunBy(worker).length;
		const begins = () => this.queue.begunBy(worker).length > before;
		await until('an execution for a worker', 180, begins, 20);
	}

	private isRight(ended: Execution[]): boolean {
		const { gateway } = this;
		const items: Json[] = ended.flatMap((execution) => itemsOf(execution, 'Submit'));
		const images = items.filter(({ binary }) => binary !== undefined);
		const failed = items.filter(({ json }) => json.error !== undefined);
		const charges = Object.values(gateway.paidByPrompt);
		const prompts = new Set(items.map(({ json }) => json.prompt ?? json.details?.prompt));
		const unlisted = Object.keys(gateway.paidByPrompt).filter((prompt) => !prompts.has(prompt));
		console.log({
			executions: counted(ended.map(({ status }) => status)),
			rows: EXECUTIONS * ROWS,
			images: images.length,
			'failed items': counted(
				failed.map(({ json }) => String(json.error).replace(/task_\w+/, '…')),
			),
			'charged by the gateway': gateway.paid,
			'charged for one prompt at most': Math.max(...charges),
			'charged and not listed': unlisted,
		});
		const isWhole = images.length + failed.length === EXECUTIONS * ROWS;
		return isWhole && unlisted.length === 0 && Math.max(...charges) === 1;
	}

	/** Writes what n8n has of the night into files, for a person who looks for the reason. */
	private async keep(): Promise<void> {
		const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'media-gateway-night-'));
		const write = (name: string, text: string) => fs.writeFileSync(path.join(folder, name), text);
		for (const { id } of await this.queue.main.executions({ workflowId: this.workflowId })) {
			const execution = await this.queue.main.execution(id);
			write(`execution-${id}.json`, JSON.stringify(execution, null, '\t'));
		}
		for (const [index, { logs }] of this.queue.servers.entries()) {
			write(index === 0 ? 'main.log' : `worker-${index}.log`, logs);
		}
		this.tell(`its executions and logs are in ${folder}`);
	}

	private tell(text: string): void {
		console.log(`${((Date.now() - this.begun) / 1_000).toFixed(0)} s: ${text}`);
	}
}

/** How often each text comes. */
function counted(texts: string[]): Record<string, number> {
	const counts: Record<string, number> = {};
	for (const text of texts) counts[text] = (counts[text] ?? 0) + 1;
	return counts;
}

async function main(): Promise<void> {
	const missing = whyNoQueue();
	if (missing) throw new Error(missing);
	const { tarball } = await packPackage();
	const gateway = await startGateway({ imageSize: 64, requestsPerSecond: 50 });
	let queue: Queue | undefined;
	try {
		const env = {
			QUEUE_BULL_REDIS_TIMEOUT_THRESHOLD: '60000',
			// A check that ends while the database is away stays running until n8n looks for it.
			N8N_EXECUTIONS_QUEUE_RECOVERY_INTERVAL: '1',
		};
		queue = await startQueue({
			version: '2',
			package: tarball,
			workers: 3,
			ownTimes: true,
			env,
		});
		if (!(await new Night(queue, gateway).run())) process.exitCode = 1;
	} finally {
		await queue?.dispose();
		await gateway.close();
	}
}

main().catch((error: unknown) => {
	console.error(error);
	process.exitCode = 1;
});
