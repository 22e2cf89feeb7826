/**
 * What a stored run comes to when something ends or is away at each of its points: a table, and exit
 * code 1 if a run ends as anything but images, failed items that lead to them, or an error, or if
 * something was paid for twice.
 *
 * By command: `tsx test/n8n/restarts.mts ['SIGKILL, 3 workers']…`; without a round, all. A round is one fault
 * that hits a run at every point at the same time.
 */
import { setTimeout as sleep } from 'node:timers/promises';

import { batchWorkflow } from '../../harness/server/batch-workflow.mjs';
import { itemsOf, type Credentials } from '../../harness/server/example-workflows.mjs';
import { packPackage } from '../../harness/server/packed-package.mjs';
import { startQueue, whyNoQueue, type Queue } from '../../harness/server/queue-mode.mjs';
import { SHORT_MINUTE, type Execution } from '../../harness/server/server.mjs';
import { until } from '../../harness/wait-until.mjs';
import { startGateway, type Gateway } from '../../simulator/gateway.mjs';

/** Where a run is when something ends. */
const POINTS = [
	'in the submits',
	'between checks',
	'in a check',
	'in the last check',
	'before the keeper is taken up',
	'before the supervisor is taken up',
	'before the run is taken up',
] as const;
type Point = (typeof POINTS)[number];

/** Which of the four executions of a run can't be taken up, and the one before that has ended. */
const LOCKED: Partial<Record<Point, number>> = {
	'before the keeper is taken up': 2,
	'before the supervisor is taken up': 1,
	'before the run is taken up': 0,
};
const CHECKS = 3;
const IMAGES = 3;
/** How long the requests are held at the longest: the faults' end releases them. */
const HELD_MS = 100_000;
/** How long requests are still held once something has begun to end. */
const RELEASED_AFTER_MS = 4000;
const SETTLED_WITHIN_MS = 240_000;
/** The IDs of the last two seconds may be lost in a crash. */
const STORED_AFTER_MS = 3000;

interface Fault {
	/** Whether the worker that has all runs is gone, and its runs are for the others. */
	endsWorker?: boolean;
	strike: (queue: Queue) => Promise<void>;
}

const FAULTS: Record<string, Fault> = {
	SIGTERM: { endsWorker: true, strike: async ({ workers }) => await workers[0]!.stop() },
	SIGKILL: { endsWorker: true, strike: async ({ workers }) => await workers[0]!.stop('SIGKILL') },
	'PostgreSQL 10 s': { strike: async (queue) => await queue.outage('postgres', 10_000) },
	'Redis 15 s': { strike: async (queue) => await queue.outage('redis', 15_000) },
	'Redis 15 s, empty': { strike: async (queue) => await queue.outage('redis', 15_000, true) },
	'main SIGTERM': { strike: async ({ main }) => await main.stop() },
	'main SIGKILL': { strike: async ({ main }) => await main.stop('SIGKILL') },
};

interface Run {
	point: Point;
	workflowId: string;
	prompts: string[];
}

interface Row {
	point: Point;
	fault: string;
	workers: number;
	list: string;
	images: number;
	failed: number;
	charges: number;
	/** Paid tasks whose IDs are in no execution and in no log. */
	lost: number;
	isHonest: boolean;
	error: string;
}

class Matrix {
	private rounds = 0;

	constructor(
		private readonly queue: Queue,
		private readonly gateway: Gateway,
		private readonly credentials: Credentials,
	) {}

	/** One fault that hits a run at each point. */
	async play(name: string, workers: number): Promise<Row[]> {
		const { queue, gateway } = this;
		const { endsWorker, strike } = FAULTS[name]!;
		gateway.reset();
		this.rounds += 1;
		await this.staff(endsWorker ? 1 : workers);
		gateway.setFaults([
			// The last one is under way when something ends.
			this.held('submit', 'in the submits', IMAGES - 1),
			this.held('poll', 'in a check'),
			this.held('download', 'in the last check'),
		]);
		const releases: Array<() => void> = [];
		const stored = await Promise.all(
			POINTS.slice(1).map(async (point) => {
				const run = await this.start(point);
				await this.hold(run, releases);
				return run;
			}),
		);
		const submitting = await this.start('in the submits');
		await until('the charges', 60, () => this.paidFor(submitting) === IMAGES - 1, 50);
		await sleep(STORED_AFTER_MS);
		await this.reach(stored[0]!);

		const struck = strike(queue);
		await Promise.race([struck, sleep(RELEASED_AFTER_MS)]);
		gateway.setFaults([]);
		for (const release of releases) release();
		await struck;
		// With one worker, the same one takes up what is left; with three, only the others do.
		const gone = endsWorker && workers > 1 ? 1 : 0;
		for (const server of [queue.main, ...queue.workers.slice(gone, workers)]) {
			if (!server.runs) await server.start();
		}
		const runs = [submitting, ...stored];
		return await Promise.all(
			runs.map(async (run) => ({ ...(await this.end(run)), fault: name, workers })),
		);
	}

	private paidFor({ prompts }: Run): number {
		return prompts.filter((prompt) => this.gateway.paidByPrompt[prompt]).length;
	}

	private nameOf(point: Point): string {
		return `${point.replaceAll(' ', '-')}-${this.rounds}`;
	}

	private held(call: 'submit' | 'poll' | 'download', point: Point, after = 0) {
		return { call, kind: 'latency', ms: HELD_MS, match: this.nameOf(point), after } as const;
	}

	/** So many workers run: the first ones. */
	private async staff(count: number): Promise<void> {
		await Promise.all(
			this.queue.workers.map(async (worker, index) => {
				if (index < count && !worker.runs) await worker.start();
				if (index >= count) await worker.stop();
			}),
		);
	}

	/** Starts a run of three images. It is back once the run is stored, or submits. */
	private async start(point: Point): Promise<Run> {
		const { main } = this.queue;
		const path = this.nameOf(point);
		const slow = point === 'between checks' ? ' [slow 60]' : '';
		const prompts = Array.from({ length: IMAGES }, (_, index) => `${path} ${index}${slow}`);
		const submit = { mode: 'wait', options: { surviveRestarts: true, maxWait: 400 } };
		const workflow = batchWorkflow({ path, credentials: this.credentials, submit });
		const { id: workflowId } = await main.createWorkflow(workflow);
		await main.activate(workflowId);
		await main.runWebhook(path, { prompts });
		const run = { point, workflowId, prompts };
		if (point === 'in the submits') return run;
		return await until(`a stored run, ${point}`, 120, async () => {
			const executions = await this.executionsOf(run);
			// The one that had the tasks while they were submitted is deleted then.
			return executions.length === CHECKS + 1 && executions[0]!.status === 'waiting' && run;
		});
	}

	/** Lets a stored run come to its point. @param releases gets what releases it if it is locked */
	private async hold(run: Run, releases: Array<() => void>): Promise<void> {
		const locked = LOCKED[run.point];
		if (locked !== undefined) {
			const { id } = (await this.executionsOf(run))[locked]!;
			releases.push(await this.queue.lock(id));
		}
		await this.reach(run);
	}

	private async reach(run: Run): Promise<void> {
		await until(`a run ${run.point}`, 90, async () => await this.isAt(run), 50);
	}

	private async isAt(run: Run): Promise<boolean> {
		const executions = await this.executionsOf(run);
		const locked = LOCKED[run.point];
		if (locked !== undefined) return executions[locked + 1]?.status === 'success';
		const checks = executions[CHECKS];
		if (checks === undefined) return false;
		const { status, waitTill } = checks;
		if (run.point !== 'between checks') return status === 'running';
		return status === 'waiting' && Date.parse(waitTill!) > Date.now() + 1000;
	}

	/** All executions of a run, the user's first. */
	private async executionsOf({ workflowId }: Run): Promise<Execution[]> {
		const executions = await this.queue.main.executions({ workflowId });
		return executions.sort((one, other) => Number(one.id) - Number(other.id));
	}

	/** What a run came to. */
	private async end(run: Run): Promise<Omit<Row, 'fault' | 'workers'>> {
		const { main } = this.queue;
		const [outer] = await this.executionsOf(run);
		const execution = await main.settled(outer!.id, SETTLED_WITHIN_MS).catch(() => undefined);
		const items = execution ? itemsOf(execution, 'Submit') : [];
		const images = items.filter(({ binary }) => binary !== undefined).length;
		const failed = items.filter(({ json }) => json.error && json.details?.taskId).length;
		const charges = run.prompts.map((prompt) => this.gateway.paidByPrompt[prompt] ?? 0);
		const found = await this.found(run);
		const isComplete = images + failed === IMAGES && items.length === IMAGES;
		const { status = 'still waiting' } = execution ?? {};
		const others = (await this.executionsOf(run)).slice(1).map((other) => other.status);
		const isHonest = status === 'success' ? isComplete : execution !== undefined;
		return {
			point: run.point,
			list: `${status} (${others.join(', ')})`,
			images,
			failed,
			charges: charges.reduce((sum, count) => sum + count, 0),
			lost: this.paidFor(run) - found.size,
			isHonest: isHonest && Math.max(...charges) <= 1,
			error: String(execution?.data?.resultData?.error?.message ?? ''),
		};
	}

	/** The prompts of the tasks that an execution of the run or a log names. */
	private async found(run: Run): Promise<Set<string>> {
		const { main, servers } = this.queue;
		const executions = await this.executionsOf(run);
		const texts = servers.map(({ logs }) => logs);
		for (const { id } of executions) texts.push(JSON.stringify(await main.execution(id)));
		const ids = texts.flatMap((text) => text.match(/task_[\w-]+/g) ?? []);
		const prompts = ids.map((id) =>
			String((this.gateway.task(id) as { prompt?: unknown })?.prompt ?? ''),
		);
		return new Set(prompts.filter((prompt) => run.prompts.includes(prompt)));
	}
}

const COLUMNS = [
	'point',
	'fault',
	'workers',
	'list',
	'images',
	'failed',
	'charges',
	'lost',
] as const;

const line = (cells: unknown[]) => `| ${cells.join(' | ')} |`;

function tell(rows: Row[]): void {
	for (const row of rows) {
		const remark = row.isHonest ? row.error : `NOT HONEST ${row.error}`;
		console.log(line([...COLUMNS.map((column) => row[column]), remark]));
	}
}

const ALL = [1, 3].flatMap((workers) =>
	Object.keys(FAULTS).map((fault) => `${fault}, ${workers} workers`),
);

async function main(args: string[]): Promise<void> {
	const missing = whyNoQueue();
	if (missing) throw new Error(missing);
	const rounds = args.length > 0 ? args : ALL;
	const { tarball } = await packPackage();
	const gateway = await startGateway({ taskSeconds: [2, 4], imageSize: 64 });
	const env = {
		...SHORT_MINUTE,
		QUEUE_BULL_REDIS_TIMEOUT_THRESHOLD: '60000',
		// Minutes: the shortest that n8n has.
		N8N_EXECUTIONS_QUEUE_RECOVERY_INTERVAL: '1',
		// Those that are locked have a connection each.
		DB_POSTGRESDB_POOL_SIZE: '10',
		// No runner for the Code node: there is none.
		N8N_RUNNERS_MODE: 'external',
		N8N_RUNNERS_AUTH_TOKEN: 'none',
	};
	let queue: Queue | undefined;
	try {
		queue = await startQueue({ version: '2', package: tarball, workers: 3, env });
		const credentials = await queue.main.storeAccount(gateway.url, gateway.keys[0]);
		const matrix = new Matrix(queue, gateway, credentials);
		console.log(line([...COLUMNS, 'remark']));
		console.log(line([...COLUMNS, 'remark'].map(() => '---')));
		for (const round of rounds) {
			const [, fault, workers] = /^(.*), (\d) workers$/.exec(round)!;
			const begun = Date.now();
			const rows = await matrix.play(fault!, Number(workers));
			tell(rows);
			if (rows.some(({ isHonest }) => !isHonest)) process.exitCode = 1;
			console.error(`${round}: ${((Date.now() - begun) / 1_000).toFixed(0)} s`);
		}
	} finally {
		await queue?.dispose();
		await gateway.close();
	}
}

main(process.argv.slice(2)).catch((error: unknown) => {
	console.error(error);
	process.exitCode = 1;
});
