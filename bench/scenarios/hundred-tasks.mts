import { bars, complete, seconds, shown, wall } from '../report/figures.mjs';
import type { Scenario } from '../report/lines.mjs';
import { compare, median } from '../trials.mjs';

export const hundred: Scenario = {
	name: 'hundred',
	title: '100 tasks of 3 s',
	async run({ quick }) {
		const count = 100;
		const lifeS = 3;
		const pauseS = 3;
		const task = { kind: 'tasks' as const, count, pauseS };
		const trials = await compare({
			gateway: { taskSeconds: lifeS },
			work: { package: () => task, builtIn: () => task, axios: () => task },
			times: quick ? 1 : 5,
		});
		const ms = median(trials.package, wall);
		const limitMs = 1.2 * (lifeS + pauseS) * 1000;
		const oneByOneMs = count * lifeS * 1000;
		return {
			lines: [
				{
					measure: `${count} tasks of ${lifeS} s, submitted and waited for, pause ${pauseS} s, all defaults`,
					goal: `at most ${seconds(limitMs)} (1.2 × (slowest task + one pause))`,
					package: seconds(ms),
					builtIn: shown(trials.builtIn, () => seconds(median(trials.builtIn, wall))),
					byHand: seconds(median(trials.axios, wall)),
					ideal: seconds(lifeS * 1000),
					reached: complete(trials.package, count) && ms <= limitMs,
				},
				{
					measure: 'the same against one task after another',
					goal: 'at least 40 × faster',
					package: `${(oneByOneMs / ms).toFixed(0)} ×`,
					ideal: `${count} ×`,
					reached: oneByOneMs / ms >= 40,
				},
			],
			chart: {
				title: `${count} tasks of ${lifeS} s`,
				unit: 's',
				bars: bars(trials, (trial) => wall(trial) / 1000, lifeS),
				mark: limitMs / 1000,
			},
		};
	},
};
