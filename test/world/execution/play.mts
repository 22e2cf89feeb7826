/** Plays a world: runs its acts one after the other, on the real engine, against its gateway. */
import type { RunResult, WorkflowJson } from '../../../harness/engine/host.mjs';
import { seeded } from '../../../simulator/seed.mjs';
import type { Act, World } from '../plan/world.mjs';
import { KEYS } from '../service/accounts-of-world.mjs';
import { Service } from '../service/service.mjs';
import { clock, real, setRandom } from '../time/take-over.mjs';
import type { Ended } from '../time/virtual-clock.mjs';
import type { Destination, Way } from '../wire/messages.mjs';
import type { Engine } from './engine.mjs';
import { isTool, workflowFor, type Input } from './workflow.mjs';

/** One act, and everything that is known of it afterwards. */
export interface Step {
	number: number;
	act: Act;
	/** What the paid node adds to each prompt in this act. */
	edited: string;
	/** Not there if the process was killed, or never came to an end. */
	result?: RunResult;
	ended: 'done' | 'stopped' | 'crashed' | 'parked' | Exclude<Ended, 'done'> | 'tooManyRequests';
	startedAt: number;
	endedAt: number;
	/** Afterwards: what still went on. */
	leftTimers: number;
	leftRequests: number;
	lateRequests: number;
	/** When the execution was parked, and what its stored data held then. */
	parks: number;
}

export interface Played {
	world: World;
	service: Service;
	input: Input;
	steps: Step[];
	unhandled: string[];
	/** Real milliseconds that the event loop was kept by one event. */
	blockedMs: number;
}

const BEGINNING = Date.UTC(2027, 0, 1);
const MOST_REQUESTS = 4000;
/** Five tries of three rounds of six requests of an hour each: longer takes no run. */
const LONGEST_MS = 30 * 86_400_000;
const AFTERWARDS_MS = 20 * 60_000;

const unhandled: string[] = [];
process.on('unhandledRejection', (reason) =>
	unhandled.push(String((reason as Error)?.stack ?? reason)),
);

let worlds = 0;

export async function play(world: World, { host, credential }: Engine, way: Way): Promise<Played> {
	worlds += 1;
	clock.forget();
	clock.now = BEGINNING;
	setRandom(seeded(world.seed));
	way.reset();
	unhandled.length = 0;
	const { flow } = world;
	const origin = way.origin(worlds);
	const chance = seeded(world.seed + 1);
	const service = new Service(world.service, chance, origin, way.foreignOrigin);
	const key = flow.trouble === 'placeholderKey' ? '<API_KEY>' : KEYS[flow.account];
	for (const name of Object.keys(credential)) delete credential[name];
	Object.assign(credential, {
		baseUrl: flow.trouble === 'noAddress' ? '' : origin,
		apiKey: flow.trouble === 'wrongKey' ? 'sk-nobody-knows-this-key' : key,
	});
	const input = inputFor(world, service);
	const steps: Step[] = [];
	let blockedMs = 0;
	let earlier: RunResult | undefined;

	for (const [number, act] of world.acts.entries()) {
		if (number > 0 && earlier?.status !== 'error') break;
		service.books.step = number;
		const edited = act.kind === 'retryEdited' ? ` edited ${number}` : (steps.at(-1)?.edited ?? '');
		const workflow = workflowFor(flow, input, edited);
		const step: Step = {
			number,
			act,
			edited,
			ended: 'done',
			startedAt: clock.now,
			endedAt: 0,
			leftTimers: 0,
			leftRequests: 0,
			lateRequests: 0,
			parks: 0,
		};
		steps.push(step);
		blockedMs = Math.max(blockedMs, await perform(step, service, workflow, earlier));
		earlier = step.result;
		if (step.ended !== 'done') break;
	}
	return { world, service, input, steps, unhandled: [...unhandled], blockedMs };

	async function perform(
		step: Step,
		to: Service,
		workflow: WorkflowJson,
		failed: RunResult | undefined,
	): Promise<number> {
		const { act } = step;
		const stop = new AbortController();
		const before = to.books.requests.length;
		let alive = true;
		let settledAct = false;
		let blocked = 0;
		const destination: Destination = {
			isAlive: () => alive,
			handle: (request) => {
				const count = to.books.requests.length - before + 1;
				const delivery = to.handle(request);
				if (count === act.crashAfter) {
					alive = false;
					clock.forget('process');
					step.ended = 'crashed';
				}
				if (count === act.stopAfter) {
					clock.schedule(1 + (world.seed % 700), () => press(), 'gateway');
				}
				if (count > MOST_REQUESTS) {
					alive = false;
					step.ended = 'tooManyRequests';
				}
				return delivery;
			},
		};
		const press = (): void => {
			if (settledAct) return;
			step.ended = 'stopped';
			stop.abort();
		};
		way.connect(destination);

		const whole = async (): Promise<RunResult> => {
			const mode = flow.parkAfter === undefined ? 'manual' : 'trigger';
			const options = { mode, signal: stop.signal, startNode: 'Give' } as const;
			let result =
				failed === undefined
					? await host.run(workflow, options)
					: await host.retry(failed, act.kind === 'retryEdited' ? workflow : undefined, options);
			while (result.status === 'waiting' && !stop.signal.aborted) {
				step.parks += 1;
				result = await host.resume(result, { signal: stop.signal });
			}
			return result;
		};
		whole().then(
			(result) => {
				if (!alive) return;
				step.result = result;
				settledAct = true;
			},
			(error: unknown) => {
				if (!alive) return;
				unhandled.push(`The host failed: ${String((error as Error)?.stack ?? error)}`);
				settledAct = true;
			},
		);
		const settle = async (): Promise<void> => {
			const began = real.now();
			const { user, system } = process.cpuUsage();
			await way.settled();
			const used = process.cpuUsage({ user, system });
			// On a busy machine a process waits for its turn: only its own work counts.
			const worked = (used.user + used.system) / 1000;
			blocked = Math.max(blocked, Math.min(real.now() - began, worked));
		};
		const deadline = clock.now + LONGEST_MS;
		const done = (): boolean => settledAct || !alive;
		const ended = await clock.run({ done, deadline, settle });
		if (ended !== 'done') step.ended = ended;
		step.endedAt = clock.now;
		step.leftTimers = clock.pending;
		step.leftRequests = way.inFlight();
		const { length } = to.books.requests;
		if (alive && ended === 'done') {
			await clock.run({ done: () => false, deadline: clock.now + AFTERWARDS_MS, settle });
			step.lateRequests = to.books.requests.length - length;
		}
		alive = false;
		clock.forget();
		way.reset();
		// Over sockets most of it is waiting for the wire.
		return way.name === 'sockets' ? 0 : blocked;
	}
}

/** The items that enter: prompts, or tasks that were submitted before. */
function inputFor({ flow }: World, service: Service): Input {
	const account = `account ${flow.account + 1}`;
	return flow.items.map(({ prompt, n, kind }) => {
		if (flow.make !== 'nothing') return isTool(flow) ? { prompt } : { prompt, n };
		// Whoever does not say when a task was submitted cannot expect that a 404 passes.
		const isKnown = n > 1;
		const how = { ageMs: 1000, isVisible: !isKnown };
		const task = service.submitEarlier(kind, prompt, account, how);
		const submittedAt = isKnown ? new Date(task.createdAt).toISOString() : undefined;
		return { taskId: task.id, taskType: kind, prompt, submittedAt };
	});
}
