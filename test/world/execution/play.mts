/** Plays a world: runs its acts one after the other, on the real engine, against its gateway. */
import type { RunResult } from '../../../harness/engine/host.mjs';
import { seeded } from '../../../simulator/seed.mjs';
import type { Act, Flow, World } from '../plan/world.mjs';
import { KEYS } from '../service/accounts-of-world.mjs';
import { Service } from '../service/service.mjs';
import { timeOf } from '../time/calendar.mjs';
import { clock, setRandom } from '../time/take-over.mjs';
import type { Played, Step } from './step.mjs';
import type { Way } from '../wire/messages.mjs';
import type { Engine } from './engine.mjs';
import { perform } from './perform.mjs';
import { isTool, workflowFor, type Input } from './workflow.mjs';

const unhandled: string[] = [];
process.on('unhandledRejection', (reason) =>
	unhandled.push(String((reason as Error)?.stack ?? reason)),
);

let worlds = 0;

/** How many came before: each has a gateway of its own, by its number. */
export function countFrom(number: number): void {
	worlds = number;
}

/** @param precisely whether the time of each event is measured to the end; that costs time itself */
export async function play(
	world: World,
	engine: Engine,
	way: Way,
	precisely = false,
): Promise<Played> {
	const { credential } = engine;
	worlds += 1;
	clock.forget();
	clock.now = timeOf(world.begins);
	setRandom(seeded(world.seed));
	way.reset();
	unhandled.length = 0;
	let { flow } = world;
	const origin = way.origin(worlds);
	const chance = seeded(world.seed + 1);
	const service = new Service(world.service, chance, origin, way.foreignOrigin);
	for (const name of Object.keys(credential)) delete credential[name];
	credential.baseUrl = flow.trouble === 'noAddress' ? '' : origin;
	Object.assign(credential, moreOf(flow, way.foreignOrigin));
	const input = inputFor(world, service, way.foreignOrigin);
	const steps: Step[] = [];
	let blockedMs = 0;
	let earlier: RunResult | undefined;

	for (const [number, act] of world.acts.entries()) {
		if (act.kind === 'next') {
			clock.now += 1000 * (act.pause ?? 0);
		} else if (number > 0 && (earlier?.status !== 'error' || isOutOfPlace(flow))) break;
		service.books.step = number;
		const changed = afterEdit(flow, act);
		// What cannot be changed in this flow leaves the prompt.
		const edited = changed === undefined ? ` edited ${number}` : (steps.at(-1)?.edited ?? '');
		flow = changed ?? flow;
		credential.apiKey = keyFor(flow);
		// What nodes keep with their workflow outlives an edit.
		const { staticData } = earlier?.workflow ?? {};
		// What the package remembers of a workflow must not meet that of another world.
		const id = `workflow-${worlds}`;
		const made = workflowFor(flow, input, edited);
		const settings = { ...made.settings, timezone: world.begins.zone };
		const workflow = { ...made, id, staticData, settings };
		const step: Step = {
			number,
			act,
			flow,
			edited,
			ended: 'done',
			startedAt: clock.now,
			endedAt: 0,
			leftTimers: 0,
			leftRequests: 0,
			lateRequests: 0,
			parks: 0,
			restarts: 0,
			mostOpen: 0,
			saved: [],
		};
		steps.push(step);
		const blocked = await perform(step, {
			world,
			engine,
			way,
			service,
			workflow,
			earlier: act.kind === 'next' ? undefined : earlier,
			precisely,
		});
		blockedMs = Math.max(blockedMs, blocked);
		earlier = step.result;
		if (step.ended !== 'done') break;
	}
	const problems = steps.flatMap(({ problem }) => problem ?? []);
	return { world, service, input, steps, unhandled: [...unhandled, ...problems], blockedMs };
}

/**
 * n8n's Retry puts the runs of calls that were made at once behind those that are already there, and
 * the agent is shown the error of before: what it asks for again then, it really wants again.
 */
const isOutOfPlace = ({ as, together }: Flow): boolean => as === 'engineTool' && together;

/** The flow as it is after what a person has changed before an act. */
function afterEdit(flow: Flow, { kind, edit }: Act): Flow | undefined {
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

function keyFor({ trouble, account }: Flow): string {
	if (trouble === 'placeholderKey') return '<API_KEY>';
	return trouble === 'wrongKey' ? 'sk-nobody-knows-this-key' : KEYS[account];
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
	return flow.items.map(({ prompt: given, n, kind, file }, index) => {
		const prompt = flow.more?.blank === index && flow.make !== 'nothing' ? '' : given;
		if (flow.make !== 'nothing') return isTool(flow) ? { prompt } : { prompt, n, file, sources };
		// Whoever does not say when a task was submitted cannot expect that a 404 passes. An agent doesn't.
		const isKnown = n > 1 && !isTool(flow);
		const how = { ageMs: isKnown && n > 2 ? LONG_AGO_MS : 1000, isVisible: !isKnown };
		const task = service.submitEarlier(kind, prompt, account, how);
		const submittedAt = isKnown ? new Date(task.createdAt).toISOString() : undefined;
		// Where both kinds have the same IDs, nobody could tell which one is meant.
		const isKindless = isSure && flow.more?.isKindless === true;
		return { taskId: task.id, taskType: isKindless ? undefined : kind, prompt, submittedAt };
	});
}
