/** Performs one action of a world: a run or a retry, with whatever happens to it. */
import type { Crash, RunResult, WorkflowJson } from '../../../harness/engine/host.mjs';
import { textOf } from './text-of.mjs';
import type { World } from '../plan/world.mjs';
import type { Service } from '../service/service.mjs';
import { clock } from '../time/take-over.mjs';
import type { Destination } from '../wire/messages.mjs';
import type { Ended } from '../time/virtual-clock.mjs';
import type { Engine } from './engine.mjs';
import type { Step } from './step.mjs';
import { isProduction, survives } from './workflow.mjs';
import { wire } from '../wire/in-process.mjs';

export interface Stage {
	world: World;
	engine: Engine;
	service: Service;
	workflow: WorkflowJson;
	/** What is retried; also a run may begin with what n8n has stored before it. */
	earlier?: RunResult;
}

/** An action that is under way. */
interface Performance {
	/** Whether it is over; what it has left behind is noted at that moment. */
	isDone(): boolean;
	/** Whether it came to an end by itself. */
	hasEnded(): boolean;
	/** What was sent after it, some time later. */
	noteLate(): void;
	/** It is given up, if it isn't done. */
	close(ended: Ended): void;
}

const MOST_REQUESTS = 4000;
/** Five tries of three rounds of six requests of an hour each: longer takes no run. */
const LONGEST_MS = 30 * 86_400_000;
const AFTERWARDS_MS = 20 * 60_000;
/** Until a process that was killed has come back. */
const RESTART_MS = 20_000;

/** The sub-execution that checks tasks; the others only wait for it. */
const isWatcher = ({ workflow }: RunResult): boolean =>
	workflow.name?.endsWith('(checking images)') === true;

export async function perform(step: Step, stage: Stage): Promise<void> {
	const performance = begin(step, stage);
	const { settled: settle } = wire;
	const deadline = clock.now + LONGEST_MS;
	const ended = await clock.run({ done: () => performance.isDone(), deadline, settle });
	if (ended === 'done' && performance.hasEnded()) {
		await clock.run({ done: () => false, deadline: clock.now + AFTERWARDS_MS, settle });
		performance.noteLate();
	}
	performance.close(ended);
	clock.forget();
	wire.reset();
}

function begin(step: Step, stage: Stage): Performance {
	const { world, engine, service, workflow, earlier } = stage;
	const { action, flow } = step;
	const { host, subExecutions } = engine;
	const stop = new AbortController();
	const { requests } = service.books;
	const before = requests.length;
	let settledAct = false;
	let life = { alive: true };
	let suspended: RunResult | undefined;
	let onDeath: ((crash: Crash) => void) | undefined;

	/** A process that can be killed, and another one after it. */
	const connect = (): void => {
		const own = { alive: true };
		life = own;
		clock.begin();
		wire.connect({ isAlive: () => own.alive, handle });
	};
	const die = (): void => {
		life.alive = false;
		clock.kill();
		wire.reset();
		engine.forgetRates();
		// Whoever has been resumed may be in the next round of a loop, with nothing suspended.
		if (suspended === undefined || onDeath === undefined || !survives(flow)) {
			step.ended = 'crashed';
			step.crashedAt = clock.now;
			return;
		}
		step.restarts += 1;
		const restart = (): void => {
			connect();
			onDeath?.('output');
		};
		clock.schedule(RESTART_MS, restart, 'gateway');
	};
	const handle: Destination['handle'] = (request) => {
		const count = requests.length - before + 1;
		const delivery = service.handle(request);
		if (count === action.crashAfter) die();
		if (count === action.stopAfter) {
			clock.schedule(1 + (world.seed % 700), () => press(), 'gateway');
		}
		if (count > MOST_REQUESTS) {
			life.alive = false;
			step.ended = 'tooManyRequests';
		}
		return delivery;
	};
	const press = (): void => {
		if (settledAct || !life.alive) return;
		step.ended = 'stopped';
		step.stoppedAt = clock.now;
		// Whoever stops a suspended execution ends it where it is stored.
		if (suspended !== undefined) host.delete(suspended.executionId);
		stop.abort();
	};
	connect();

	let checks = 0;
	subExecutions.onResume = (child) => {
		if (!isWatcher(child)) return undefined;
		const end = world.checks[checks] ?? 'well';
		checks += 1;
		if (end === 'well') return undefined;
		step.restarts += 1;
		return end;
	};
	subExecutions.whileResumed = async (child, running) => {
		if (!isWatcher(child)) return await running;
		return await new Promise<RunResult | Crash>((resolve, reject) => {
			onDeath = resolve;
			running.then(resolve, reject);
		}).finally(() => (onDeath = undefined));
	};
	subExecutions.onSubProgress = ({ type, output }) => {
		if (type === 'nodeFinished') step.saved.push(textOf(output));
	};

	const whole = async (): Promise<RunResult> => {
		const mode = isProduction(flow) ? 'trigger' : 'manual';
		const options = {
			mode,
			signal: stop.signal,
			startNode: 'Give',
			onProgress: ({ type, output }: { type: string; output?: unknown }) => {
				if (flow.savesProgress && type === 'nodeFinished') step.saved.push(textOf(output));
			},
		} as const;
		let result =
			earlier === undefined
				? await host.run(workflow, options)
				: await host.retry(earlier, action.kind === 'retryEdited' ? workflow : undefined, options);
		while (result.status === 'waiting' && !stop.signal.aborted) {
			step.suspensions += 1;
			suspended = result;
			result = await host.resume(result, { signal: stop.signal });
			suspended = undefined;
		}
		return result;
	};
	const isOver = (): boolean => ['crashed', 'tooManyRequests'].includes(step.ended);
	whole().then(
		(result) => {
			if (isOver()) return;
			step.result = result;
			settledAct = true;
		},
		(error: unknown) => {
			if (isOver()) return;
			step.problem = `The host failed: ${String((error as Error)?.stack ?? error)}`;
			settledAct = true;
		},
	);

	let sent: number | undefined;
	const note = (): void => {
		if (sent !== undefined) return;
		step.endedAt = clock.now;
		step.leftTimers = clock.pending;
		step.leftRequests = wire.inFlight();
		sent = requests.length;
	};
	return {
		isDone: () => {
			const isDone = settledAct || isOver();
			if (isDone) note();
			return isDone;
		},
		hasEnded: () => !isOver(),
		noteLate: () => {
			step.lateRequests = requests.length - (sent ?? 0);
		},
		close: (ended) => {
			if (!settledAct && !isOver()) step.ended = ended;
			note();
			life.alive = false;
		},
	};
}
