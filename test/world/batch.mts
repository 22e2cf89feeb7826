/** Many worlds one after the other; one that breaks an invariant is shrunk and told. */
import fc from 'fast-check';
import type { Engine } from './execution/engine.mjs';
import { countFrom, play } from './execution/play.mjs';
import type { Played } from './execution/step.mjs';
import { breachesOf, type Breach } from './invariants/all.mjs';
import { world as worlds } from './plan/arbitraries.mjs';
import type { World } from './plan/world.mjs';
import { storyOf } from './story.mjs';
import { real } from './time/take-over.mjs';

export interface Finding {
	seed: number;
	breaches: Breach[];
	/** Of the shrunken world. */
	story: string;
}

/** How many smaller worlds are tried for one that is broken. */
const MOST_SHRINKS = 250;

/**
 * Until everything is loaded that n8n loads on first use: nothing of that may happen in a world, where
 * only the world's own time passes.
 */
export async function warmUp(engine: Engine): Promise<void> {
	const [plain] = fc.sample(worlds, { seed: 1, numRuns: 1 }) as [World];
	const { flow, service } = plain;
	const plainest = { ...flow, as: 'node' as const, trouble: 'none' as const, options: {} };
	const calm = { ...plain, actions: [], service: { ...service, faults: [], perSecond: 0 } };
	const action = { kind: 'run' as const, edit: 'prompt' as const };
	for (let times = 0; times < 100; times += 1) {
		const { steps } = await play({ ...calm, flow: plainest, actions: [action] }, engine);
		if (steps[0]?.ended === 'done') break;
		await new Promise<void>((resolve) => real.setTimeout(resolve, 100));
	}
	for (let seed = 0; seed < 20; seed += 1) {
		await playSeed(seed, engine, undefined, 200 + 10 * seed);
	}
}

/**
 * Plays the world of a seed.
 *
 * @param trace is told what happened, before anything is shrunk
 * @param number of the first gateway; those of two seeds must not meet
 * @returns what it breaks, or undefined
 */
export async function playSeed(
	seed: number,
	engine: Engine,
	trace?: (story: string) => void,
	number = (seed + 1) * 1000,
): Promise<Finding | undefined> {
	// Whatever was played before: addresses are a part of what is repeated.
	countFrom(number);
	let first: Breach | undefined;
	let smallest: { played: Played; breaches: Breach[] } | undefined;
	let all: Breach[] = [];
	let tried = 0;
	const property = fc.asyncProperty(worlds, async (world) => {
		if (first !== undefined && (tried += 1) > MOST_SHRINKS) return true;
		const played = await play(world, engine);
		const breaches = breachesOf(played);
		if (first === undefined) trace?.(storyOf(played, breaches, Infinity));
		const same =
			first === undefined
				? breaches
				: breaches.filter((breach) => kindOf(breach) === kindOf(first!));
		if (same.length === 0) return true;
		if (first === undefined) all = breaches;
		first ??= same[0];
		smallest = { played, breaches: same };
		return false;
	});
	await fc.check(property, { seed, numRuns: 1 });
	if (smallest === undefined) return undefined;
	return { seed, breaches: all, story: storyOf(smallest.played, smallest.breaches) };
}

/** What kind of breach it is: its text without what differs from world to world. */
function kindOf({ invariant, text }: Breach): string {
	return `${invariant} ${text.replace(/"[^"]*"|[\d.]+/g, '').slice(0, 60)}`;
}
