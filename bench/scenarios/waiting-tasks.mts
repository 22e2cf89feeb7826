import { complete, grownLive, MB, mb, peak } from '../report/figures.mjs';
import type { Scenario } from '../report/lines.mjs';
import { compare, median, type Trial } from '../trials.mjs';

export const waiting: Scenario = {
	name: 'waiting',
	title: '1,000 waiting tasks',
	async run({ quick }) {
		const [count, lifeS, pauseS] = [1000, quick ? 10 : 25, 3];
		const lookAfterMs = (lifeS - 3) * 1000;
		const trials = await compare({
			gateway: {},
			lifetimes: Array.from({ length: count }, () => lifeS),
			work: {
				package: (ids) => ({ kind: 'wait', ids, pauseS, lookAfterMs }),
				axios: (ids) => ({ kind: 'wait', ids, pauseS, lookAfterMs }),
			},
			times: quick ? 1 : 3,
		});
		const p99 = (some: Trial[]) => median(some, ({ sample }) => sample.loopDelayP99Ms ?? NaN);
		const live = (some: Trial[]) => median(some, grownLive);
		const list = trials.package;
		const delayOf = (some: Trial[]) => `${p99(some).toFixed(1)} ms`;
		const memoryOf = (some: Trial[]) => `${mb(live(some))} (resident: ${mb(median(some, peak))})`;
		return {
			lines: [
				{
					measure: `Event-loop delay met at any moment while ${count} tasks wait, 99th percentile`,
					goal: 'at most 20 ms',
					package: delayOf(list),
					byHand: delayOf(trials.axios),
					reached: complete(list, count) && p99(list) <= 20,
				},
				{
					measure: `Memory for ${count} waiting tasks above idle: alive (peak of the process)`,
					goal: 'at most 30 MB',
					package: memoryOf(list),
					byHand: memoryOf(trials.axios),
					reached: live(list) <= 30 * MB,
				},
			],
		};
	},
};
