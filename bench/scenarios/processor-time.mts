import { bars, complete, cpu, shown, times, UNBOUND } from '../report/figures.mjs';
import type { Scenario } from '../report/lines.mjs';
import { compare, median, type Trial } from '../trials.mjs';

export const processor: Scenario = {
	name: 'cpu',
	title: 'Processor time of a request',
	async run({ quick }) {
		const count = quick ? 500 : 2000;
		// The HTTP Request node sends all at once, which is cheaper for each: so the others send many.
		const work = () => ({ kind: 'generate' as const, count, ...UNBOUND });
		const trials = await compare({
			gateway: {},
			work: { package: work, builtIn: work, axios: work, helper: work, helperWithDeadline: work },
			times: quick ? 1 : 5,
			warmUp: 300,
		});
		const perRequest = (trial: Trial) => cpu(trial) / count;
		const of = (list: Trial[]) => median(list, perRequest);
		const ms = of(trials.package);
		const text = (value: number) => `${value.toFixed(2)} ms`;
		const share = (list: Trial[]) => `${text(of(list))} (${times(of(list) / of(trials.axios))})`;
		const builtIn = shown(trials.builtIn, () => text(of(trials.builtIn)));
		return {
			lines: [
				{
					measure: `Processor time per request, ${count} synchronous generations, 100 at a time`,
					goal: `at most 1.5 × (b)`,
					package: share(trials.package),
					builtIn,
					byHand: text(of(trials.axios)),
					platform: `${share(trials.helper)}, with a bound and a deadline ${share(trials.helperWithDeadline)}`,
					reached: ms <= 1.5 * of(trials.axios),
					platformMisses: of(trials.helper) > 1.5 * of(trials.axios),
				},
				{
					measure: 'the same against the HTTP Request node',
					goal: 'at most 1.1 ×',
					package: `${text(ms)} (${times(ms / of(trials.builtIn))})`,
					builtIn,
					platform: `${text(of(trials.helper))}, ${text(of(trials.helperWithDeadline))}`,
					reached: complete(trials.package, count) && !(ms > 1.1 * of(trials.builtIn)),
				},
			],
			chart: {
				title: 'Processor time of one request',
				unit: 'ms',
				bars: bars(trials, perRequest),
			},
		};
	},
};
