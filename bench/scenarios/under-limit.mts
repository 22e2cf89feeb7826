import { idealSchedule, spreadLifetimes } from '../ideal.mjs';
import { complete, seconds } from '../report/figures.mjs';
import type { Scenario } from '../report/lines.mjs';
import { compare, median } from '../trials.mjs';

export const limit: Scenario = {
	name: 'limit',
	title: 'Many tasks under a limit',
	async run({ quick }) {
		const [count, perSecond, longestS] = quick ? [300, 30, 20] : [1000, 50, 60];
		const pauseS = 3;
		const lifetimes = spreadLifetimes(count, 5, longestS);
		const ideal = idealSchedule(lifetimes, pauseS, perSecond);
		const trials = await compare({
			gateway: { requestsPerSecond: perSecond },
			lifetimes,
			work: { package: (ids) => ({ kind: 'wait', ids, pauseS }) },
			times: quick ? 1 : 3,
			warmUp: 3,
		});
		const list = trials.package;
		const lastMs = median(list, ({ report }) => report.lastSeenMs);
		const polls = median(list, ({ report }) => report.counts.poll ?? 0);
		const refused = median(list, ({ report }) => report.refused);
		const what = `${count} tasks of 5 to ${longestS} s, ${perSecond} requests/s allowed`;
		return {
			lines: [
				{
					measure: `${what}, unknown to the node: last result`,
					goal: `at most ${seconds(ideal.lastS * 1100)} (10 % after the ideal schedule)`,
					package: seconds(lastMs),
					ideal: seconds(ideal.lastS * 1000),
					reached: complete(list, count) && lastMs <= ideal.lastS * 1100,
				},
				{
					measure: 'the same: polls',
					goal: `at most ${Math.floor(1.2 * ideal.polls)} (1.2 × the ideal schedule)`,
					package: `${polls.toFixed(0)}, of them ${refused.toFixed(0)} refused`,
					ideal: String(ideal.polls),
					reached: polls <= 1.2 * ideal.polls,
				},
			],
		};
	},
};
