/** Plays a world: runs its acts one after the other, on the real engine, against its gateway. */
import { seeded } from '../../../simulator/seed.mjs';
import type { Flow, World } from '../plan/world.mjs';
import { timeOf } from '../time/calendar.mjs';
import { forgetSides } from '../time/sides.mjs';
import { clock, setRandom } from '../time/take-over.mjs';
import type { Way } from '../wire/messages.mjs';
import type { Engine } from './engine.mjs';
import { perform } from './perform.mjs';
import { nextAct, openScene, openScenes, type Scene } from './scenes.mjs';
import type { Played } from './step.mjs';

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
	worlds += 1;
	clock.forget();
	clock.now = timeOf(world.begins);
	setRandom(seeded(world.seed));
	way.reset();
	unhandled.length = 0;
	const { beside } = world;
	const scenes =
		beside === undefined
			? [openScene(world, engine, way, worlds)]
			: openScenes([world, beside], engine, way, worlds);
	let blockedMs = 0;
	for (const [number, act] of world.acts.entries()) {
		if (act.kind === 'next') {
			clock.now += 1000 * (act.pause ?? 0);
		} else if (number > 0 && !scenes.every(canGoOn)) break;
		const acts = scenes.map((scene) => nextAct(scene));
		blockedMs = Math.max(blockedMs, await perform(acts, way, precisely));
		if (scenes.some(({ steps }) => steps.at(-1)?.ended !== 'done')) break;
	}
	if (beside !== undefined) forgetSides();
	const [played, other] = scenes.map(({ world: of, service, input, steps }): Played => {
		const problems = steps.flatMap(({ problem }) => problem ?? []);
		const all = [...unhandled, ...problems];
		return { world: of, service, input, steps, unhandled: all, blockedMs };
	});
	if (other === undefined) return played!;
	const alone = await play({ ...world, beside: undefined }, engine, way);
	return { ...played!, beside: other, alone };
}

/** Whether an act that failed can be retried. */
const canGoOn = ({ steps, flow }: Scene): boolean =>
	steps.at(-1)?.result?.status === 'error' && !isOutOfPlace(flow);

/**
 * n8n's Retry puts the runs of calls that were made at once behind those that are already there, and
 * the agent is shown the error of before: what it asks for again then, it really wants again.
 */
const isOutOfPlace = ({ as, together }: Flow): boolean => as === 'engineTool' && together;
