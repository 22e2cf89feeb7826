import { complete, seconds, times, wall } from '../report/figures.mjs';
import type { Scenario } from '../report/lines.mjs';
import { compare, median } from '../trials.mjs';

export const synchronous: Scenario = {
	name: 'sync',
	title: 'Synchronous generations',
	async run({ quick }) {
		const [count, concurrency, syncMs] = [200, 10, 200];
		const idealMs = (count / concurrency) * syncMs;
		const work = () => ({ kind: 'generate' as const, count, concurrency });
		const trials = await compare({
			gateway: { syncMs },
			work: { package: work, axios: work, helper: work },
			times: quick ? 1 : 5,
		});
		const ms = median(trials.package, wall);
		const byHandMs = median(trials.axios, wall);
		const helperMs = median(trials.helper, wall);
		const shared = {
			byHand: seconds(byHandMs, 2),
			platform: seconds(helperMs, 2),
			ideal: seconds(idealMs, 2),
		};
		return {
			lines: [
				{
					measure: `${count} synchronous generations of ${syncMs} ms, ${concurrency} at a time`,
					goal: `at most ${seconds(1.15 * idealMs, 2)} (1.15 × ideal)`,
					package: seconds(ms, 2),
					...shared,
					reached: complete(trials.package, count) && ms <= 1.15 * idealMs,
				},
				{
					measure: 'the same against (b)',
					goal: 'at least as fast',
					package: times(ms / byHandMs),
					platform: times(helperMs / byHandMs),
					ideal: times(idealMs / byHandMs),
					reached: ms <= byHandMs,
					platformMisses: helperMs > byHandMs,
				},
			],
		};
	},
};
