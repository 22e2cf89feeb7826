/** Where the actions of a world are set: its gateway, its credential, and what has happened so far. */
import { rowsAfter } from '../plan/special/rows-that-shift.mjs';
import type { Action, Flow, PlannedItem, World } from '../plan/world.mjs';
import { seeded } from '../../../simulator/seed.mjs';
import { keyFor } from '../service/accounts-of-world.mjs';
import { Service } from '../service/service.mjs';
import { clock } from '../time/take-over.mjs';
import type { Engine } from './engine.mjs';
import type { Stage } from './perform.mjs';
import type { Step } from './step.mjs';
import { storedStart } from './stored-start.mjs';
import { isTool, workflowFor, type Input } from './workflow.mjs';
import { wire } from '../wire/in-process.mjs';

export interface Scene {
	world: World;
	engine: Engine;
	service: Service;
	input: Input;
	/** As it is after the edits. */
	flow: Flow;
	steps: Step[];
	/** Of the workflow: what the package remembers of one must not meet that of another world. */
	id: string;
	/** The fields of its credential. */
	credential: Record<string, unknown>;
}

/** @param number of the gateway */
export function openScene(world: World, engine: Engine, number: number): Scene {
	const { flow, seed } = world;
	const { credential } = engine;
	for (const name of Object.keys(credential)) delete credential[name];
	const origin = wire.origin(number);
	const service = new Service(world.service, seeded(seed + 1), origin, wire.foreignOrigin);
	const baseUrl = flow.trouble === 'noAddress' ? '' : origin;
	// A value that stands in the address of a picture, and authenticates nothing.
	const headers = { values: [{ name: 'x-region', value: 'pictures/0' }] };
	const own = world.seed % 2 === 0 ? { headers } : {};
	// The Image API of OpenRouter has no tasks.
	const isRouter = flow.mode === 'sync' && world.seed % 3 === 0;
	const api = isRouter ? { imageApi: 'openRouter' } : {};
	Object.assign(credential, flow.options, { baseUrl, gatewaySettings: true, ...own, ...api });
	if (world.service.keys !== 'none') credential.idempotencyHeader = 'Idempotency-Key';
	if (flow.isListedApart) credential.mediaUrl = wire.foreignOrigin;
	const input = inputFor(flow, flow.items, service);
	return { world, engine, service, input, flow, steps: [], id: `workflow-${number}`, credential };
}

/** The next action of a scene, ready to be performed. */
export function nextAct(scene: Scene, action: Action): [Step, Stage] {
	const { world, engine, service, steps, id, credential } = scene;
	const earlier = steps.at(-1)?.result;
	const number = steps.length;
	service.books.step = number;
	const changed = afterEdit(scene.flow, action);
	// What cannot be changed in this flow leaves the prompt.
	const edited = changed === undefined ? ` edited ${number}` : (steps.at(-1)?.edited ?? '');
	const flow = changed ?? scene.flow;
	scene.flow = flow;
	if (action.kind === 'retryCrashed' && world.shift !== undefined) {
		scene.input = inputFor(flow, rowsAfter(flow.items, world.shift), service);
	}
	const { input } = scene;
	credential.apiKey = keyFor(flow);
	const made = workflowFor(flow, input, edited);
	const workflow = { ...made, id };
	const step: Step = {
		number,
		action,
		flow,
		input,
		edited,
		ended: 'done',
		startedAt: clock.now,
		endedAt: 0,
		leftTimers: 0,
		leftRequests: 0,
		lateRequests: 0,
		suspensions: 0,
		restarts: 0,
		saved: [],
	};
	steps.push(step);
	const retried = action.kind === 'next' ? undefined : earlier;
	// What n8n has stored before the first node is all that a crash leaves of an execution.
	const isFromStart = world.shift !== undefined && ['run', 'retryCrashed'].includes(action.kind);
	const from = isFromStart ? storedStart(workflow, id) : retried;
	return [step, { world, engine, service, workflow, earlier: from }];
}

/** The flow as it is after what a person has changed before an action. */
function afterEdit(flow: Flow, { kind, edit }: Action): Flow | undefined {
	if (kind !== 'retryEdited') return flow;
	const isImage = flow.make === 'generation' || flow.make === 'edit';
	switch (edit) {
		case 'account':
			return flow.make === 'nothing' ? undefined : { ...flow, account: flow.account === 0 ? 1 : 0 };
		case 'kind':
			if (!isImage) return undefined;
			return { ...flow, make: flow.make === 'edit' ? 'generation' : 'edit' };
		case 'model':
			if (!isImage) return undefined;
			return { ...flow, model: flow.model === 'borealis' ? 'aurora-image-1' : 'borealis' };
		case 'file':
			if (flow.make !== 'edit' || flow.editFrom !== 'url' || isTool(flow)) return undefined;
			return { ...flow, fileShift: flow.fileShift + 1 };
		default:
			return undefined;
	}
}

/** So old is a task that is in sight at once, if it is there at all. */
const LONG_AGO_MS = 100_000;

/** The items that enter: prompts, or tasks that were submitted before. */
function inputFor(flow: Flow, rows: PlannedItem[], service: Service): Input {
	const sources = `${wire.foreignOrigin}/sources/`;
	const account = `account ${flow.account + 1}`;
	return rows.map(({ prompt, n, kind, file }) => {
		if (flow.make !== 'nothing') return isTool(flow) ? { prompt } : { prompt, n, file, sources };
		// Whoever does not say when a task was submitted cannot expect that a 404 passes. An agent doesn't.
		const isKnown = n > 1 && !isTool(flow);
		const how = { ageMs: isKnown && n > 2 ? LONG_AGO_MS : 1000, isVisible: !isKnown };
		const task = service.submitEarlier(kind, prompt, account, how);
		const submittedAt = isKnown ? new Date(task.createdAt).toISOString() : undefined;
		return { taskId: task.id, taskType: kind, prompt, submittedAt };
	});
}
