/** Worlds that begin shortly before midnight, or the end of a month. */
import fc from 'fast-check';
import type { Beginning } from '../../time/calendar.mjs';
import type { Act, Flow, World } from '../world.mjs';

/** Shortly before midnight, or hours. */
export const beginning = (weight: number): fc.Arbitrary<Beginning> =>
	fc.record<Beginning>({
		zone: fc.constantFrom(undefined, 'UTC', 'Asia/Kathmandu', 'Pacific/Kiritimati'),
		beforeMidnight: fc.oneof(
			{ weight, arbitrary: fc.constant(undefined) },
			{ weight: 1, arbitrary: fc.constantFrom(100, 1000, 5000, 20_000, 90_000, 400_000) },
		),
		isEndOfMonth: fc.boolean(),
	});

/** The same world; where midnight is near, it matters to what happens. */
export function overMidnight(one: World): World {
	if (one.begins.beforeMidnight === undefined) return one;
	const flow = budgeted(one.flow, one.seed);
	const same = { ...one, flow, acts: one.seed % 4 > 0 ? withNext(one.acts, one.seed) : one.acts };
	return one.seed % 3 === 1 ? inTheMiddle(same) : same;
}

/** Midnight matters to a budget of a day or a month. */
function budgeted(flow: Flow, seed: number): Flow {
	const budgetPeriod = seed % 3 > 0 ? 'day' : 'month';
	const budget = flow.options.budget === 0.1 ? 0.1 : 0.2;
	return { ...flow, options: { ...flow.options, budget, budgetPeriod } };
}

/** Its requests go out one by one, on both days, and of some nobody learns what became of them. */
function inTheMiddle(one: World): World {
	const { flow, service, seed, begins } = one;
	const items = [...flow.items, ...flow.items, ...flow.items].slice(0, 4);
	const kinds = ['statusAfter', 'reset', 'cut'] as const;
	const kind = kinds[Math.floor(seed / 3) % kinds.length]!;
	const fault = { call: 'paid' as const, kind, skip: 1, times: 2, variant: seed % VARIANTS };
	return {
		...one,
		begins: { ...begins, beforeMidnight: 20_000 },
		service: { ...service, syncSeconds: 20, faults: [fault] },
		flow: {
			...flow,
			make: flow.make === 'edit' ? 'edit' : 'generation',
			model: 'aurora-image-1',
			mode: 'sync',
			as: 'node',
			items,
			onError: 'continueRegularOutput',
			tries: 1,
			production: true,
			dryRun: false,
			options: { ...flow.options, concurrency: 1, timeout: 3600 },
		},
	};
}

const VARIANTS = 200;

/** And only where more is spent after it; what is spent in the editor is no part of that. */
function withNext([first, ...others]: Act[], seed: number): Act[] {
	const pauses = [0, 10, 300];
	const next: Act = { kind: 'next', edit: 'prompt', pause: pauses[seed % 3] };
	const isTried = seed % 5 > 2;
	return [first!, ...(isTried ? [{ ...next, inEditor: true }, next] : [next, ...others])];
}
