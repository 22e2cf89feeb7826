/** Plays a world: runs its actions one after the other, on the real engine, against its gateway. */
import { seeded } from '../../../simulator/seed.mjs';
import type { Flow, World } from '../plan/world.mjs';
import { clock, setRandom } from '../time/take-over.mjs';
import type { Engine } from './engine.mjs';
import { perform } from './perform.mjs';
import { nextAct, openScene, type Scene } from './scenes.mjs';
import type { Played } from './step.mjs';
import { wire } from '../wire/in-process.mjs';

const unhandled: string[] = [];
process.on('unhandledRejection', (reason) =>
	unhandled.push(String((reason as Error)?.stack ?? reason)),
);

/** When each world begins, in milliseconds since 1970. */
const BEGINS = Date.UTC(2026, 0, 1, 12);

let worlds = 0;

/** How many came before: each has a gateway of its own, by its number. */
export function countFrom(number: number): void {
	worlds = number;
}

export async function play(world: World, engine: Engine): Promise<Played> {
	worlds += 1;
	clock.forget();
	clock.now = BEGINS;
	setRandom(seeded(world.seed));
	wire.reset();
	unhandled.length = 0;
	const scene = openScene(world, engine, worlds);
	for (const [number, action] of world.actions.entries()) {
		const isAfterCrash = scene.steps.at(-1)?.ended === 'crashed';
		// Who waits for a crash may wait in vain.
		if (action.kind === 'retryCrashed' && !isAfterCrash) continue;
		if (isAfterCrash && action.kind !== 'retryCrashed') break;
		if (action.kind === 'next' || isAfterCrash) clock.now += 1000 * (action.pause ?? 0);
		else if (number > 0 && !canGoOn(scene)) break;
		await perform(...nextAct(scene, action));
		if (!['done', 'crashed'].includes(scene.steps.at(-1)!.ended)) break;
	}
	const { service, input, steps } = scene;
	const problems = steps.flatMap(({ problem }) => problem ?? []);
	return { world, service, input, steps, unhandled: [...unhandled, ...problems] };
}

/** Whether an action that failed can be retried. */
const canGoOn = ({ steps, flow }: Scene): boolean =>
	steps.at(-1)?.result?.status === 'error' && !isOutOfPlace(flow);

/**
 * n8n's Retry puts the runs of calls that were made at once behind those that are already there, and
 * the agent is shown the error of before: what it asks for again then, it really wants again.
 */
const isOutOfPlace = ({ as, together }: Flow): boolean => as === 'engineTool' && together;
