/** Where the acts of a world are set: its gateway, its credential, and what has happened so far. */
import type { Act, Flow, World } from '../plan/world.mjs';
import { seeded } from '../../../simulator/seed.mjs';
import { keyFor } from '../service/accounts-of-world.mjs';
import { PRICE } from '../service/published-models.mjs';
import { Service } from '../service/service.mjs';
import type { Side } from '../time/sides.mjs';
import { clock } from '../time/take-over.mjs';
import type { Way } from '../wire/messages.mjs';
import type { Engine } from './engine.mjs';
import type { Stage } from './perform.mjs';
import type { Step } from './step.mjs';
import { isTool, workflowFor, type Input } from './workflow.mjs';

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
	/** Where another execution runs at the same time. */
	side?: Side;
}

/** @param number of the gateway */
export function openScene(world: World, engine: Engine, way: Way, number: number): Scene {
	const { credential } = engine;
	for (const name of Object.keys(credential)) delete credential[name];
	const id = `workflow-${number}`;
	return sceneOf({ world, engine, way, number, id, credential, firstCharge: 0 });
}

/** So many charges has nobody: no image and no reply has the name of one of the other execution. */
const FIRST_CHARGE_BESIDE = 1000;

/** Two executions at once: two workflows, two accounts, one gateway. */
export function openScenes(
	[one, other]: [World, World],
	engine: Engine,
	way: Way,
	number: number,
): Scene[] {
	return [one, other].map((world, place) => {
		const side: Side = { credential: {}, random: seeded(world.seed) };
		const id = `workflow-${number}-${place}`;
		const firstCharge = place * FIRST_CHARGE_BESIDE;
		const { credential } = side;
		return { ...sceneOf({ world, engine, way, number, id, credential, firstCharge }), side };
	});
}

interface Opened extends Pick<Scene, 'world' | 'engine' | 'id' | 'credential'> {
	way: Way;
	number: number;
	firstCharge: number;
}

function sceneOf({ world, engine, way, number, id, credential, firstCharge }: Opened): Scene {
	const { flow, seed } = world;
	const origin = way.origin(number);
	const chance = seeded(seed + 1);
	const service = new Service(world.service, chance, origin, way.foreignOrigin, firstCharge);
	credential.baseUrl = flow.trouble === 'noAddress' ? '' : origin;
	Object.assign(credential, moreOf(flow, way.foreignOrigin));
	const input = inputFor(world, service, way.foreignOrigin);
	return { world, engine, service, input, flow, steps: [], id, credential };
}

/** The next act of a scene, ready to be performed. */
export function nextAct(scene: Scene): [Step, Stage] {
	const { world, engine, service, input, steps, id, credential, side } = scene;
	const earlier = steps.at(-1)?.result;
	const number = steps.length;
	const act = world.acts[number]!;
	service.books.step = number;
	const changed = afterEdit(scene.flow, act);
	// What cannot be changed in this flow leaves the prompt.
	const edited = changed === undefined ? ` edited ${number}` : (steps.at(-1)?.edited ?? '');
	const keys: Step['keys'] = [];
	const takeKey = (flow: Flow): void => {
		scene.flow = flow;
		credential.apiKey = keyFor(flow);
		keys.push({ key: keyFor(flow), from: clock.now });
	};
	const renewKey = (): void => {
		if (act.refusesOldKey === true) service.refusedKeys.add(String(credential.apiKey));
		takeKey(withNewKey(scene.flow));
	};
	scene.flow = changed ?? scene.flow;
	if (act.renewsKey === 'before') renewKey();
	else takeKey(scene.flow);
	const { flow } = scene;
	const made = workflowFor(flow, input, edited);
	const settings = { ...made.settings, timezone: world.begins.zone };
	const workflow = { ...made, id, settings };
	const step: Step = {
		number,
		act,
		flow,
		keys,
		edited,
		ended: 'done',
		startedAt: clock.now,
		endedAt: 0,
		leftTimers: 0,
		leftRequests: 0,
		lateRequests: 0,
		tries: [],
		parks: 0,
		restarts: 0,
		mostOpen: 0,
		saved: [],
	};
	steps.push(step);
	const retried = act.kind === 'next' ? undefined : earlier;
	return [step, { world, engine, service, workflow, renewKey, earlier: retried, side }];
}

/** What was the matter with the old key is over. */
const withNewKey = (flow: Flow): Flow => ({
	...flow,
	isRenewed: true,
	trouble: /key/i.test(flow.trouble) ? 'none' : flow.trouble,
});

/** The flow as it is after what a person has changed before an act. */
function afterEdit(flow: Flow, { kind, edit }: Act): Flow | undefined {
	if (kind !== 'retryEdited') return flow;
	const { options } = flow;
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
		case 'wait':
			// What is not of the request: how its result is waited for and output.
			return {
				...flow,
				maxWait: 900,
				pollInterval: flow.pollInterval + 2,
				download: !flow.download,
				options: { ...options, addSummary: options.addSummary !== true, timeout: 600 },
			};
		default:
			return undefined;
	}
}

function moreOf({ more }: Flow, foreignOrigin: string): Record<string, unknown> {
	if (more === undefined) return {};
	const { messageAuth, version, isListedApart } = more;
	return {
		messageAuth,
		...(version !== undefined && { versionHeaderValue: version }),
		...(isListedApart && { mediaUrl: foreignOrigin }),
	};
}

/** So old is a task that is in sight at once, if it is there at all. */
const LONG_AGO_MS = 100_000;

/** The items that enter: prompts, or tasks that were submitted before. */
function inputFor(
	{ flow, service: { ids } }: World,
	service: Service,
	foreignOrigin: string,
): Input {
	const sources = `${foreignOrigin}/sources/`;
	const account = `account ${flow.account + 1}`;
	const isSure = ['random', 'strange'].includes(ids) && !isTool(flow);
	const earlier: Input = [];
	return flow.items.map(({ prompt: given, n, kind, file, isTwin }, index) => {
		const prompt = flow.more?.blank === index && flow.make !== 'nothing' ? '' : given;
		if (flow.make !== 'nothing') return isTool(flow) ? { prompt } : { prompt, n, file, sources };
		// Whoever does not say when a task was submitted cannot expect that a 404 passes. An agent doesn't.
		const isKnown = n > 1 && !isTool(flow);
		const how = { ageMs: isKnown && n > 2 ? LONG_AGO_MS : 1000, isVisible: !isKnown };
		const first = isTwin === true ? earlier[0] : undefined;
		if (first !== undefined) {
			service.books.shared.add(String(first.taskId));
			return first;
		}
		const task = service.submitEarlier(kind, prompt, account, how);
		const submittedAt = isKnown ? new Date(task.createdAt).toISOString() : undefined;
		// Where both kinds have the same IDs, nobody could tell which one is meant.
		const isKindless = isSure && flow.more?.isKindless === true;
		const taskType = isKindless ? undefined : kind;
		const estimatedCost = PRICE.get(task.charge.model);
		const item = { taskId: task.id, taskType, prompt, submittedAt, estimatedCost };
		earlier.push(item);
		return item;
	});
}
